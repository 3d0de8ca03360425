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

// apply steps to the caller by r. proved asks more than r says: that code may return to the return address.
func (c *cursor) apply(r *compiled, proved bool) *ending {
	cfa, e := c.frame(r)
	if e != nil {
		return e
	}
	ra, late, e := c.returnAddress(r, cfa)
	if e != nil {
		return e
	}
	if ra == 0 {
		return r.atZero(cfa)
	}
	to := c.callerSite(ra)
	switch {
	case to == nil:
		return impossible(NoRule, "return address %#x is in no executable mapping", uint64(ra))
	case proved && !c.mayReturn(to):
		return notCalled
	}
	if e := c.restore(r, cfa, ra); e != nil {
		return e
	}
	c.at = to
	c.noteLate(late)
	c.noteRow(r, cfa)
	c.noteReturn(to)
	c.enterIfLeft()
	return nil
}

// frame finds the CFA of the top frame by r, and checks it.
func (c *cursor) frame(r *compiled) (mem.Addr, *ending) {
	cfa, err := c.cfa(r)
	if err != nil {
		return 0, &ending{stop: BadCFA, err: err, blind: true}
	}
	if c.inDoubt(r) {
		cfa = c.proveCFA(r, cfa)
	}
	return cfa, c.checkCFA(cfa, r)
}

// noteRow notes what follows from r being of a signal frame, or of a function that lands exceptions or that nobody
// called.
func (c *cursor) noteRow(r *compiled, cfa mem.Addr) {
	if r.lands {
		c.noteLanding(r, cfa)
	}
	c.doubtAfter(r)
	if r.signal {
		c.top().Signal, c.next.Interrupted = true, true
	}
	if r.inject {
		c.next.Interrupted = true
	}
}

// atZero is what a return address of 0 at the CFA means: the end of the stack; but Go marks what is outermost, and
// leaves no 0 there.
func (r *compiled) atZero(cfa mem.Addr) *ending {
	if r.origin == PCSP {
		return impossible(NoRule, "return address at CFA %#x is 0", uint64(cfa))
	}
	return atZero
}

// cfa computes the canonical frame address.
func (c *cursor) cfa(r *compiled) (mem.Addr, error) {
	switch r.CFA.Kind {
	case cfi.Register:
		if c.spIsBound && r.base == c.arch.SP {
			return c.cfaByRecord(r.Row)
		}
		v, ok := c.regs.Get(r.base)
		if !ok {
			return 0, fmt.Errorf("CFA rests on %s, which is not known", c.dwarfName(r.CFA.Reg))
		}
		return mem.Addr(c.mask(v + uint64(r.offset))), nil
	case cfi.ValExpression, cfi.Expression:
		v, err := cfi.Eval(r.CFA.Expr, nil, machine{c}, c.arch.Order, c.arch.WordSize)
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
func (c *cursor) checkCFA(cfa mem.Addr, r *compiled) *ending {
	sp, _ := c.regs.SP()
	if uint64(cfa)&uint64(c.arch.WordSize-1) != 0 {
		return impossible(BadCFA, "CFA %#x is not aligned to %d bytes", uint64(cfa), c.arch.WordSize)
	}
	// A return address in a register leaves a frame of no size (vfork, link registers).
	grows := cfa > sp || cfa == sp && r.RA.Kind != cfi.Offset
	if grows && cfa <= c.hi && c.hi != 0 {
		return nil
	}
	if r.base == c.arch.SP {
		if !grows {
			return impossible(NotAdvancing, "CFA %#x is not above SP %#x", uint64(cfa), uint64(sp))
		}
		return impossible(BadCFA, "CFA %#x lies outside of the stack %#x-%#x", uint64(cfa), uint64(c.lo), uint64(c.hi))
	}
	if !c.isStack(cfa) {
		return impossible(BadCFA, "CFA %#x lies in no stack (SP %#x, stack %#x-%#x)",
			uint64(cfa), uint64(sp), uint64(c.lo), uint64(c.hi))
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
		return impossible(BadCFA, "stack pointer %#x of the caller is not aligned to %d bytes", uint64(to),
			c.arch.WordSize)
	case to > c.lo && to <= c.hi, c.isStack(to):
		return nil
	}
	return impossible(BadCFA, "stack pointer %#x of the caller lies in no stack", uint64(to))
}

// isStack reports whether a stack may end at a: memory below it is readable and writable.
func (c *cursor) isStack(a mem.Addr) bool {
	m := c.w.modules.Table().Find(a - 1)
	return m != nil && m.Perm&(maps.Read|maps.Write) == maps.Read|maps.Write
}

// returnAddress finds where the caller goes on, and reports whether that was read late.
func (c *cursor) returnAddress(r *compiled, cfa mem.Addr) (ra mem.Addr, late bool, e *ending) {
	switch r.RA.Kind {
	case cfi.Offset:
		late = c.readLate(mem.Addr(c.mask(uint64(cfa) + uint64(r.RA.N))))
	case cfi.Undefined:
		return 0, false, atRoot
	case cfi.Unspecified, cfi.SameValue:
		if c.arch.LR == regs.NoReg {
			return 0, false, end(NoRule, "row for %#x has no rule for the return address", uint64(c.top().PC))
		}
		if !c.top().Interrupted {
			return 0, false, linkLost
		}
	}
	v, ok, err := c.value(r.RA, r.RAReg, cfa)
	if err != nil {
		return 0, false, failed(ReadFault, fmt.Errorf("read return address: %w", err))
	}
	if !ok {
		return 0, false, notKnown
	}
	return c.code(v), late, nil
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

// restore makes the registers those of the caller at ra, one after the other: one may rest on what another has
// lost in the caller. One without a rule keeps its value, also a volatile one: hand-written code has CFAs on those.
func (c *cursor) restore(r *compiled, cfa, ra mem.Addr) *ending {
	next := c.regs
	next.Set(c.arch.SP, uint64(cfa))
	next.Set(c.arch.PC, uint64(ra))
	sp, _ := c.regs.SP()
	for _, w := range r.words {
		at := mem.Addr(c.mask(uint64(cfa) + uint64(w.At)))
		v, err := c.word(at)
		switch {
		case err == nil:
			next.Set(w.Reg, v)
		case at < sp:
			// Behind a pop the row still names the slot, now below SP and perhaps not
			// copied; the register has its value back already.
		default:
			next.Forget(w.Reg)
		}
	}
	for i := range r.rest {
		own := &r.rest[i]
		if c.leftAlready(own, sp, cfa) {
			continue
		}
		if v, ok, _ := c.value(own.rule.Rule, own.rule.Reg, cfa); ok {
			next.Set(own.reg, v)
		} else {
			next.Forget(own.reg)
		}
	}
	if e := c.checkSP(&next, cfa); e != nil {
		return e
	}
	return c.advance(cfa, &next, r.origin)
}

// leftAlready finds the gap that gcc leaves in functions which realign their stack: behind
// "leave" the row still says that rbp is saved where rbp points, though rbp is the caller's
// again by then.
func (c *cursor) leftAlready(own *ownRule, sp, cfa mem.Addr) bool {
	if own.rule.Rule.Kind != cfi.Expression || own.reg != c.arch.FP {
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
