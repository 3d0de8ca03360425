package unwind

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// machine gives a DWARF expression the values of the frame.
type machine struct{ c *cursor }

func (m machine) Reg(n uint64) (uint64, bool) {
	r, ok := m.c.arch.FromDWARF(n)
	if !ok {
		return 0, false
	}
	return m.c.regs.Get(r)
}

func (m machine) Read(addr uint64, size int) (uint64, error) {
	return mem.Uint(m.c.memory, mem.Addr(addr), size, m.c.arch.Order)
}

// applyRow steps to the caller by the rules of row.
func (c *cursor) applyRow(row *cfi.Row, o Origin) *ending {
	if row.RA.Kind == cfi.Undefined {
		return atRoot
	}
	cfa, err := c.cfa(row)
	if err != nil {
		return &ending{stop: BadCFA, err: err, blind: true}
	}
	if c.inDoubt(row) {
		cfa = c.proveCFA(cfa)
	}
	if e := c.checkCFA(cfa, row); e != nil {
		return e
	}
	ra, e := c.returnAddress(row, cfa)
	if e != nil {
		return e
	}
	late := row.RA.Kind == cfi.Offset && c.readLate(mem.Addr(c.mask(uint64(cfa)+uint64(row.RA.N))))
	if ra == 0 {
		if o == PCSP { // Go marks what is outermost, and leaves no 0 there
			return impossible(NoRule, "return address at CFA %#x is 0", uint64(cfa))
		}
		return atZero
	}
	if !c.executable(ra) {
		return impossible(NoRule, "return address %#x is in no executable mapping", uint64(ra))
	}
	next := c.restore(row, cfa)
	next.Set(c.arch.PC, uint64(ra))
	if e := c.checkSP(&next, cfa); e != nil {
		return e
	}
	if e := c.advance(cfa, &next, o); e != nil {
		return e
	}
	if landsExceptions(row, c.arch) {
		c.noteLanding(cfa)
	}
	c.doubtAfter(row)
	c.top().Signal = row.Signal
	c.next.Interrupted = row.Signal
	c.noteLate(late)
	c.noteReturn(ra)
	c.enterIfLeft()
	return nil
}

// cfa computes the canonical frame address.
func (c *cursor) cfa(row *cfi.Row) (mem.Addr, error) {
	switch row.CFA.Kind {
	case cfi.Register:
		if c.loose && row.CFA.Reg == c.spDWARF() {
			return c.cfaByRecord(row)
		}
		v, ok := machine{c}.Reg(row.CFA.Reg)
		if !ok {
			return 0, fmt.Errorf("CFA rests on %s, which is not known", c.dwarfName(row.CFA.Reg))
		}
		return mem.Addr(c.mask(v + uint64(row.CFA.N))), nil
	case cfi.ValExpression, cfi.Expression:
		v, err := cfi.Eval(row.CFA.Expr, nil, machine{c}, c.arch.Order, c.arch.WordSize)
		if err != nil {
			return 0, fmt.Errorf("compute CFA: %w", err)
		}
		return mem.Addr(c.mask(v)), nil
	}
	return 0, fmt.Errorf("row has no rule for the CFA")
}

// dwarfName names a register for a message.
func (c *cursor) dwarfName(n uint64) string {
	if r, ok := c.arch.FromDWARF(n); ok {
		return c.arch.RegName(r)
	}
	return fmt.Sprintf("DWARF register %d", n)
}

// checkCFA refuses a CFA that no frame can have: misaligned, not above SP, or outside of the
// stack. A row that finds it by another register than SP may lead to another stack, which
// must be readable and writable memory.
func (c *cursor) checkCFA(cfa mem.Addr, row *cfi.Row) *ending {
	sp, _ := c.regs.SP()
	if uint64(cfa)%uint64(c.arch.WordSize) != 0 {
		return impossible(BadCFA, "CFA %#x is not aligned to %d bytes", uint64(cfa), c.arch.WordSize)
	}
	// A return address in a register leaves a frame of no size (vfork, link registers).
	grows := cfa > sp || cfa == sp && row.RA.Kind != cfi.Offset
	if grows && cfa <= c.hi && c.hi != 0 {
		return nil
	}
	if row.CFA.Kind == cfi.Register && row.CFA.Reg == c.spDWARF() {
		if !grows {
			return impossible(NotAdvancing, "CFA %#x is not above SP %#x", uint64(cfa), uint64(sp))
		}
		return impossible(BadCFA, "CFA %#x lies outside of the stack %#x-%#x", uint64(cfa), uint64(c.lo), uint64(c.hi))
	}
	if !c.isStack(cfa) {
		return impossible(BadCFA, "CFA %#x lies in no stack (SP %#x, stack %#x-%#x)", uint64(cfa), uint64(sp), uint64(c.lo), uint64(c.hi))
	}
	return nil
}

// checkSP refuses a stack pointer of the caller that a rule of its own gave, and not the CFA, if it
// is misaligned or points to no stack.
func (c *cursor) checkSP(next *regs.Registers, cfa mem.Addr) *ending {
	to, ok := next.SP()
	switch {
	case !ok, to == cfa:
		return nil
	case uint64(to)%uint64(c.arch.WordSize) != 0:
		return impossible(BadCFA, "stack pointer %#x of the caller is not aligned to %d bytes", uint64(to), c.arch.WordSize)
	case to > c.lo && to <= c.hi, c.isStack(to):
		return nil
	}
	return impossible(BadCFA, "stack pointer %#x of the caller lies in no stack", uint64(to))
}

// isStack tells whether a stack may end at a: memory below it is readable and writable.
func (c *cursor) isStack(a mem.Addr) bool {
	m := c.w.modules.Table().Find(a - 1)
	return m != nil && m.Perm&(maps.Read|maps.Write) == maps.Read|maps.Write
}

// spDWARF is the DWARF number of the stack pointer; the table's numbers below 32 are DWARF's.
func (c *cursor) spDWARF() uint64 { return uint64(c.arch.SP) }

// returnAddress finds where the caller goes on.
func (c *cursor) returnAddress(row *cfi.Row, cfa mem.Addr) (mem.Addr, *ending) {
	switch row.RA.Kind {
	case cfi.Unspecified, cfi.SameValue:
		if c.arch.LR == regs.NoReg {
			return 0, end(NoRule, "row for %#x has no rule for the return address", uint64(c.top().PC))
		}
		if !c.top().Interrupted {
			return 0, linkLost
		}
	}
	v, ok, err := c.value(row.RA, row.RAReg, cfa)
	if err != nil {
		return 0, failed(ReadFault, fmt.Errorf("read return address: %w", err))
	}
	if !ok {
		return 0, end(NoRule, "return address is in a register that is not known")
	}
	return c.code(v), nil
}

// value finds one value of the caller by its rule. It is false if the rule rests on a register
// that is not known.
func (c *cursor) value(rule cfi.Rule, reg uint64, cfa mem.Addr) (uint64, bool, error) {
	switch rule.Kind {
	case cfi.Undefined:
		return 0, false, nil
	case cfi.Offset:
		v, err := c.word(mem.Addr(c.mask(uint64(cfa) + uint64(rule.N))))
		return v, err == nil, err
	case cfi.ValOffset:
		return c.mask(uint64(cfa) + uint64(rule.N)), true, nil
	case cfi.Register:
		v, ok := machine{c}.Reg(rule.Reg)
		return v, ok, nil
	case cfi.Expression:
		a, err := cfi.Eval(rule.Expr, []uint64{uint64(cfa)}, machine{c}, c.arch.Order, c.arch.WordSize)
		if err != nil {
			return 0, false, err
		}
		v, err := c.word(mem.Addr(a))
		return v, err == nil, err
	case cfi.ValExpression:
		v, err := cfi.Eval(rule.Expr, []uint64{uint64(cfa)}, machine{c}, c.arch.Order, c.arch.WordSize)
		return v, err == nil, err
	}
	v, ok := machine{c}.Reg(reg)
	return v, ok, nil
}

// restore returns the registers of the caller, but for its PC. A register without a rule keeps
// its value, also a volatile one: hand-written code has CFAs on those.
func (c *cursor) restore(row *cfi.Row, cfa mem.Addr) regs.Registers {
	next := c.regs
	next.Set(c.arch.SP, uint64(cfa))
	sp, _ := c.regs.SP()
	for i := range row.Regs {
		rule := row.Regs[i].Rule
		r, ok := c.arch.FromDWARF(row.Regs[i].Reg)
		if !ok || c.leftAlready(rule, row.Regs[i].Reg, sp, cfa) {
			continue
		}
		v, ok, err := c.value(rule, row.Regs[i].Reg, cfa)
		switch {
		case ok:
			next.Set(r, v)
		case err != nil && rule.Kind == cfi.Offset && mem.Addr(uint64(cfa)+uint64(rule.N)) < sp:
			// Behind a pop the row still names the slot, now below SP and perhaps not
			// copied; the register has its value back already.
		default:
			next.Forget(r)
		}
	}
	return next
}

// leftAlready finds the gap that gcc leaves in functions which realign their stack: behind
// "leave" the row still says that rbp is saved where rbp points, though rbp is the caller's
// again by then.
func (c *cursor) leftAlready(rule cfi.Rule, reg uint64, sp, cfa mem.Addr) bool {
	if rule.Kind != cfi.Expression || c.arch.FP == regs.NoReg || reg != uint64(c.arch.FP) {
		return false
	}
	fp, ok := c.regs.FP()
	return ok && (fp+mem.Addr(c.arch.WordSize) <= sp || fp >= cfa)
}

// enterIfLeft makes the mapping of the new SP the current stack if SP left the old one.
func (c *cursor) enterIfLeft() {
	if sp, _ := c.regs.SP(); sp < c.lo || sp > c.hi {
		c.enter()
	}
}
