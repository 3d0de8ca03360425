//go:build linux

package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ParentEnded returns a channel that is closed when the process has ended that started this one. A parent with id 1 is
// none: it ends with its namespace, and we with it.
//
// It is no signal (PR_SET_PDEATHSIG): that comes when the parent's thread ends, not when the parent does.
func ParentEnded() <-chan struct{} {
	ended := make(chan struct{})
	parent := os.Getppid()
	if parent <= 1 {
		return ended
	}
	pidfd, err := unix.PidfdOpen(parent, unix.PIDFD_NONBLOCK)
	if err != nil {
		pidfd = -1
	}
	go func() {
		defer close(ended)
		if os.Getppid() == parent && pidfd >= 0 {
			awaitReadable(pidfd, func() bool { return os.Getppid() != parent })
		}
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
	}()
	return ended
}

// awaitReadable returns when pidfd is readable and done. It closes pidfd.
func awaitReadable(pidfd int, done func() bool) {
	nonblock := syscall.SetNonblock(pidfd, true)
	f := os.NewFile(uintptr(pidfd), "pidfd")
	defer f.Close()
	if nonblock != nil {
		return
	}
	if conn, err := f.SyscallConn(); err == nil {
		conn.Read(func(uintptr) bool { return done() })
	}
}
