package x86

import (
	"slices"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// maxFunction bounds a function whose end is not known, in bytes.
const maxFunction = 64 << 10

// maxKnown bounds a function that a symbol or a table gives, in bytes: the largest that compilers make of
// real programs have some hundred thousand, a file may say anything.
const maxKnown = 1 << 20

// maxSweep bounds the code behind pc that is searched for jumps where the end of the
// function is not known, in bytes.
const maxSweep = 2 << 10

// maxResumed bounds how many unreached places are opened on the way to pc.
const maxResumed = 64

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
	w.add(path{pc: entry, s: newState(false)})
	for resumed := 0; resumed == 0 || w.resume(w.hi); resumed++ {
		if resumed == maxResumed || w.run(moved) || w.exhausted {
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
	w.add(path{pc: entry, s: newState(false)})
	for range maxResumed {
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

// window chooses the code to follow: the function, and where pc is outside of it (a cold
// part), all that lies between and around.
func (c *Code) window(entry, end, pc uint64) (*walk, bool) {
	known := end > entry
	if !known {
		end = entry + maxFunction
	}
	if known {
		end = min(end, max(pc, entry)+maxFunction, entry+maxKnown)
	}
	if pc >= entry && pc < end {
		w := newWalk(c, entry, end)
		if !known {
			w.sweep[1] = min(w.hi, pc+maxSweep)
		}
		return w, true
	}
	lo, hi := min(entry, pc), max(end, pc)
	if hi-lo > maxWindow {
		return nil, false
	}
	w := newWalk(c, lo-min(lo, maxFunction), hi+maxFunction)
	w.sweep = [2]uint64{entry, end}
	return w, true
}

// resume opens code that no path reached, behind an indirect jump: the cases of a switch
// begin with the state of that jump. It takes the nearest unreached place before pc that
// follows the end of a path, and reports false when there is none.
func (w *walk) resume(pc uint64) bool {
	if w.exhausted {
		return false
	}
	slices.Sort(w.ends)
	for i := len(w.ends) - 1; i >= 0; i-- {
		start := w.ends[i]
		if start > pc {
			continue
		}
		if from := w.switchBefore(start); from != nil {
			w.add(path{start, from.s.clone(), from.calls})
			return w.open > 0
		}
	}
	return false
}

// switchBefore returns the last indirect jump before start, by address, from which start was not visited.
func (w *walk) switchBefore(start uint64) *path {
	var best *path
	for i := range w.switches {
		p := &w.switches[i]
		if p.pc <= start && (best == nil || p.pc > best.pc) && w.unseen(start, p.s) {
			best = p
		}
	}
	return best
}
