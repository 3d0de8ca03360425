package golang

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// callGo is what C calls Go by. On the system stack, in its frame, it keeps the stack pointer that g0 had before: where
// Go called this C.
const callGo = "runtime.cgocallback"

const waypointNote = "found by where Go called C"

// Waypoints implements [unwind.Waypointer]: from C that the goroutine called, and that nobody knows a way out of, to
// the call in runtime.asmcgocall. That went to the system stack where g0 says, so that its place is known; what is
// there is checked. Of C that called Go meanwhile the frame of runtime.cgocallback says what g0 said, which is also
// where runtime.mcall began if that Go waits.
func (r *Runtime) Waypoints(t *snapshot.Thread, frames []unwind.Frame, memory mem.Reader) []unwind.Waypoint {
	v := view.Over(memory, nil, r.budget)
	entered, ok := r.enteredC(t, frames, &v)
	if !ok {
		return nil
	}
	arch := r.port.arch
	for _, room := range r.port.entered {
		sp := mem.Addr((entered - room) &^ 15)
		pc, ok := r.port.calledC(r, sp, &v)
		if !ok {
			continue
		}
		call := unwind.Frame{PC: pc, SP: sp}
		if _, err := r.crossCallC(&call, &v); err != nil {
			continue
		}
		next := regs.New(arch)
		next.Set(arch.SP, uint64(sp))
		next.Set(arch.PC, uint64(pc))
		return []unwind.Waypoint{{Registers: next, Note: waypointNote}}
	}
	return nil
}

// enteredC is the stack pointer from which the C that the last of frames is in was called, on the system stack.
func (r *Runtime) enteredC(t *snapshot.Thread, frames []unwind.Frame, v *view.View) (uint64, bool) {
	if r.port == nil || t.Arch != r.port.arch {
		return 0, false
	}
	for i := len(frames) - 1; i >= 0; i-- {
		switch r.name(frames[i].LookupPC()) {
		case callC: // it is outside of that
			return 0, false
		case callGo:
			sp, err := v.Word(offset(frames[i].CFA, r.port.frame.sp-r.port.frame.size))
			return sp, err == nil && frames[i].CFA != 0
		case leave: // crossLeave went on from there by a frame of runtime.cgocallback
			sp, err := v.Word(offset(frames[i].SP+r.port.left, r.port.frame.sp))
			return sp, err == nil
		}
	}
	if !t.HasTP || t.TP == 0 || r.tls == 0 {
		return 0, false
	}
	var g, m words
	system, err := v.Word(t.TP + mem.Addr(r.tls))
	ok := err == nil && g.read(v, system, gWords) == nil && m.read(v, g[gM], mG0+1) == nil && m[mG0] == system
	return g[gSched+bufSP], ok
}
