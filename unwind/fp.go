package unwind

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// maxFrameLength bounds one frame of a frame pointer chain. Larger ones exist only around
// arrays that would overflow the default stack of a thread.
const maxFrameLength = 8 << 20

// stepFramePointer steps to the caller by the frame record that the frame pointer points to.
func (c *cursor) stepFramePointer() *ending {
	rec := &c.arch.Record
	if c.arch.FP == regs.NoReg || *rec == (regs.Record{}) {
		return end(NoRule, "%s code keeps no frame pointer", c.arch.Name)
	}
	fp, ok := c.regs.FP()
	if !ok {
		return end(NoRule, "frame pointer %s is not known", c.arch.RegName(c.arch.FP))
	}
	if fp == 0 {
		return atRoot
	}
	if e := c.checkFP(fp, rec); e != nil {
		return e
	}
	v, err := c.word(fp + mem.Addr(rec.RA))
	if err != nil {
		return failed(ReadFault, err)
	}
	ra := c.code(v)
	if ra == 0 {
		return atRoot
	}
	to := c.callerSite(ra)
	if to == nil {
		return end(NoRule, "return address %#x at frame pointer %#x is in no executable mapping", uint64(ra),
			uint64(fp))
	}
	saved, err := c.word(fp + mem.Addr(rec.SavedFP))
	if err != nil {
		return failed(ReadFault, err)
	}
	if !c.mayReturn(to) && !c.leadsBack(fp, mem.Addr(saved), to) {
		return end(NoRule, "no call precedes the return address %#x at frame pointer %#x", uint64(ra), uint64(fp))
	}
	cfa := fp + mem.Addr(rec.CFA)
	if e := c.stepTo(cfa, cfa, ra, to, FramePointer); e != nil {
		return e
	}
	// Only what the record holds is known of the caller: the rest was not saved here but
	// may have been saved by code in between.
	c.forgetCallee(&c.regs)
	c.regs.Set(c.arch.FP, saved)
	c.regs.Set(c.arch.SP, uint64(cfa))
	c.regs.Set(c.arch.PC, uint64(ra))
	c.spIsBound = rec.Anywhere
	if !to.returnable {
		c.next.Note = uncalledNote
	}
	c.noteLate(c.readLate(fp + mem.Addr(rec.RA)))
	return nil
}

// checkFP refuses a frame pointer that cannot be one.
func (c *cursor) checkFP(fp mem.Addr, rec *regs.Record) *ending {
	sp := c.top().SP
	width := mem.Addr(c.arch.WordSize)
	below := mem.Addr(rec.Below)
	if c.top().Origin == FramePointer {
		below = 0 // SP is the end of a record, which no other one overlaps
	}
	// The record's words; it may be below what the frame pointer points to.
	low, high := fp+mem.Addr(min(rec.SavedFP, rec.RA)), fp+mem.Addr(max(rec.SavedFP, rec.RA))+width
	switch {
	case fp%width != 0:
		return end(BadCFA, "frame pointer %#x is not aligned to %d bytes", uint64(fp), c.arch.WordSize)
	case low+below < sp && low >= c.lo:
		return end(NotAdvancing, "frame pointer %#x did not grow (previous %#x)", uint64(fp), uint64(sp))
	case low < c.lo || high > c.hi || high < low:
		return end(BadCFA, "frame pointer %#x lies outside of the stack %#x-%#x", uint64(fp), uint64(c.lo),
			uint64(c.hi))
	case fp > sp && fp-sp > maxFrameLength:
		return end(BadCFA, "frame pointer %#x makes a frame of %d bytes", uint64(fp), uint64(fp-sp))
	}
	return nil
}

// forgetCallee forgets the registers that a function must preserve: where the code that saved
// them has no tables, their values in the caller are not known.
func (c *cursor) forgetCallee(r *regs.Registers) {
	r.Forget(c.arch.Callee...)
}
