package arm64

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// FromEntry finds the row at pc by interpreting the function from its entry to there. entry must be where calls
// arrive: the split-off cold part of a function is not (pass the entry of the function itself, its jumps are followed
// there). end is the address behind the function, 0 if unknown. pc is a look-up PC: it may lie inside of an
// instruction.
//
// It reports false where no path leads to pc, or where the state there does not tell the caller.
func (c *Code) FromEntry(entry, end, pc uint64) (cfi.Row, bool) {
	s, ok := c.stateAt(entry, end, pc)
	if !ok {
		return cfi.Row{}, false
	}
	return s.entryRow(pc)
}

// FromEntrySP is [Code.FromEntry] for a thread of which SP alone is known: its CFA rests on SP. It reports false where
// a way to pc moves SP by an unknown distance: which way was taken, SP alone does not tell.
func (c *Code) FromEntrySP(entry, end, pc uint64) (cfi.Row, bool) {
	if !c.Contains(entry) || pc < entry || pc >= min(end, c.End()) {
		return cfi.Row{}, false
	}
	w, ok := c.window(entry, end, pc)
	if !ok {
		return cfi.Row{}, false
	}
	w.apart = true
	w.seen[1] = make([]bool, len(w.seen[0]))
	f := place{pc: pc}
	moved := func(at uint64, i Inst, s *state) bool { return f.visit(at, i, s) && s.movedSP() }
	w.Add(path{PC: entry, State: newState(false)})
	for resumed := 0; resumed == 0 || w.resume(w.Hi); resumed++ {
		if resumed == paths.MaxResumed || w.run(moved) || w.Exhausted {
			return cfi.Row{}, false
		}
	}
	if f.s == nil {
		return cfi.Row{}, false
	}
	row, ok := f.s.entryRow(pc)
	row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(sp), N: -f.s.regs[sp].off}
	return row, ok
}

// place is what is found at pc.
type place struct {
	pc uint64
	s  *state // before the instruction that contains pc; nil until that is found
}

// visit keeps s if i is the instruction that contains pc, and reports whether it is.
func (f *place) visit(at uint64, i Inst, s *state) bool {
	if f.pc-at >= size {
		return false
	}
	f.s = s.clone()
	if f.pc != at && i.IsCall() {
		f.s.afterCall() // it is a return address
	}
	return true
}

// stateAt returns the state before the instruction that contains pc.
func (c *Code) stateAt(entry, end, pc uint64) (*state, bool) {
	if !c.Contains(entry) || !c.Contains(pc) || entry%size != 0 {
		return nil, false
	}
	w, ok := c.window(entry, end, pc)
	if !ok {
		return nil, false
	}
	f := place{pc: pc}
	w.Add(path{PC: entry, State: newState(false)})
	for range paths.MaxResumed {
		if w.run(f.visit) {
			return f.s, true
		}
		if !w.resume(pc) {
			break
		}
	}
	return nil, false
}

// window is the walk through the code that may lead from entry to pc.
func (c *Code) window(entry, end, pc uint64) (*walk, bool) {
	r, ok := paths.Window(entry, end, pc)
	if !ok {
		return nil, false
	}
	return newWalk(c, r), true
}
