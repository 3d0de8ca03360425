//go:build linux

package supervise

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DieBy ends this process by signal s, as the command ended, so that who waits for us sees the same. No core is
// written: the command's own is there. With group our whole process group gets SIGINT or SIGQUIT, as it would have got
// it of the terminal without us: a script around us ends with us. It returns where the signal does not end a process,
// as one with id 1 of its pid namespace.
func DieBy(s syscall.Signal, group bool) {
	runtime.LockOSThread()
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	if s != syscall.SIGKILL {
		toDefault(s)
	}
	var set unix.Sigset_t
	addSignal(&set, s)
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil)
	if group && (s == syscall.SIGINT || s == syscall.SIGQUIT) {
		_ = syscall.Kill(0, s)
	}
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s)
}

// toDefault gives s its default action. Package signal cannot: a handler of Go's runtime stays, which shows stacks and
// exits with a status where s is that of a fault.
//
// All bytes of struct kernel_sigaction are 0 then: SIG_DFL is 0, and neither flags nor a mask are needed. It is no
// larger than this on any architecture. Source: rt_sigaction(2), linux/include/linux/signal_types.h.
func toDefault(s syscall.Signal) {
	const maskBytes = 8
	var none [16]uint64
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&none)), 0, maskBytes, 0, 0)
}
