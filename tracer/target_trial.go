//go:build linux

package tracer

import (
	"errors"

	"golang.org/x/sys/unix"
)

// PtraceRefused reports whether the system call itself is refused to us, whatever its target, as
// a seccomp filter does. It asks to seize process 0, which is none: a kernel that takes
// the request says ESRCH.
func PtraceRefused() bool { return callRefused() != 0 }

func callRefused() unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 0, 0, 0, 0, 0)
	if e == unix.ESRCH {
		return 0
	}
	return e
}

// Try asks the kernel whether process pid may be inspected, without stopping it: it makes the
// system call in vain, and opens the process as [Open] does, which passes the same check as
// attaching. It fails like Open, or with a *KernelError.
func Try(pid int) error {
	if e := callRefused(); e != 0 {
		return &KernelError{Request: "PTRACE_SEIZE", Err: e}
	}
	p, err := Open(pid, Options{})
	if err != nil {
		return err
	}
	return p.Close()
}

// Lives reports whether process pid exists although /proc may not show it.
// Source: kill(2), signal 0.
func Lives(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
