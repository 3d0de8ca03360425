//go:build linux

package tracer

import (
	"unsafe"

	"github.com/fpstack/fpstack/tracer/breakable"
	"golang.org/x/sys/unix"
)

// The requests below must be made by the thread that traces. They are raw system calls,
// which keep the Go scheduler out of the stop; of those that can sleep waitStop tells it, and
// the alarm ends seize.

// Numbers of linux/include/uapi/linux/ptrace.h and linux/elf.h.
const (
	notePRStatus = 1     // NT_PRSTATUS
	notePACMask  = 0x406 // NT_ARM_PAC_MASK
	noteBytes    = 512   // more than NT_PRSTATUS of any architecture
	tlsBytes     = 48    // of NT_386_TLS; NT_ARM_TLS has 8 or 16
	pidType      = 1     // P_PID of waitid
	waitKeep     = unix.WNOWAIT | unix.WSTOPPED | unix.WEXITED | unix.WALL
	waitReap     = unix.WEXITED | unix.WNOHANG | unix.WALL
	childExited  = 1 // CLD_EXITED
	childKilled  = 2 // CLD_KILLED
	childDumped  = 3 // CLD_DUMPED
	childTrapped = 4 // CLD_TRAPPED
	childStopped = 5 // CLD_STOPPED
)

// seize attaches to thread tid without stopping it and without any option. It sleeps while the process begins another
// program, until the alarm ends that with EINTR.
func seize(tid int) unix.Errno {
	_, e := breakable.Call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0)
	return e
}

// interrupt has a seized thread stop.
func interrupt(tid int) unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(tid), 0, 0, 0, 0)
	return e
}

// detach lets a stopped thread go. sig is the signal of its delivery stop, else 0.
func detach(tid, sig int) unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(sig), 0, 0)
	return e
}

// getRegset copies a register set of a stopped thread to buf and returns its length, which
// tells a 32-bit thread from a 64-bit one.
func getRegset(tid int, note uintptr, buf []byte) (int, unix.Errno) {
	iov := unix.Iovec{Base: &buf[0]}
	iov.SetLen(len(buf))
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), note,
		uintptr(unsafe.Pointer(&iov)), 0, 0)
	return int(iov.Len), e
}

// siginfo is siginfo_t, 128 bytes. Source: sigaction(2), asm-generic/siginfo.h.
type siginfo [32]int32

// wordSize is the size of an address of this program, bytes.
const wordSize = int(unsafe.Sizeof(uintptr(0)))

// Where waitid puts code, process id and status: the union is aligned to a pointer.
const (
	codeAt   = 2
	pidAt    = 3 + wordSize/8
	statusAt = pidAt + 2
)

// waitStop waits for a stop or the end of a traced thread and leaves it unconsumed
// (WNOWAIT): a delivery stop that was consumed would lose its signal if we were killed
// before we resume the thread. options may add WNOHANG.
func waitStop(tid, options int, info *siginfo) unix.Errno {
	info[pidAt] = 0
	args := waitKeep | options
	if options&unix.WNOHANG != 0 {
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(info)),
			uintptr(args), 0, 0)
		return e
	}
	_, _, e := unix.Syscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(info)), uintptr(args), 0, 0)
	return e
}

// waitRaw is waitStop unknown to the scheduler, for a wait that is short or is ended
// soon: nobody can take the place of this thread, which a return would have to wait for.
func waitRaw(tid int, info *siginfo) unix.Errno {
	info[pidAt] = 0
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(info)),
		uintptr(waitKeep), 0, 0)
	return e
}

// reap consumes the end of a traced thread. Until then it stays a zombie, and the end of
// its process is not reported to the parent. Any thread of ours may do it. It is false if the
// thread has not ended yet, or is not ours under this id.
//
// It checks before it takes: a wait for WEXITED alone takes the stops of a traced thread too.
// Source: wait_task_stopped in linux/kernel/exit.c asks for WUNTRACED only if not traced.
func reap(tid int) bool {
	var info siginfo
	if waitStop(tid, unix.WNOHANG, &info) != 0 || info[pidAt] == 0 || !ending(&info) {
		return false
	}
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(&info)), waitReap, 0, 0)
	return e == 0 && info[pidAt] != 0
}

// ending reports whether a thread has ended, of those that waitid reports.
func ending(info *siginfo) bool {
	switch info[codeAt] {
	case childExited, childKilled, childDumped:
		return true
	}
	return false
}
