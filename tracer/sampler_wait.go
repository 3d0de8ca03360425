//go:build linux

package tracer

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

const (
	// spinTime is how long we check again and again whether a thread has stopped before we sleep. A thread that has
	// its CPU stops within some 5 to 25 us; one that has none may take milliseconds.
	spinTime = 60 * time.Microsecond
	// coolTime is after how much rest our CPU, or the one under a virtual one, has forgotten what
	// a sample needs.
	coolTime = 300 * time.Microsecond
)

// elsewhere reports whether the thread ran last on another CPU than ours: then we may spin. On ours
// it stops only once we sleep.
func (l *Sampler) elsewhere(w *Watch) bool {
	if l.cpu != 0 && l.stops { // moved to it
		return false
	}
	var here uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&here)), 0, 0); e != 0 {
		return false
	}
	if w.stat.fd < 0 {
		_ = w.stat.open(w) // it is read at each sample now
	}
	b, err := w.stat.read(w)
	if err != nil {
		return false
	}
	cpu, ok := processor(b)
	return ok && cpu != int(here)
}

// warm does beforehand, if we have rested for long, what we are going to do while the thread
// stopped: for the first time after a rest all of it takes several times as long. What it reads
// of the stack is overwritten. Like a copy it reads nothing for which somebody else may have to
// bring a page.
func (l *Sampler) warm(w *Watch, c *Copy, table *maps.Table) {
	if !w.window.quick || w.window.size == 0 || w.windowOf != table || len(l.interrupted) > 0 ||
		time.Since(l.clock)-l.ended < coolTime {
		return // or another was interrupted: it may be stopped
	}
	_, _ = w.p.memory.Load().quickRead(c.room(w.window.size), w.window.start)
	_ = c.registers.read(w.p, w.tid, &l.note)         // not traced yet: ESRCH
	_ = ptrace.WaitStop(w.tid, unix.WNOHANG, &l.info) // ECHILD
}

// shortSlice is the least that sched(7) takes for the slice of a thread.
const shortSlice = 100 * time.Microsecond

// wakeSoon has the calling OS thread run soon after it wakes, also if a thread that is sampled has
// the CPU: a sample that waits until that one sleeps has missed what it did. A short slice, which
// kernels know since 6.12, asks for no privilege; others ignore it.
// Source: sched_setattr(2), linux/kernel/sched/fair.c: PREEMPT_SHORT; PR_SET_TIMERSLACK(2const).
func wakeSoon() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Runtime = uint64(shortSlice)
	_ = unix.SchedSetAttr(0, attr, 0)
}

// calmSlack is how late timers of the runtime's own threads may be, nanoseconds.
const calmSlack = "4000000"

// calmOthers gives the other OS threads of this program coarse timers, and those that they make: the runtime's
// watching thread (sysmon) looks around every 20 us for a while after each sleep of ours. It takes CAP_SYS_NICE;
// without it that thread goes on as it does.
// Source: proc_pid_timerslack_ns(5), which takes the id of any thread.
func calmOthers() {
	fd, err := procfile.Open(unix.AT_FDCWD, "/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	tids, _ := (&procfile.List{FD: fd}).IDs(nil)
	for _, tid := range tids {
		if tid == unix.Gettid() {
			continue
		}
		slack := "/proc/" + strconv.Itoa(tid) + "/timerslack_ns"
		if at, err := procfile.Open(unix.AT_FDCWD, slack, unix.O_WRONLY); err == nil {
			_, _ = unix.Write(at, []byte(calmSlack))
			unix.Close(at)
		}
	}
}
