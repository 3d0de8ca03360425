//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/regs"
	"golang.org/x/sys/unix"
)

// Results by which a call that our stop woke says how it goes on. User space never sees
// them.
// Source: linux/include/linux/errno.h.
const (
	restartSys     = -512 // ERESTARTSYS
	restartNoIntr  = -513 // ERESTARTNOINTR
	restartNoHand  = -514 // ERESTARTNOHAND
	restartByBlock = -516 // ERESTART_RESTARTBLOCK
)

// inCall says, of a stopped thread of x86, whether it is in a system call, and what that
// would return. known is false where registers do not show it.
func (c *Copy) inCall() (in bool, result int64, known bool) { return inCall(&c.regs) }

func inCall(r *regs.Registers) (in bool, result int64, known bool) {
	if r == nil || r.Arch != regs.AMD64 && r.Arch != regs.I386 {
		return false, 0, false
	}
	a := r.Arch
	number, _ := r.Get(a.Syscall)
	value, _ := r.Get(a.Result)
	if a.WordSize == 4 {
		return int32(number) >= 0, int64(int32(value)), true
	}
	return int64(number) >= 0, int64(value), true
}

// wait reports whether a stopped thread was blocked in a call, and whether the call goes
// on when the thread is let go with signal sig. It completes Thread.Syscall.
func (c *Copy) wait(w *Watch, before Counters, sig int) (blocked, goesOn bool) {
	in, result, known := c.inCall()
	if !known {
		now, err := w.Counters()
		blocked = c.Thread.Syscall != nil && err == nil && now.Switches == before.Switches+1
		return blocked, blocked && sig == 0 && !EndsWithEINTR(c.call, c.regs.Arch)
	}
	c.Thread.Syscall = nil
	if !in {
		return false, false
	}
	c.callFromRegisters()
	switch result {
	case restartSys, restartNoIntr, restartNoHand, restartByBlock:
		blocked, goesOn = true, sig == 0
	case -int64(unix.EINTR):
		blocked = EndsWithEINTR(c.call, c.regs.Arch)
	}
	if blocked {
		w.restarted(&c.call)
		c.Thread.Syscall = &c.call
	}
	return blocked, goesOn
}

// callFromRegisters sets call as /proc/TID/syscall shows it.
func (c *Copy) callFromRegisters() {
	a := c.regs.Arch
	number, _ := c.regs.Get(a.Syscall)
	c.call.Number = int64(number)
	for i, r := range a.Args {
		c.call.Args[i], _ = c.regs.Get(r)
	}
	c.call.SP, _ = c.regs.SP()
	c.call.PC, _ = c.regs.PC()
}

// CutShort reports whether a thread that was stopped is in a call that the stop, or a signal that came with it, has
// ended before its time: it slept in that call, or was about to. Where registers do not show it (all but x86) it is
// Blocked. A call that had done a part of its work returns that part, and is not shown.
//
// Such a result is never seen outside of the kernel: it is replaced, or delivered with EINTR, as the thread goes on.
// Source: signal(7), "Interruption of system calls and library functions by stop signals".
func (c *Copy) CutShort() bool {
	in, result, known := inCall(c.Thread.Registers)
	if !known {
		return c.Blocked
	}
	switch result {
	case restartSys, restartNoIntr, restartNoHand, restartByBlock, -int64(unix.EINTR):
		return in
	}
	return false
}

// CallEnded reports whether a thread that was stopped is at the end of a system call that is over and that the stop did
// not cut. Only x86 shows it.
func (c *Copy) CallEnded() bool {
	in, _, known := inCall(c.Thread.Registers)
	return known && in && !c.CutShort()
}

// TimerEnded reports whether a thread that was stopped was coming back from a wait that its own time ended:
// nanosleep, or poll, select, epoll_wait or futex with a limit. The interrupt that wakes us ends such waits
// too, if their slack has begun; then it is not by chance that the thread is met there. Only amd64 shows it.
//
// Source: linux/arch/x86/entry/syscalls/syscall_64.tbl; hrtimer_interrupt in linux/kernel/time/hrtimer.c ends all
// timers whose soft expiry has passed.
func (c *Copy) TimerEnded() bool {
	r := c.Thread.Registers
	in, result, known := inCall(r)
	if !known || !in || r.Arch != regs.AMD64 {
		return false
	}
	number, _ := r.Get(r.Arch.Syscall)
	limit := func(arg int) bool {
		v, _ := r.Get(r.Arch.Args[arg])
		return v != 0
	}
	switch number {
	case 35, 230: // nanosleep, clock_nanosleep
		return result == 0
	case 7, 271: // poll, ppoll
		return result == 0 && limit(2)
	case 23, 270: // select, pselect6
		return result == 0 && limit(4)
	case 232, 281, 441: // epoll_wait, epoll_pwait, epoll_pwait2
		return result == 0 && limit(3)
	case 202: // futex
		return result == -int64(unix.ETIMEDOUT)
	}
	return false
}
