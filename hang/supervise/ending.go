//go:build linux

package supervise

import (
	"os"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// giveUp is how long processes are waited for that SIGKILL does not end: in an uninterruptible sleep, or not ours.
const giveUp = 10 * time.Second

// End ends the command and all that runs below this process: by SIGTERM, after patience by SIGKILL, at once when hurry
// is closed. It returns when all have ended and were reaped, or with those that SIGKILL did not end.
//
// A process that is stopped is let go on, as it could not end otherwise. One that begins while we do this ends too: it
// is our child as soon as its parent has ended.
func (o *Orphans) End(c *Command, patience time.Duration, hurry <-chan struct{}) (left []int) {
	o.signalAll(c, syscall.SIGTERM)
	o.signalAll(c, syscall.SIGCONT)
	late := time.NewTimer(patience)
	defer late.Stop()
	for pause := time.Millisecond; !o.allEnded(c); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-late.C:
			return o.Kill(c)
		case <-hurry:
			return o.Kill(c)
		case <-time.After(pause):
		}
	}
	return nil
}

// Kill ends the same by SIGKILL.
func (o *Orphans) Kill(c *Command) (left []int) {
	begin := time.Now()
	for pause := time.Millisecond; !o.allEnded(c); pause = min(2*pause, 50*time.Millisecond) {
		o.signalAll(c, syscall.SIGKILL)
		if time.Since(begin) > giveUp {
			return o.Below()
		}
		time.Sleep(pause)
	}
	return nil
}

// allEnded reaps what has ended, and reports whether nothing runs any more.
func (o *Orphans) allEnded(c *Command) bool {
	o.Reap()
	if len(o.Living()) > 0 {
		return false
	}
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// signalAll sends s to the command's group and to each process below us that is not in it. An id that was given to
// another process meanwhile does not harm that one: the file descriptor of a process stays that process's, and its
// parent is read when it is open.
func (o *Orphans) signalAll(c *Command, s syscall.Signal) {
	grouped := c.group && c.Signal(s) == nil
	ours := map[int]bool{os.Getpid(): true}
	for _, pid := range o.Below() {
		fd, err := unix.PidfdOpen(pid, 0)
		st, statErr := procfs.ReadStat("/proc", pid)
		if statErr == nil && ours[st.Parent] {
			ours[pid] = true
			switch {
			case grouped && st.Group == c.PID(): // it has it
			case err == nil:
				unix.PidfdSendSignal(fd, s, nil, 0)
			default: // before Linux 5.3
				syscall.Kill(pid, s)
			}
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}
