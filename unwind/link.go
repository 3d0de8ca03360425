package unwind

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Where a call leaves its return address in a register, that of an innermost frame may hold its caller: it is taken
// where something proves that it is not stale.

// stepLinkTarget is stepCallTarget where the return address of the call that entered this function is still in the link
// register: the instructions from the call's target to PC must leave it there.
func (c *cursor) stepLinkTarget(code text, bias, pc uint64) bool {
	if c.arch.LR == regs.NoReg || !c.top().Interrupted {
		return false
	}
	v, ok := c.regs.Get(c.arch.LR)
	if !ok {
		return false
	}
	row := c.fromCall(code, bias, c.code(v), pc)
	return row != nil && row.RA.Kind == cfi.Unspecified && c.apply(row, mustReturn) == nil
}

// stepLinkRegister takes the caller of an innermost frame from the link register, if that is
// not stale: a function that has called others holds a return address into itself there, or
// the one that its frame record has too.
func (c *cursor) stepLinkRegister() bool {
	v, ok := c.regs.Get(c.arch.LR)
	if !ok {
		return false
	}
	f := c.top()
	lr := c.code(v)
	if !c.executable(lr) || !c.isTrampoline(lr) && (c.sameFunction(f, lr) || c.recordHolds(lr)) {
		return false
	}
	sp, _ := c.regs.SP()
	next := c.regs
	next.Set(c.arch.PC, uint64(lr))
	next.Forget(c.arch.LR)
	spIsBound := c.arch.Record.Anywhere && c.movesSP()
	if c.advance(sp, &next, LinkRegister) != nil {
		return false
	}
	c.spIsBound = spIsBound
	return true
}

// isTrampoline reports whether a is where a signal handler returns to. Only the kernel puts that into the link
// register, as a handler begins, and the first call that this makes overwrites it.
func (c *cursor) isTrampoline(a mem.Addr) bool {
	s := c.returnSite(a)
	return s != nil && s.signal.kind != noSignal
}

// sameFunction reports whether the return address addr lies in the function of f. Where the bounds
// of that are not known it is true unless the call before addr proves that it entered f's
// function, so that a stale link register never makes a frame.
func (c *cursor) sameFunction(f *Frame, addr mem.Addr) bool {
	if f.Module == nil {
		return true
	}
	start, end, ok := c.bounds(f, f.Module.Base())
	if !ok {
		return !c.entered(f, addr)
	}
	v := uint64(f.Module.Vaddr(addr))
	return v >= start && v < end
}

// recordHolds reports whether the frame record at the frame pointer has ra as its return address.
func (c *cursor) recordHolds(ra mem.Addr) bool {
	fp, ok := c.regs.FP()
	if !ok || c.checkFP(fp, &c.arch.Record) != nil {
		return false
	}
	v, err := c.word(fp + mem.Addr(c.arch.Record.RA))
	return err == nil && c.code(v) == ra
}
