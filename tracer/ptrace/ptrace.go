//go:build linux

// Package ptrace makes the requests of ptrace(2) and waitid(2) that a stop is made of, each a system call or two.
//
// They must be made by the OS thread that traces, see package osthread. They are raw system calls, which keep the Go
// scheduler out of the stop; of those that can sleep [WaitStop] and [WaitAny] tell it, and the alarm of the OS thread
// ends [Seize].
//
// It keeps no state of a thread: what is seized, interrupted, stopped is package tracer's to know.
//
// Sources: ptrace(2), waitid(2), linux/kernel/ptrace.c, linux/kernel/exit.c.
package ptrace

import (
	"unsafe"

	"github.com/fpstack/fpstack/tracer/breakable"
	"golang.org/x/sys/unix"
)

// Numbers of linux/include/uapi/linux/ptrace.h and linux/elf.h.
const (
	NotePRStatus = 1     // NT_PRSTATUS
	NotePACMask  = 0x406 // NT_ARM_PAC_MASK
	NoteBytes    = 512   // more than NT_PRSTATUS of any architecture
	TLSBytes     = 48    // of NT_386_TLS; NT_ARM_TLS has 8 or 16
	pidType      = 1     // P_PID of waitid
	waitKeep     = unix.WNOWAIT | unix.WSTOPPED | unix.WEXITED | unix.WALL
	waitReap     = unix.WEXITED | unix.WNOHANG | unix.WALL
	childExited  = 1 // CLD_EXITED
	childKilled  = 2 // CLD_KILLED
	childDumped  = 3 // CLD_DUMPED
	childTrapped = 4 // CLD_TRAPPED
	childStopped = 5 // CLD_STOPPED
)

// Seize attaches to thread tid without stopping it and without any option. It sleeps while the process begins another
// program, until the alarm ends that with EINTR.
func Seize(tid int) unix.Errno {
	_, e := breakable.Call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0)
	return e
}

// Interrupt has a seized thread stop.
func Interrupt(tid int) unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(tid), 0, 0, 0, 0)
	return e
}

// Detach lets a stopped thread go. sig is the signal of its delivery stop, else 0.
func Detach(tid, sig int) unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(sig), 0, 0)
	return e
}

// GetRegset copies a register set of a stopped thread to buf and returns its length, which
// tells a 32-bit thread from a 64-bit one.
func GetRegset(tid int, note uintptr, buf []byte) (int, unix.Errno) {
	iov := unix.Iovec{Base: &buf[0]}
	iov.SetLen(len(buf))
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), note,
		uintptr(unsafe.Pointer(&iov)), 0, 0)
	return int(iov.Len), e
}

// Siginfo is siginfo_t, 128 bytes. Source: sigaction(2), asm-generic/siginfo.h.
type Siginfo [32]int32

// WordSize is the size of an address of this program, bytes.
const WordSize = int(unsafe.Sizeof(uintptr(0)))

// Where waitid puts code, process id and status: the union is aligned to a pointer.
const (
	codeAt   = 2
	pidAt    = 3 + WordSize/8
	statusAt = pidAt + 2
)

// PID is the thread that waitid reports, 0 if it reports none.
func (s *Siginfo) PID() int { return int(s[pidAt]) }

// Status is how the thread ended, or the signal of its stop, with the event above the lowest eight bits.
func (s *Siginfo) Status() int32 { return s[statusAt] }

// Stopped reports whether the thread has stopped.
func (s *Siginfo) Stopped() bool { return s[codeAt] == childTrapped || s[codeAt] == childStopped }

// Ended reports whether the thread has ended.
func (s *Siginfo) Ended() bool {
	switch s[codeAt] {
	case childExited, childKilled, childDumped:
		return true
	}
	return false
}

// WaitStop waits for a stop or the end of a traced thread and leaves it unconsumed
// (WNOWAIT): a delivery stop that was consumed would lose its signal if we were killed
// before we resume the thread. options may add WNOHANG.
func WaitStop(tid, options int, info *Siginfo) unix.Errno {
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

// WaitRaw is [WaitStop] unknown to the scheduler, for a wait that is short or is ended
// soon: nobody can take the place of this thread, which a return would have to wait for.
func WaitRaw(tid int, info *Siginfo) unix.Errno {
	info[pidAt] = 0
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(info)),
		uintptr(waitKeep), 0, 0)
	return e
}

// WaitAny is [WaitStop] for whatever this OS thread traces: what others of ours have started or traced is not waited
// for.
func WaitAny(options int, info *Siginfo) unix.Errno {
	const all = 0 // P_ALL
	info[pidAt] = 0
	args := uintptr(waitKeep | unix.WNOTHREAD | options)
	if options&unix.WNOHANG != 0 {
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(info)), args, 0, 0)
		return e
	}
	_, _, e := unix.Syscall6(unix.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(info)), args, 0, 0)
	return e
}

// Reap consumes the end of a traced thread. Until then it stays a zombie, and the end of
// its process is not reported to the parent. Any thread of ours may do it. It is false if the
// thread has not ended yet, or is not ours under this id.
//
// It checks before it takes: a wait for WEXITED alone takes the stops of a traced thread too.
// Source: wait_task_stopped in linux/kernel/exit.c asks for WUNTRACED only if not traced.
func Reap(tid int) bool {
	var info Siginfo
	if WaitStop(tid, unix.WNOHANG, &info) != 0 || info[pidAt] == 0 || !info.Ended() {
		return false
	}
	_, _, e := unix.RawSyscall6(unix.SYS_WAITID, pidType, uintptr(tid), uintptr(unsafe.Pointer(&info)), waitReap, 0, 0)
	return e == 0 && info[pidAt] != 0
}
