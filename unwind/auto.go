package unwind

import "github.com/fpstack/fpstack/regs"

// stepAuto steps to the caller in the order of what is surest: a signal frame by its bytes, a
// call through a bad pointer, the row of a table, and for code without tables its instructions
// and its frame pointer.
func (c *cursor) stepAuto() *ending {
	s := c.at
	switch {
	case s == nil:
		return c.stepBadPC()
	case s.signal.kind != noSignal:
		return c.stepSignal(s.signal)
	case s.row.Row != nil || s.root:
		return c.stepTable(s)
	}
	return c.stepNoTable(s)
}

// stepTable applies the row of a table.
func (c *cursor) stepTable(s *site) *ending {
	if s.root && (s.row.Row == nil || !c.underSignal(s)) {
		return atRoot
	}
	if s.row.origin == PCSP && s.row.base == c.arch.FP && c.leftGoroutine() {
		return atRoot
	}
	uncalled := c.uncalled
	e := c.apply(&s.row, uncalled)
	if e != nil && uncalled {
		return atRoot
	}
	// Of a thread that sleeps and was not stopped only SP and PC are known.
	if e != nil && e.blind && c.stepBySP(s) {
		return nil
	}
	// Hand-written assembly has tables with mistakes: glibc's 386 memset counts its pushes
	// down, its memcpy not at all.
	if e != nil && e.impossible && hasCode(c.arch) && c.stepCode(s, sure) {
		return nil
	}
	return e
}

// underSignal tells whether a function that Go calls the outermost of its stack returns to a
// signal trampoline: runtime.sigtramp, below which stands what the signal interrupted.
func (c *cursor) underSignal(s *site) bool {
	if s.row.origin != PCSP {
		return false
	}
	cfa, words, e := c.frame(&s.row)
	if e != nil {
		return false
	}
	ra, e := c.returnAddress(&s.row, cfa, words)
	if e != nil {
		return false
	}
	to := c.returnSite(ra)
	return to != nil && to.signal.kind != noSignal
}

// leftGoroutine tells whether a Go function that switched stacks left nothing to go back to:
// runtime.mcall clears the frame pointer when it goes to the system stack for good.
func (c *cursor) leftGoroutine() bool {
	fp, ok := c.regs.FP()
	return ok && fp == 0
}

// stepNoTable steps out of code that no table covers.
func (c *cursor) stepNoTable(s *site) *ending {
	innermost := c.top().Interrupted
	if s.grows && !innermost {
		return c.stepGrowth()
	}
	if hasCode(c.arch) && c.stepCode(s, unsure) {
		return nil
	}
	if c.arch.LR != regs.NoReg && innermost && c.stepLinkRegister() {
		return nil
	}
	switch {
	case s.grows:
		return c.stepGrowth()
	case s.resumes:
		return c.stepResume()
	case s.leaves:
		return end(NoRule, "%s", s.why)
	}
	unproved := innermost && c.linkRegisterUnproved()
	e := c.stepFramePointer()
	switch {
	case e == nil && unproved:
		c.next.Note = "a frame may be missing before this one: whether the link register holds a caller is not known"
		return nil
	case e == nil:
		return nil
	case innermost && hasCode(c.arch) && c.stepStackTop():
		return nil
	case s.entry:
		return atRoot
	case e == atRoot:
		// A frame pointer of 0 marks the outermost frame by the ABI, but code that keeps
		// none may hold a 0 there by chance.
		return end(NoRule, "%s, and the frame pointer is 0", s.why)
	case e.stop == NoRule, e.stop == BadCFA:
		// What stands in the frame pointer of code that may keep none says nothing.
		return end(NoRule, "%s; %v", s.why, e.err)
	}
	return e
}
