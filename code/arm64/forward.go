package arm64

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Forward finds the row at pc by interpreting the code from there to a return instruction: what is loaded on the way
// says where the caller's registers are. pc is exact: an interrupted PC, or with called a return address as it is, at
// which x30 does not hold the caller. Calls are assumed to return.
//
// It reports false where no path of bounded length returns. A row of code that ends in a call which never returns can
// be wrong: the paths run on into what is behind it.
func (c *Code) Forward(pc uint64, called bool) (cfi.Row, bool) {
	if !c.Contains(pc) || pc%size != 0 {
		return cfi.Row{}, false
	}
	w := newWalk(c, paths.Around(pc))
	var best, fallback cfi.Row
	var found, any bool
	visit := func(at uint64, i Inst, s *state) bool {
		if !w.leaves(at, i) {
			return false
		}
		row, whole, ok := s.returnRow(pc, i.returnsBy())
		switch {
		case !ok || called && isLost(row.RA):
		case whole:
			best, found = row, true
		case !any:
			fallback, any = row, true
		}
		return found
	}
	w.Add(path{PC: pc, State: newState(true)})
	w.run(visit)
	if !found {
		return fallback, any
	}
	return best, true
}

// isLost reports whether a call overwrites where a rule has the return address.
func isLost(rule cfi.Rule) bool {
	return rule.Kind == cfi.Unspecified || rule.Kind == cfi.Register && !isKept(register(rule.Reg))
}

// leaves reports whether i, at that address, ends the frame: a return, or a tail call to a stub or code outside of
// the range.
func (w *walk) leaves(at uint64, i Inst) bool {
	switch i.flow() {
	case flowReturn, flowSlot:
		return true
	case flowJump:
		return !w.c.Contains(i.target(at))
	}
	return false
}

// returnsBy is the register that holds the return address when i leaves the frame: code that switches stacks by hand
// may restore x30 for the other side, and return by another.
func (i Inst) returnsBy() register {
	if i.Is(0xfffffc1f, 0xd65f0000) { // ret x
		return i.rn()
	}
	return lr // retaa, retaasppc; a tail call
}

// returnRow makes the row of the start from the state before a return instruction. whole says that each register the
// ABI keeps has a known place: where one has not, the path may have run over the end of the function. by is where the
// return address is.
func (s *state) returnRow(pc uint64, by register) (row cfi.Row, whole, ok bool) {
	top := s.regs[sp]
	if top.kind != relative || top.base == sp && top.off < 0 {
		return cfi.Row{}, false, false
	}
	row = newRow(pc)
	row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(top.base), N: top.off}
	if row.RA, ok = returned(s.regs[by], lr, top); !ok {
		return cfi.Row{}, false, false
	}
	whole = true
	for r := x19; r <= fp; r++ {
		rule, known := returned(s.regs[r], r, top)
		if !known {
			rule, whole = cfi.Rule{Kind: cfi.Undefined}, false
		}
		if rule.Kind != cfi.Unspecified {
			row.Regs = append(row.Regs, cfi.RegRule{Reg: uint64(r), Rule: rule})
		}
	}
	return row, whole, true
}

// Operators of DWARF 5, section 7.7.1.
const opBreg0 = 0x70

// returned says where v, which is the caller's r, was at the start.
func returned(v value, r register, cfa value) (cfi.Rule, bool) {
	switch {
	case v == initial(r):
		return cfi.Rule{}, true
	case v.kind == loaded && v.base == cfa.base:
		return cfi.Rule{Kind: cfi.Offset, N: v.off - cfa.off}, true
	case v.kind == loaded:
		return cfi.Rule{Kind: cfi.Expression, Expr: sleb([]byte{opBreg0 + byte(v.base)}, v.off)}, true
	case v.kind == relative && v.off == 0 && v.base != sp:
		return cfi.Rule{Kind: cfi.Register, Reg: uint64(v.base)}, true
	}
	return cfi.Rule{}, false
}

// sleb appends n as a signed LEB128.
func sleb(b []byte, n int64) []byte {
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
