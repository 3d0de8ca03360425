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

// Ending is how the command and all that runs below this process are ended.
type Ending struct {
	// First is sent to all, SIGKILL too; 0: SIGTERM.
	First syscall.Signal
	// Alone says that the command alone gets First, as who sent it wanted. When it has ended, or after a quarter of
	// Patience, all get SIGTERM.
	Alone bool
	// Patience is how long they may live on before SIGKILL.
	Patience time.Duration
	// Hurry is closed when that is over.
	Hurry <-chan struct{}
	// Sent is told which signal is sent to how many; nil for nobody.
	Sent func(s syscall.Signal, to []int)
}

// End ends the command and all that runs below this process, in whatever group or session. It returns when all have
// ended and were reaped, or with those that SIGKILL did not end.
//
// A process that is stopped is let go on, as it could not end otherwise. One that begins while we do this ends too: it
// is our child as soon as its parent has ended.
func (o *Orphans) End(c *Command, e *Ending) (left []int) {
	if e.First == 0 {
		e.First = syscall.SIGTERM
	}
	late := time.NewTimer(e.Patience)
	defer late.Stop()
	if e.Alone && !ended(c) {
		e.tell(e.First, []int{c.PID()})
		c.Signal(e.First)
		select {
		case <-c.Ended():
		case <-time.After(e.Patience / 4):
		case <-e.Hurry:
			return o.kill(c, e)
		}
		e.First = syscall.SIGTERM
	}
	if !o.allEnded(c) {
		e.tell(e.First, o.Below())
		o.signalAll(c, e.First)
		o.signalAll(c, syscall.SIGCONT)
	}
	for pause := time.Millisecond; !o.allEnded(c); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-late.C:
			return o.kill(c, e)
		case <-e.Hurry:
			return o.kill(c, e)
		case <-time.After(pause):
		}
	}
	return nil
}

func (e *Ending) tell(s syscall.Signal, pids []int) {
	if e.Sent != nil && len(pids) > 0 {
		e.Sent(s, pids)
	}
}

func ended(c *Command) bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// kill ends the same by SIGKILL. Where we may, in a cgroup of its own: what is in there cannot start a process that
// gets away, and ends whoever it belongs to.
func (o *Orphans) kill(c *Command, e *Ending) (left []int) {
	if e.First != syscall.SIGKILL {
		e.tell(syscall.SIGKILL, o.Below())
	}
	group := newCgroup()
	defer group.remove()
	begin := time.Now()
	for pause := time.Millisecond; !o.allEnded(c); pause = min(2*pause, 50*time.Millisecond) {
		group.kill(o.Below)
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
	return len(o.Living()) == 0 && ended(c)
}

// signalAll sends s to the command's group and to each process below us that is not in it. An id that was given to
// another process meanwhile does not harm that one: the file descriptor of a process stays that process's, and its
// parent is read when it is open.
func (o *Orphans) signalAll(c *Command, s syscall.Signal) {
	grouped := c.group && c.SignalGroup(s) == nil
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
