//go:build linux

// Package breakable makes system calls that a signal ends even where the kernel would begin them again.
//
// PTRACE_SEIZE waits for an exec of the target, which may wait for a file system that is gone or for a scanner, and
// returns ERESTARTNOINTR when a signal comes: the kernel steps back to the instruction of the call, runs the handler,
// and enters the call once more. The handler here moves the thread past that instruction, so that the call ends with
// EINTR. No other way out of the call exists but the end of the thread.
//
// Source: ptrace_attach in linux/kernel/ptrace.c; signal(7); handle_signal in linux/arch/*/kernel/signal.c; the layouts
// of ucontext_t in linux/arch/*/include/uapi/asm/{ucontext,sigcontext}.h.
package breakable

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handlerPC is the address of the handler, and enterPC that of the instruction at which it breaks a call. They are set
// in assembly: the address of a function in Go is not that of its code.
var handlerPC uintptr

// invoke makes a system call. It returns what the kernel does, a negative error number for a failure.
//
//go:noescape
func invoke(trap, a1, a2, a3, a4 uintptr) uintptr

// Call makes a system call with up to four arguments. It fails with EINTR if a signal that Handle was called for comes
// to the calling OS thread before the call has done something, also where the kernel would begin it again; a signal
// that came before the call does not end it. The Go scheduler does not know of the call, as with unix.RawSyscall: the
// caller sees to it that such a signal comes soon.
func Call(trap, a1, a2, a3, a4 uintptr) (uintptr, unix.Errno) {
	const maxErrno = 4095
	r := invoke(trap, a1, a2, a3, a4)
	if r > ^uintptr(maxErrno) {
		return ^uintptr(0), unix.Errno(-r)
	}
	return r, 0
}

// kernelSigset is the size of a signal set for the kernel, bytes.
const kernelSigset = 8

const saRestart = 0x10000000 // SA_RESTART

var errNoHandler = errors.New("the runtime of Go has no handler for the signal")

// Handle makes sig a signal that ends a Call, and any other system call that the kernel does not begin again. It takes
// the place of the handler of Go's runtime, whose stack and mask stay; os/signal gets no such signal any more, and
// undoes this where it is asked for it. It may be repeated, which costs a system call.
//
// struct sigaction of the kernel begins, on all architectures that regs knows, with the handler and the flags, a word
// each. Source: linux/include/linux/signal_types.h, rt_sigaction(2).
func Handle(sig unix.Signal) error {
	var action [8]uintptr
	at := uintptr(unsafe.Pointer(&action))
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, at, kernelSigset, 0, 0); e != 0 {
		return e
	}
	const ignored = 1 // SIG_IGN; SIG_DFL is 0
	if action[0] <= ignored {
		return errNoHandler
	}
	if action[0] == handlerPC && action[1]&saRestart == 0 {
		return nil
	}
	action[0], action[1] = handlerPC, action[1]&^saRestart
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), at, 0, kernelSigset, 0, 0); e != 0 {
		return e
	}
	return nil
}
