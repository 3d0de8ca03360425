package golang

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// enterGo is called by C, with what Go function to call, and calls runtime.cgocallback.
const enterGo = "crosscall2"

// leftNote is of the C that called a goroutine which waits.
const leftNote = "the goroutine that was called from here waits: its frames before this one are missing"

// crossLeave goes from runtime.mcall, which runs the scheduler on the system stack, to the C below it, if a goroutine
// that C called has given the thread away: that is locked to the thread, so that C is there until it goes on.
// runtime.mcall begins where g0's stack pointer is: there is the frame of runtime.cgocallback then, and else one of
// runtime.mstart0.
func (r *Runtime) crossLeave(top *unwind.Frame, v *view.View) (unwind.Crossing, error) {
	if r.port == nil || top.Interrupted {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	frame, at := &r.port.frame, top.SP+r.port.left
	pc, fp, sp := frame.words(at, v)
	target, ok := r.callBefore(mem.Addr(pc))
	if !ok || r.name(mem.Addr(pc)-1) != enterGo || r.name(target) != callGo || sp < uint64(at) || fp <= uint64(at) {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	next := regs.New(r.port.arch)
	next.Set(next.Arch.PC, pc)
	next.Set(next.Arch.SP, uint64(at)+uint64(frame.size))
	next.Set(next.Arch.FP, fp)
	return unwind.Crossing{Registers: next, Note: leftNote}, nil
}

// words are the return address of the frame at sp, the frame pointer of its caller and the stack pointer of g0 before;
// 0 where they cannot be read.
func (f *goFrame) words(sp mem.Addr, v *view.View) (ra, fp, g0SP uint64) {
	for _, w := range [...]struct {
		offset int64
		to     *uint64
	}{{f.ra, &ra}, {f.fp, &fp}, {f.sp, &g0SP}} {
		*w.to, _ = v.Word(offset(sp, w.offset))
	}
	return ra, fp, g0SP
}
