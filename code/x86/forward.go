package x86

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Forward finds the row at pc by interpreting the code from there to a return instruction:
// what is popped on the way says where the caller's registers are. pc is exact: an
// interrupted PC, or a return address as it is. Calls are assumed to
// return.
//
// It reports false where no path of bounded length returns. A row of code that ends in a
// call which never returns can be wrong: the paths run on into what is behind it.
func (c *Code) Forward(pc uint64) (cfi.Row, bool) {
	if !c.Contains(pc) {
		return cfi.Row{}, false
	}
	w := newWalk(c, paths.Around(pc))
	first, _ := c.decode(pc)
	var best, fallback cfi.Row
	var found bool
	visit := func(at uint64, in *inst, s *state) bool {
		if !w.leaves(at, in) {
			return false
		}
		row, whole, ok := c.returnRow(s)
		if ok && whole {
			best, found = row, true
		} else if ok && fallback.RA.Kind == cfi.Unspecified {
			fallback = row
		}
		return found
	}
	w.Add(path{PC: pc, State: newState(true)})
	w.run(visit)
	if !found {
		best, found = fallback, fallback.RA.Kind != cfi.Unspecified
	}
	best.Start, best.End = pc, pc+uint64(max(first.n, 1))
	return best, found
}

// leaves reports whether in, at that address, ends the frame: a return, or a tail call to a
// method, a PLT slot or code outside of the range.
func (w *walk) leaves(at uint64, in *inst) bool {
	switch in.flow() {
	case flowReturn, flowSlot:
		return true
	case flowJump:
		return !w.c.Contains(w.c.target(at+uint64(in.n), in.imm))
	}
	return false
}

// returnRow makes the row of the start from the state before a return instruction. whole
// says that each register the ABI keeps has a known place: where one has not, the path may
// have run over the end of the function.
func (c *Code) returnRow(s *state) (row cfi.Row, whole, ok bool) {
	word := c.word()
	sp := s.regs[rsp]
	above := int64(sp.off) + word
	if sp.kind != relative || sp.off < 0 && sp.base < firstAligned {
		return cfi.Row{}, false, false
	}
	row = c.plainRow(0, 0, rsp, above)
	if sp.base < base(regRA) {
		row.CFA.Reg = c.dwarf(register(sp.base))
	} else if row.CFA, ok = c.loadedCFA(s, sp.base, above); !ok {
		return cfi.Row{}, false, false
	}
	whole = true
	for _, r := range c.kept() {
		rule, known := c.returned(s, r, sp.base, above)
		if !known {
			rule, whole = cfi.Rule{Kind: cfi.Undefined}, false
		}
		if rule.Kind != cfi.Unspecified {
			row.Regs = append(row.Regs, cfi.RegRule{Reg: c.dwarf(r), Rule: rule})
		}
	}
	return row, whole, true
}

// loadedCFA is the CFA of a realigned frame: SP came from a slot.
func (c *Code) loadedCFA(s *state, b base, above int64) (cfi.Rule, bool) {
	for _, p := range s.pointers {
		if p.base == b && p.v.base < base(regRA) {
			expr := append(breg(c.dwarf(register(p.v.base)), int64(p.v.off)), opDeref)
			return cfi.Rule{Kind: cfi.ValExpression, Expr: addConstant(expr, above)}, true
		}
	}
	return cfi.Rule{}, false
}

// returned says where the value that r has at the return was at the start.
func (c *Code) returned(s *state, r register, cfa base, above int64) (cfi.Rule, bool) {
	v := s.regs[r]
	switch {
	case v.isInitial(r):
		return cfi.Rule{}, true
	case v.kind == loaded && v.base == cfa:
		return cfi.Rule{Kind: cfi.Offset, N: int64(v.off) - above}, true
	case v.kind == loaded && v.base < base(regRA):
		return cfi.Rule{Kind: cfi.Expression, Expr: breg(c.dwarf(register(v.base)), int64(v.off))}, true
	case v.kind == relative && v.off == 0 && v.base < base(regRA) && register(v.base) != rsp:
		return cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(register(v.base))}, true
	}
	return cfi.Rule{}, false
}
