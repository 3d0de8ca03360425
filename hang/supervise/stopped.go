//go:build linux

package supervise

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Stopped returns the signal by which job control has stopped the command, 0 if it is not stopped. While a thread of
// this process traces the command that may be a stop of the tracer's, which stays where it is: call it only when nobody
// does.
func (c *Command) Stopped() syscall.Signal {
	st, err := procfs.ReadStat("/proc", c.PID())
	if err != nil || st.State != 'T' {
		return 0
	}
	var info unix.Siginfo
	const peek = unix.WSTOPPED | unix.WNOHANG | unix.WNOWAIT // an end is not waited for: reap does that
	if unix.Waitid(unix.P_PID, c.PID(), &info, peek, nil) != nil || info.Signo == 0 {
		return syscall.SIGSTOP
	}
	// Behind three words of 32 bits, and one more where pointers are wider, come si_pid, si_uid and si_status.
	// Source: sigaction(2), linux/include/uapi/asm-generic/siginfo.h.
	at := 3*4 + 2*4
	if unsafe.Sizeof(uintptr(0)) == 8 {
		at += 4
	}
	return syscall.Signal(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
}

// Suspend stops our whole process group, as the shell would have stopped it with the command, and returns when goOn has
// a value: SIGCONT came. It returns soon where the kernel does not stop us, as process 1 of a pid namespace.
func Suspend(goOn <-chan os.Signal) {
	const unstopped = time.Second
	select { // one that came before
	case <-goOn:
	default:
	}
	stopGroup(syscall.SIGSTOP)
	select {
	case <-goOn:
	case <-time.After(unstopped):
	}
}

// stopGroup sends our process group a signal that stops it, while none of our threads starts a program. The child is
// in our group until it has executed that: stopped before, it holds the thread that waits for it in vfork(2), our own
// stop is never whole, and no shell hears of it.
//
// Source: Linux's kernel/fork.c, wait_for_vfork_done; Go's package syscall, forkExec, on ForkLock.
func stopGroup(s syscall.Signal) {
	const patience = time.Second // a child that something else has stopped does not go on before we do
	for begin := time.Now(); !syscall.ForkLock.TryRLock(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			syscall.Kill(0, s)
			return
		}
	}
	defer syscall.ForkLock.RUnlock()
	syscall.Kill(0, s)
}

// ShellWatches reports whether a shell does job control for us, which lets us go on when we are stopped: we have a
// terminal, and above us in our session is a process of another group that does not let Ctrl-Z stop itself. A script, a
// CI system and timeout(1) are no such shells.
//
// Source: the GNU C library manual, "Initializing the Shell": a shell with job control ignores SIGTSTP.
func ShellWatches() bool {
	st, err := procfs.ReadStat("/proc", os.Getpid())
	if err != nil || st.Terminal == 0 {
		return false
	}
	shell, ok := aboveGroup(os.Getpid())
	return ok && heeds(shell, syscall.SIGTSTP)
}
