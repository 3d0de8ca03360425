package arm64

import "github.com/fpstack/fpstack/unwind/cfi"

// entryRow makes the row of a state that was followed from a function's entry, where SP was the CFA and x30 held the
// return address.
func (s *state) entryRow(pc uint64) (cfi.Row, bool) {
	row := newRow(pc)
	var ok bool
	// A CFA below SP comes of a path that never runs.
	if row.CFA, ok = s.entryCFA(); !ok || row.CFA.Reg == uint64(sp) && row.CFA.N < 0 {
		return cfi.Row{}, false
	}
	if row.RA, ok = s.rule(lr); !ok {
		return cfi.Row{}, false
	}
	for r := x19; r <= fp; r++ {
		rule, known := s.rule(r)
		if !known {
			rule = cfi.Rule{Kind: cfi.Undefined}
		}
		if rule.Kind != cfi.Unspecified {
			row.Regs = append(row.Regs, cfi.RegRule{Reg: uint64(r), Rule: rule})
		}
	}
	return row, true
}

func newRow(pc uint64) cfi.Row {
	return cfi.Row{Start: pc &^ (size - 1), End: pc&^(size-1) + size, RAReg: uint64(lr)}
}

// entryCFA is the SP of the entry, by the SP of now where its distance is known.
func (s *state) entryCFA() (cfi.Rule, bool) {
	if rule, ok := s.distance(sp); ok {
		return rule, true
	}
	for r := fp; ; r-- {
		if rule, ok := s.distance(r); ok || r == x0 {
			return rule, ok
		}
	}
}

// distance is the SP of the entry as r says it.
func (s *state) distance(r register) (cfi.Rule, bool) {
	v := s.regs[r]
	return cfi.Rule{Kind: cfi.Register, Reg: uint64(r), N: -v.off}, v.kind == relative && v.base == sp
}

// rule says where the value that r held at the start is now. It prefers the oldest slot of the frame above SP (what
// the prologue saved), then the register itself, then another one, then memory below SP, which a signal may have
// overwritten. It reports false where the value is lost.
func (s *state) rule(r register) (cfi.Rule, bool) {
	if rule, ok := s.saved(r, true); ok {
		return rule, true
	}
	if s.regs[r] == initial(r) {
		return cfi.Rule{}, true
	}
	for other := x0; other <= lr; other++ {
		if s.regs[other] == initial(r) {
			return cfi.Rule{Kind: cfi.Register, Reg: uint64(other)}, true
		}
	}
	if rule, ok := s.saved(r, false); ok {
		return rule, true
	}
	return s.kept(r)
}

// kept finds the start value of r in memory that is not the stack, at a known distance from what a register holds:
// swapcontext of glibc keeps its return address in the context that it writes, and uses x30 for another.
func (s *state) kept(r register) (cfi.Rule, bool) {
	for _, slot := range s.slots {
		if slot.v != initial(r) || slot.base == sp {
			continue
		}
		for by := x0; by <= lr; by++ {
			if at := s.regs[by]; at.kind == relative && at.base == slot.base {
				return cfi.Rule{Kind: cfi.Expression, Expr: sleb([]byte{opBreg0 + byte(by)}, slot.off-at.off)}, true
			}
		}
	}
	return cfi.Rule{}, false
}

// saved finds the oldest slot of the frame that holds the start value of r; above: from SP on.
func (s *state) saved(r register, above bool) (cfi.Rule, bool) {
	at := s.regs[sp]
	for _, slot := range s.slots {
		below := at.kind == relative && at.base == sp && slot.off < at.off
		if slot.v == initial(r) && slot.base == sp && !(above && below) {
			return cfi.Rule{Kind: cfi.Offset, N: slot.off}, true
		}
	}
	return cfi.Rule{}, false
}
