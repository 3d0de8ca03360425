//go:build linux

package supervise

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Terminal is our controlling terminal. It listens to one process group at a time, the one in the foreground.
// A nil *Terminal is none: nothing is in its foreground.
//
// Source: tcsetpgrp(3), termios(3) on SIGTTOU.
type Terminal struct {
	fd   int
	lent bool // another group has it from us
}

// OpenTerminal opens the controlling terminal, nil if there is none. The command does not inherit it.
func OpenTerminal() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &Terminal{fd: fd}
}

// Close closes it.
func (t *Terminal) Close() {
	if t != nil {
		unix.Close(t.fd)
	}
}

// Foreground is the group that the terminal listens to, 0 if that is not known.
func (t *Terminal) Foreground() int {
	if t == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// Ours reports whether our own process group is in the foreground.
func (t *Terminal) Ours() bool { return t.Foreground() == syscall.Getpgrp() }

// HungUp reports whether the terminal is gone: it was closed, or its connection was lost.
// Source: tty_io.c of Linux: hung_up_tty_ioctl answers EIO.
func (t *Terminal) HungUp() bool {
	if t == nil {
		return false
	}
	_, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return errors.Is(err, unix.EIO)
}

// Shared reports whether others of our process group, which is in the foreground, may use the terminal: a pager behind
// a pipe. Our parents in the group wait for us.
func (t *Terminal) Shared() bool {
	if !t.Ours() {
		return false
	}
	parents := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !parents[pid]; {
		parents[pid] = true
		st, err := procfs.ReadStat("/proc", pid)
		if err != nil {
			break
		}
		pid = st.Parent
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, ok := procfs.Number([]byte(e.Name()))
		if !ok || parents[pid] {
			continue
		}
		if st, err := procfs.ReadStat("/proc", pid); err == nil && st.Group == syscall.Getpgrp() && st.State != 'Z' {
			return true
		}
	}
	return false
}

// Give puts a process group into the foreground. Who is in the background may do that only while it blocks SIGTTOU;
// that is blocked for one thread and for this moment, as a command that is started would inherit it.
func (t *Terminal) Give(group int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, before unix.Sigset_t
	addSignal(&ttou, unix.SIGTTOU)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &before); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	t.lent = group != syscall.Getpgrp()
	return os.NewSyscallError("tcsetpgrp", unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group))
}

// addSignal adds s to set, whose words are as wide as a pointer.
func addSignal(set *unix.Sigset_t, s syscall.Signal) {
	bits := 32 << (^uint(0) >> 63)
	set.Val[(int(s)-1)/bits] |= 1 << ((int(s) - 1) % bits)
}

// TakeFrom puts our group into the foreground if that of the command is there, or, where we gave the terminal away,
// one that is empty. Another one, as that of a shell that went on, keeps the terminal, and so does a job of that shell
// which has just ended: the shell is about to take it. It reports whether the command's group had it.
func (t *Terminal) TakeFrom(c *Command) bool {
	group := t.Foreground()
	had := group != 0 && group == c.PID()
	if had || t != nil && t.lent && group > 0 && syscall.Kill(-group, 0) == syscall.ESRCH {
		t.Give(syscall.Getpgrp())
	}
	return had
}
