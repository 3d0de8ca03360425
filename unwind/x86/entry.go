package x86

import (
	"slices"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// maxFunction bounds a function whose end is not known, in bytes.
const maxFunction = 64 << 10

// maxKnown bounds a function that a symbol or a table tells, in bytes: the largest that compilers make of
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
// reports false where SP has moved by an unknown distance.
func (c *Code) FromEntrySP(entry, end, pc uint64) (cfi.Row, bool) {
	s, at, length, ok := c.stateAt(entry, end, pc)
	if !ok || s.regs[rsp].kind != relative || s.regs[rsp].base != base(rsp) {
		return cfi.Row{}, false
	}
	row, ok := c.entryRow(s, at, length)
	row.CFA = cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(rsp), N: c.word() - int64(s.regs[rsp].off)}
	return row, ok
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
	visit := func(addr uint64, in *inst, s *state) bool {
		if pc-addr >= uint64(in.n) {
			return false
		}
		if pc != addr {
			c.duringCall(addr, in, s)
		}
		found, at, length = s, addr, in.n
		return true
	}
	w.add(path{pc: entry, s: newState(false)})
	for range maxResumed {
		if w.run(visit) {
			return found, at, length, true
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
	if w.steps >= maxSteps {
		return false
	}
	slices.Sort(w.ends)
	for i := len(w.ends) - 1; i >= 0; i-- {
		start := w.ends[i]
		if start > pc || !w.unseen(start) {
			continue
		}
		if from := w.switchBefore(start); from != nil {
			w.add(path{start, from.s.clone(), from.calls})
			return w.open > 0
		}
	}
	return false
}

func (w *walk) unseen(pc uint64) bool {
	i := pc - w.lo
	return pc >= w.lo && pc < w.hi && w.seen[i/64]&(1<<(i%64)) == 0
}

// switchBefore returns the last indirect jump before start, by address.
func (w *walk) switchBefore(start uint64) *path {
	var best *path
	for i := range w.switches {
		p := &w.switches[i]
		if p.pc <= start && (best == nil || p.pc > best.pc) {
			best = p
		}
	}
	return best
}
