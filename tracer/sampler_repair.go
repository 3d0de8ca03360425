//go:build linux

package tracer

import (
	"unsafe"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

// repair lets a call that returns EINTR because of our stop be restarted, and reports whether it
// did: at our own stop, in a 64-bit program of amd64, in a call that waits without a limit.
// A call with a limit would begin that again too. A handler that is to run still ends the call
// with EINTR: the result put in says so to the kernel.
//
// After a handler has returned there is no system call number in the registers, so that the
// EINTR of a real signal is not taken for ours.
// Source: handle_signal and arch_do_signal_or_restart in linux/arch/x86/kernel/signal.c.
func (l *Sampler) repair(w *Watch, c *Copy, sig int) bool {
	in, result, _ := c.inCall()
	if !l.opt.RepairEINTR || !l.ourTrap(sig) || c.regs.Arch != regs.AMD64 || c.size != regs.AMD64.NoteSize ||
		!in || result != -int64(unix.EINTR) || !waitsForEver(c) || !l.bySyscall(w, c) {
		return false
	}
	return l.writeResult(w.tid, restartNoHand)
}

// ourTrap reports whether the thread is stopped because we interrupted it: PTRACE_EVENT_STOP with SIGTRAP.
func (l *Sampler) ourTrap(sig int) bool {
	const eventStop = 128 // PTRACE_EVENT_STOP
	return sig == 0 && l.info.Status() == int32(unix.SIGTRAP)|eventStop<<8
}

// waitsForEver reports whether the call of c is one that returns EINTR when it is stopped and
// that has no limit of time.
func waitsForEver(c *Copy) bool {
	a := &c.call.Args
	switch c.call.Number { // of linux/arch/x86/entry/syscalls/syscall_64.tbl
	case 232, 281: // epoll_wait, epoll_pwait: milliseconds, negative for none
		return int32(a[3]) < 0
	case 441, 220: // epoll_pwait2, semtimedop: a timespec
		return a[3] == 0
	case 128: // rt_sigtimedwait
		return a[2] == 0
	case 208: // io_getevents
		return a[4] == 0
	case 65: // semop
		return true
	case 426: // io_uring_enter
		const extArg = 1 << 3 // IORING_ENTER_EXT_ARG: there may be a limit
		return a[3]&extArg == 0
	}
	return false
}

// bySyscall reports whether the call was made by the instruction of 64-bit programs: the
// numbers of int 0x80 mean other calls.
func (l *Sampler) bySyscall(w *Watch, c *Copy) bool {
	var code [2]byte
	n, err := w.p.memory.Load().quickRead(code[:], c.call.PC-2)
	return err == nil && n == 2 && code == [2]byte{0x0f, 0x05}
}

// writeResult changes the result register of the thread whose note was read last. It is the
// only place where a register of a target is written.
func (l *Sampler) writeResult(tid int, result int64) bool {
	const word = 10 // rax in struct user_regs_struct
	size := regs.AMD64.NoteSize
	regs.AMD64.Order.PutUint64(l.note[word*8:], uint64(result))
	iov := unix.Iovec{Base: &l.note[0]}
	iov.SetLen(size)
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), ptrace.NotePRStatus,
		uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e == 0 {
		l.writes++
	}
	return e == 0
}
