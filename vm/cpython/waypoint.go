package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// shape is how a call of the eval loop lies around its anchor. The frame of a function of C has the same size each
// time that it executes at the same place.
type shape struct {
	pc         mem.Addr // a return address into the eval loop; 0: none was seen yet
	below, cfa mem.Addr // from the stack pointer to the anchor, from there to the CFA
}

// learn keeps the shape of the call f, whose anchor is at a, as a walk found it that reached the root.
func (r *Runtime) learn(f *unwind.Frame, a mem.Addr) {
	if f.CFA == 0 || f.Interrupted || f.Origin != unwind.CFI {
		return
	}
	r.shape = shape{pc: f.PC, below: a - f.SP, cfa: f.CFA - a}
}

const wayNote = "found by the frames of Python that it runs"

// Waypoints implements [unwind.Waypointer]. They are the calls of the eval loop that run the frames of t, each as if
// it executed where another of them was seen to: what is found of its caller is the same.
func (r *Runtime) Waypoints(t *snapshot.Thread, frames []unwind.Frame, memory mem.Reader) []unwind.Waypoint {
	if r.shape.pc == 0 || !r.reads(t) {
		return nil
	}
	const savedPair = 2 * wordSize // the return address and the frame pointer, where the frame is built on it
	last := frames[len(frames)-1].SP
	var out []unwind.Waypoint
	chains, _ := r.chainsOf(t, r.stopped(t, memory))
	for _, c := range chains {
		for i := range c.groups {
			a := c.groups[i].anchor
			if a <= last || a == 0 {
				continue
			}
			next := regs.New(t.Arch)
			next.Set(t.Arch.PC, uint64(r.shape.pc))
			next.Set(t.Arch.SP, uint64(a-r.shape.below))
			next.Set(t.Arch.FP, uint64(a+r.shape.cfa-savedPair))
			out = append(out, unwind.Waypoint{Registers: next, Note: wayNote})
		}
	}
	return out
}
