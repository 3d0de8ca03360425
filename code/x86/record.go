package x86

import (
	"slices"

	"github.com/fpstack/fpstack/code/paths"
)

// Records is what the instructions of one function tell about its frame pointer.
type Records struct {
	Calls int  // calls that can be reached
	Bare  int  // those of them that find no frame record of this function under the frame pointer
	Made  bool // a frame record is under the frame pointer somewhere
	Whole bool // every instruction on the way was understood
}

// maxRecordFunction bounds the code of one function that Records follows, in bytes.
const maxRecordFunction = 256 << 10

// Records follows the function [entry, end) along all its paths. A frame record is the caller's
// frame pointer with the return address above it; who follows frame pointers finds the caller of a
// function only where one is under the frame pointer.
//
// grows says that calls made before SP moved do not count: those by which Go code, before anything
// else, asks for a larger stack.
func (c *Code) Records(entry, end uint64, grows bool) Records {
	if !c.Contains(entry) || end <= entry {
		return Records{}
	}
	w := newWalk(c, paths.Whole(entry, min(end, entry+maxRecordFunction)))
	r := Records{Whole: end-entry <= maxRecordFunction}
	visit := func(pc uint64, in *inst, s *state) bool {
		c.note(&r, w, pc, in, s, grows)
		return false
	}
	w.Add(path{PC: entry, State: newState(false)})
	for range paths.MaxResumed {
		w.run(visit)
		w.dropTailJumps()
		if !w.resume(w.Hi - 1) {
			break
		}
	}
	r.Whole = r.Whole && w.steps < maxSteps
	return r
}

// dropTailJumps forgets the jumps through a register that leave the function, so that the code behind
// them is taken for cases of the switch before: they find SP as it was at the entry. Where all do,
// they may be switches of a function that never moves SP.
func (w *walk) dropTailJumps() {
	leaves := func(p path) bool { return p.State.regs[rsp].isInitial(rsp) }
	if slices.ContainsFunc(w.Switches, func(p path) bool { return !leaves(p) }) {
		w.Switches = slices.DeleteFunc(w.Switches, leaves)
	}
}

// note adds to r what the instruction at pc tells.
func (c *Code) note(r *Records, w *walk, pc uint64, in *inst, s *state, grows bool) {
	record := s.recordUnderFP(c.word())
	r.Made = r.Made || record
	next := pc + uint64(in.n)
	switch in.flow() {
	case flowNext, flowCond:
		if next < w.Hi {
			if _, ok := c.decode(next); !ok {
				r.Whole = false
			}
		}
		return
	case flowCall:
		if _, ok := c.loadsPC(c.target(next, in.imm)); ok {
			return // how 386 code learns its own address: no frame comes of it
		}
	case flowCallAny:
	default:
		return
	}
	if grows && s.regs[rsp].isInitial(rsp) {
		return
	}
	r.Calls++
	if !record {
		r.Bare++
	}
}

// recordUnderFP reports whether the frame pointer points to the caller's frame pointer with the
// return address above it.
func (s *state) recordUnderFP(word int64) bool {
	fp := s.regs[rbp]
	if fp.kind != relative || fp.base == base(rbp) {
		return false
	}
	return s.load(fp).isInitial(rbp) && s.load(fp.plus(word)).isInitial(regRA)
}
