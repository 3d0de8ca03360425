//go:build linux

package osthread

import (
	"unsafe"

	"github.com/fpstack/fpstack/tracer/breakable"
	"golang.org/x/sys/unix"
)

// The alarm sends kickSignal, which ends the system calls of the tracer thread. Where it has no timer it sends
// plainSignal, which is sent whatever the limit of pending signals is, as it is no real-time signal (SIGSTKFLT, which
// no kernel sends).
const (
	kickSignal  = unix.Signal(63)
	plainSignal = unix.Signal(16)
)

// kernelSigset is the size of a signal set for the kernel, bytes.
const kernelSigset = 8

const saNoCLDStop = 0x00000001 // SA_NOCLDSTOP

// PrepareSignals lets the alarm end system calls, and keeps the kernel from sending
// SIGCHLD for each stop of a traced thread, which costs a microsecond each. Children that
// end are still reported. It is repeated at every stop because signal.Notify undoes it.
func PrepareSignals() {
	_ = breakable.Handle(kickSignal) // the runtime has a handler for every signal
	changeFlags(unix.SIGCHLD, saNoCLDStop, 0)
}

// unblockKick lets the signals of the alarm come to the calling OS thread, which keeps them. A crash handler with a
// full sa_mask, or a daemon that waits by sigwait(3), starts us with every signal blocked. The runtime gives each new
// thread, and the processes that it starts, the mask that this program inherited: both stay as they are.
func unblockKick() {
	set := uint64(1)<<(kickSignal-1) | uint64(1)<<(plainSignal-1)
	const unblock = 1 // SIG_UNBLOCK of asm-generic/signal-defs.h
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&set)), 0, kernelSigset, 0, 0)
}

// changeFlags rewrites the flags of a signal's action and nothing else.
//
// struct sigaction of the kernel begins, on all architectures that regs knows, with the
// handler and the flags, a word each. The runtime's handler stays where it is.
// Source: linux/include/linux/signal_types.h, rt_sigaction(2).
func changeFlags(sig unix.Signal, set, clear uintptr) {
	var action [8]uintptr
	at := unsafe.Pointer(&action)
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(at), kernelSigset, 0, 0); e != 0 {
		return
	}
	flags := action[1]&^clear | set
	if action[0] <= 1 || flags == action[1] { // SIG_DFL and SIG_IGN stay as they are
		return
	}
	action[1] = flags
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(at), 0, kernelSigset, 0, 0)
}
