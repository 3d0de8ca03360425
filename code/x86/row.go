package x86

import "github.com/fpstack/fpstack/unwind/cfi"

// redZone is the memory below SP that amd64 code may use: x86-64 ABI section 3.2.2. 386 code
// has none; there a slot below SP is the last resort too, as tables name it after a pop.
const redZone = 128

// entryRow makes the row of a state that was followed from a function's entry, where SP
// pointed to the return address.
func (c *Code) entryRow(s *state, at uint64, length int) (cfi.Row, bool) {
	row := c.plainRow(at, length, rsp, c.word())
	var ok bool
	// A CFA below SP comes of a path that never runs.
	if row.CFA, ok = c.entryCFA(s); !ok || row.CFA.Kind == cfi.Register && row.CFA.Reg == c.dwarf(rsp) &&
		row.CFA.N < 0 {
		return cfi.Row{}, false
	}
	if row.RA, ok = c.rule(s, regRA); !ok {
		return cfi.Row{}, false
	}
	for _, r := range c.kept() {
		rule, known := c.rule(s, r)
		if !known {
			rule = cfi.Rule{Kind: cfi.Undefined}
		}
		if rule.Kind != cfi.Unspecified {
			row.Regs = append(row.Regs, cfi.RegRule{Reg: c.dwarf(r), Rule: rule})
		}
	}
	return row, true
}

// entryCFA is the CFA, one word above the SP of the entry. A frame pointer set up in the
// usual way comes first: it holds even where a callee has moved SP.
func (c *Code) entryCFA(s *state) (cfi.Rule, bool) {
	word := c.word()
	plain := func(r register) (cfi.Rule, bool) {
		v := s.regs[r]
		rule := cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(r), N: word - int64(v.off)}
		return rule, v.kind == relative && v.base == base(rsp)
	}
	if s.regs[rbp] == (value{relative, base(rsp), int32(-word)}) {
		return plain(rbp)
	}
	for _, r := range [...]register{rsp, rbp, rax, rcx, rdx, rbx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15} {
		if rule, ok := plain(r); ok {
			return rule, true
		}
	}
	// The stack was realigned: a slot holds an address of the frame.
	for _, slot := range s.slots {
		if slot.v.kind != relative || slot.v.base != base(rsp) || slot.base == base(rsp) {
			continue
		}
		if r, n, ok := c.reach(s, slot.base, slot.off); ok {
			expr := addConstant(append(breg(c.dwarf(r), n), opDeref), word-int64(slot.v.off))
			return cfi.Rule{Kind: cfi.ValExpression, Expr: expr}, true
		}
	}
	return cfi.Rule{}, false
}

// reach finds a register from which base+off is at a known distance.
func (c *Code) reach(s *state, b base, off int32) (r register, n int64, ok bool) {
	for _, r := range [...]register{rbp, rsp, rax, rcx, rdx, rbx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15} {
		if v := s.regs[r]; v.kind == relative && v.base == b {
			return r, int64(off) - int64(v.off), true
		}
	}
	return noReg, 0, false
}

// rule says where the value that r held at the start is now. It prefers the oldest slot of
// the frame above SP (what the prologue saved), then the register itself, then another
// register, then the red zone and other memory. It reports false where the value is lost.
func (c *Code) rule(s *state, r register) (cfi.Rule, bool) {
	if rule, ok := c.saved(s, r, isFrameSlot); ok {
		return rule, true
	}
	if r != regRA && s.regs[r].isInitial(r) {
		return cfi.Rule{}, true
	}
	for other := rax; other <= r15; other++ {
		if s.regs[other].isInitial(r) {
			return cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(other)}, true
		}
	}
	return c.saved(s, r, isReadableSlot)
}

// isFrameSlot reports whether memory at address a is stack from SP on.
func isFrameSlot(a, sp value) bool {
	if sp.kind == relative && a.base == sp.base {
		return a.off >= sp.off
	}
	return a.base == base(rsp) || a.base >= firstAligned
}

// isReadableSlot also admits the red zone and memory that is no stack.
func isReadableSlot(a, sp value) bool {
	return sp.kind != relative || a.base != sp.base || a.off >= sp.off-redZone
}

// saved finds the oldest slot that holds the start value of r and is admitted.
func (c *Code) saved(s *state, r register, admits func(a, sp value) bool) (cfi.Rule, bool) {
	for _, slot := range s.slots {
		if !slot.v.isInitial(r) || !admits(value{relative, slot.base, slot.off}, s.regs[rsp]) {
			continue
		}
		if slot.base == base(rsp) {
			return cfi.Rule{Kind: cfi.Offset, N: int64(slot.off) - c.word()}, true
		}
		if from, n, ok := c.reach(s, slot.base, slot.off); ok {
			return cfi.Rule{Kind: cfi.Expression, Expr: breg(c.dwarf(from), n)}, true
		}
	}
	return cfi.Rule{}, false
}
