package x86

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// FromEntry finds the row at pc by interpreting the function from its entry to there. entry
// must be where calls arrive: the split-off cold part of a function is not (pass the entry
// of the function itself, its jumps are followed there). end is the address behind the
// function, 0 if unknown. pc is a look-up PC: it may lie inside of an instruction.
//
// It reports false where no path leads to pc, or where the state there does not tell the
// caller.
func (c *Code) FromEntry(entry, end, pc uint64) (cfi.Row, bool) {
	s, at, length, ok := c.stateAt(entry, end, pc)
	if !ok {
		return cfi.Row{}, false
	}
	return c.entryRow(s, at, length)
}

// FromEntrySP is [Code.FromEntry] for a thread of which SP alone is known: its CFA rests on SP. It
// reports false where a way to pc moves SP by an unknown distance: which way was taken, SP alone
// does not tell.
func (c *Code) FromEntrySP(entry, end, pc uint64) (cfi.Row, bool) {
	if !c.Contains(entry) || pc < entry || pc >= min(end, c.End()) {
		return cfi.Row{}, false
	}
	w, ok := c.window(entry, end, pc)
	if !ok {
		return cfi.Row{}, false
	}
	w.apart = true
	w.seen[1] = make([]uint64, len(w.seen[0]))
	f := place{pc: pc}
	moved := func(at uint64, in *inst, s *state) bool { return f.visit(c, at, in, s) && s.movedSP() }
	w.Add(path{PC: entry, State: newState(false)})
	for resumed := 0; resumed == 0 || w.resume(w.Hi); resumed++ {
		if resumed == paths.MaxResumed || w.run(moved) || w.Exhausted {
			return cfi.Row{}, false
		}
	}
	if f.s == nil {
		return cfi.Row{}, false
	}
	row, ok := c.entryRow(f.s, f.at, f.length)
	row.CFA = cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(rsp), N: c.word() - int64(f.s.regs[rsp].off)}
	return row, ok
}

// place is what is found at pc.
type place struct {
	pc     uint64
	s      *state // before the instruction that contains pc; nil until that is found
	at     uint64
	length int
}

// visit keeps s if in is the instruction that contains pc, and reports whether it is.
func (f *place) visit(c *Code, at uint64, in *inst, s *state) bool {
	if f.pc-at >= uint64(in.n) {
		return false
	}
	f.s, f.at, f.length = s.clone(), at, in.n
	if f.pc != at {
		c.duringCall(at, in, f.s)
	}
	return true
}

// stateAt returns the state before the instruction that contains pc, its address and length.
func (c *Code) stateAt(entry, end, pc uint64) (found *state, at uint64, length int, ok bool) {
	if !c.Contains(entry) || !c.Contains(pc) {
		return nil, 0, 0, false
	}
	w, ok := c.window(entry, end, pc)
	if !ok {
		return nil, 0, 0, false
	}
	f := place{pc: pc}
	w.Add(path{PC: entry, State: newState(false)})
	for range paths.MaxResumed {
		if w.run(func(at uint64, in *inst, s *state) bool { return f.visit(c, at, in, s) }) {
			return f.s, f.at, f.length, true
		}
		if !w.resume(pc) {
			break
		}
	}
	return nil, 0, 0, false
}

// duringCall forgets what a callee may change, where the PC is a return address.
func (c *Code) duringCall(addr uint64, in *inst, s *state) {
	switch in.flow() {
	case flowCall:
		if _, ok := c.loadsPC(c.target(addr+uint64(in.n), in.imm)); !ok {
			s.afterCall(c.Mode64)
		}
	case flowCallAny:
		s.afterCall(c.Mode64)
	}
}

// window is the walk through the code that may lead from entry to pc.
func (c *Code) window(entry, end, pc uint64) (*walk, bool) {
	r, ok := paths.Window(entry, end, pc)
	if !ok {
		return nil, false
	}
	return newWalk(c, r), true
}

// resume opens code that no path reached, behind an indirect jump before pc.
func (w *walk) resume(pc uint64) bool { return w.Resume(pc, w.unseen, (*state).clone) }
