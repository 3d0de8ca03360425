//go:build linux

package supervise

import (
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Killed is a process that SIGTERM or SIGKILL ended.
type Killed struct {
	PID    int
	Name   string
	Signal syscall.Signal
	Seen   time.Time // when that was noticed: up to a period later
}

// Ends notices which processes of a tree are ended by SIGTERM or SIGKILL, also those that others reap. Who sent the
// signal is not known, a CI system that begins with the leaves or a test that ends its server. Before Linux 6.15 it
// notices nothing. It is for one goroutine.
type Ends struct {
	held   map[procfs.Identity]*member
	killed []Killed
	next   time.Time // before that nothing is read
}

// member is a process that lives, or was not reaped when it was last looked at.
type member struct {
	fd    int // pidfd
	name  string
	ended int // checks since it ended
}

const (
	mostMembers = 256 // processes that are watched
	mostKilled  = 16  // that are remembered, the last ones
	endPeriod   = time.Second
	endCost     = 1000 // a check takes a thousandth of the time at most
	lateReap    = 5    // checks until nobody will tell how a process ended
)

// Check reads what became of the processes known, and who is there now.
func (e *Ends) Check(now time.Time, list func() []int) {
	if now.Before(e.next) {
		return
	}
	began := time.Now()
	e.Ended(now)
	for _, pid := range list() {
		e.add(pid)
	}
	e.next = now.Add(max(endPeriod, endCost*time.Since(began)))
}

// add begins to watch a process.
func (e *Ends) add(pid int) {
	st, err := procfs.ReadStat("/proc", pid)
	id := procfs.Identity{PID: pid, Start: st.Start}
	if err != nil || e.held[id] != nil || len(e.held) >= mostMembers {
		if m := e.held[id]; m != nil {
			m.name = st.Comm // it may have executed another program
		}
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	if again, err := procfs.ReadStat("/proc", pid); err != nil || again.Start != st.Start {
		unix.Close(fd)
		return
	}
	if e.held == nil {
		e.held = map[procfs.Identity]*member{}
	}
	e.held[id] = &member{fd: fd, name: st.Comm}
}

// Ended reads what became of the processes known, now.
func (e *Ends) Ended(now time.Time) {
	for id, m := range e.held {
		poll := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 0); err != nil || n == 0 {
			continue
		}
		status, known := exitOf(m.fd)
		if m.ended++; !known && m.ended < lateReap {
			continue // nobody has reaped it
		}
		unix.Close(m.fd)
		delete(e.held, id)
		if s := status.Signal(); known && status.Signaled() && (s == syscall.SIGTERM || s == syscall.SIGKILL) {
			e.killed = append(e.killed, Killed{PID: id.PID, Name: m.name, Signal: s, Seen: now})
		}
	}
	slices.SortStableFunc(e.killed, func(a, b Killed) int { return a.Seen.Compare(b.Seen) })
	e.killed = e.killed[max(0, len(e.killed)-mostKilled):]
}

// Killed are those that were ended so, in the order in which that was seen. The caller owns the list.
func (e *Ends) Killed() []Killed { return slices.Clone(e.killed) }

// Close forgets all.
func (e *Ends) Close() {
	for id, m := range e.held {
		unix.Close(m.fd)
		delete(e.held, id)
	}
}

// pidfdInfo is struct pidfd_info in its first form, 64 bytes. Source: linux/include/uapi/linux/pidfd.h.
type pidfdInfo struct {
	mask, cgroup uint64
	ids          [11]uint32
	exit         int32
}

const (
	getPidfdInfo = 0xc040ff0b // PIDFD_GET_INFO, _IOWR(0xff, 11, 64 bytes)
	infoExit     = 1 << 3     // PIDFD_INFO_EXIT: it was reaped, and exit is set; since Linux 6.15
)

// exitOf is the status of a process that was reaped, whoever did that.
func exitOf(fd int) (status syscall.WaitStatus, ok bool) {
	info := pidfdInfo{mask: infoExit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getPidfdInfo, uintptr(unsafe.Pointer(&info)))
	return syscall.WaitStatus(info.exit), errno == 0 && info.mask&infoExit != 0
}
