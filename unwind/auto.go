package unwind

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

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
	case s.begins && c.isNewThread(), s.outermost && s.row == nil:
		return atRoot
	case s.row != nil || s.root:
		return c.stepTable(s)
	}
	return c.stepNoTable(s)
}

// stepTable applies the row of a table.
func (c *cursor) stepTable(s *site) *ending {
	if s.root && (s.row == nil || !c.underSignal(s)) {
		return atRoot
	}
	if s.origin == PCSP && s.table.base == c.arch.FP && c.fpIsZero() {
		if e := c.stepCross(s); e == nil {
			return nil
		}
		return atRoot
	}
	// Of a function that switches stacks, and waits on the other one, the runtime may know more than its frame pointer.
	if s.runtime != nil && s.origin == PCSP && s.table.base == c.arch.FP && !c.top().Interrupted {
		if e := c.stepCross(s); e == nil {
			return nil
		}
	}
	// What x30 holds is no return address where hand-written code of glibc uses it for something else, and keeps its
	// own in memory: its tables do not say so.
	if c.linkDoubted(s) && c.stepCode(s, unsure) {
		return nil
	}
	uncalled := c.uncalled
	e := c.apply(&s.table, uncalled)
	switch {
	case e == nil:
		return nil
	case uncalled:
		return atRoot
	}
	// Of a thread that sleeps and was not stopped only SP and PC are known.
	if e.blind && c.stepBySP(s) || e == notKnown && c.stepLeaf(s) {
		return nil
	}
	// Hand-written assembly has tables with mistakes: glibc's 386 memset counts its pushes
	// down, its memcpy not at all. A word that a link register had is 0 at the root alone.
	doubted := e.impossible && !(e == atZero && c.arch.LR != regs.NoReg)
	// A frame with vectors of arm64 is as long as the processor's vectors, which of a sleeper that was not stopped
	// nothing says; its instructions may point x29 to it.
	if (doubted || e.blind && c.arch.LR != regs.NoReg) && hasCode(c.arch) && c.stepCode(s, sure) {
		return nil
	}
	return e
}

// linkDoubted reports whether a table has the return address in the link register, and no call precedes what is there.
func (c *cursor) linkDoubted(s *site) bool {
	if c.arch.LR == regs.NoReg || s.row == nil || s.row.RA.Kind != cfi.Unspecified || !c.top().Interrupted ||
		!hasCode(c.arch) {
		return false
	}
	v, ok := c.regs.Get(c.arch.LR)
	if !ok || c.code(v) == 0 {
		return false
	}
	to := c.returnSite(c.code(v))
	return to == nil || !c.mayReturn(to)
}

// beginsAtZero reports whether the instructions of the whole way from the entry of the function say that it was entered
// with a return address of 0. A link register is 0 at the root alone, from where code may have come by jumps, as in
// musl from _start.
func (c *cursor) beginsAtZero(s *site) bool {
	return slices.ContainsFunc(s.code, func(r codeRow) bool {
		return r.exact && c.apply(&r.compiled, mustReturn) == atZero
	})
}

// underSignal reports whether a function that pclntab calls the outermost of its stack returns to a
// signal trampoline: runtime.sigtramp, below which is what the signal interrupted.
func (c *cursor) underSignal(s *site) bool {
	if s.origin != PCSP {
		return false
	}
	cfa, e := c.frame(&s.table)
	if e != nil {
		return false
	}
	ra, _, e := c.returnAddress(&s.table, cfa)
	if e != nil {
		return false
	}
	to := c.returnSite(ra)
	return to != nil && to.signal.kind != noSignal
}

// fpIsZero reports whether the frame pointer marks the outermost frame: the kernel clears it for a program's entry, and
// Go's runtime.mcall when it goes to the system stack for good.
func (c *cursor) fpIsZero() bool {
	fp, ok := c.regs.FP()
	return ok && fp == 0
}

// isNewThread reports whether a call that makes a thread has returned 0, as it does in that.
func (c *cursor) isNewThread() bool {
	result, ok := c.regs.Get(c.arch.Result)
	return ok && result == 0
}

// stepNoTable steps out of code that no table covers.
func (c *cursor) stepNoTable(s *site) *ending {
	innermost := c.top().Interrupted
	// Of a function that switches stacks the instructions tell first whether it has done so yet. A link register may be
	// another goroutine's by then.
	declined := noWay
	if s.runtime != nil && (!innermost || !s.leaves || c.arch.LR != regs.NoReg) {
		if declined = c.stepCross(s); declined == nil || declined == atRoot {
			return declined
		}
	}
	why := s.why
	if !errors.Is(declined.err, ErrDeclined) {
		why = declined.err.Error()
	}
	if s.entry && !innermost && c.arch.LR != regs.NoReg && c.fpIsZero() {
		return atRoot // that the kernel started it says a frame pointer of 0; nothing keeps a link register
	}
	if hasCode(c.arch) && c.stepCode(s, unsure) {
		return nil
	}
	if c.arch.LR != regs.NoReg && c.beginsAtZero(s) {
		return atRoot
	}
	if c.arch.LR != regs.NoReg && innermost && c.stepLinkRegister() {
		return nil
	}
	if s.leaves {
		if s.runtime != nil && innermost {
			declined = c.stepCross(s)
		}
		if declined != nil && errors.Is(declined.err, ErrDeclined) {
			return end(NoRule, "%s", s.why)
		}
		return declined
	}
	doubt := c.doubtRecord()
	e := c.stepFramePointer()
	switch {
	case e == nil:
		if doubt != "" {
			c.next.Note = doubt
		}
		return nil
	case innermost && hasCode(c.arch) && c.stepStackTop():
		return nil
	case s.entry:
		return atRoot
	case e == atRoot:
		// A frame pointer of 0 marks the outermost frame by the ABI, but code that keeps
		// none may hold a 0 there by chance.
		return end(NoRule, "%s, and the frame pointer is 0", why)
	case e.stop == NoRule, e.stop == BadCFA:
		// What is in the frame pointer of code that may keep none says nothing.
		return end(NoRule, "%s; %v", why, e.err)
	case declined.err != nil && !errors.Is(declined.err, ErrDeclined):
		return failed(e.stop, fmt.Errorf("%s; %w", why, e.err))
	}
	return e
}
