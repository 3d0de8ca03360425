//go:build linux

package tracer

import (
	"runtime"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/tracer/osthread"
	"github.com/fpstack/fpstack/tracer/ptrace"

	"golang.org/x/sys/unix"
)

// engine stops threads, for dumps and recordings alike: it attaches, interrupts, waits for who has stopped,
// reads, and lets go: see tracee. A dump interrupts all threads of a process and holds them until all are copied, a
// rolling one does so for eight at a time; a recording interrupts those that run, and lets each go once it is copied.
//
// Its methods run on the OS thread whose alarm it has: only that one may make ptrace requests. What does
// not stop is given up by the end of that OS thread, which dirty asks for.
//
// A stop of several threads seizes all of them before it interrupts the first: PTRACE_SEIZE waits for an exec of the
// process, and nobody is to stand still meanwhile.
type engine struct {
	alarm   *osthread.Alarm
	urgency *osthread.Urgency
	reaper  reaper
	clock   time.Time // all durations count from here
	note    [ptrace.NoteBytes]byte
	info    ptrace.Siginfo // what the last wait reported
	armed   bool           // the alarm goes off again and again
	brief   bool           // the next wait is likely to be short: the scheduler need not know
	dirty   bool           // something may still be traced: the OS thread must end
}

func (e *engine) use(t *osthread.Thread, p reaper) {
	e.alarm, e.urgency, e.reaper = &t.Alarm, &t.Urgency, p
}

func (e *engine) now() time.Duration { return time.Since(e.clock) }

const anyThread = 0

// wait waits until thread tid, or anyThread that this OS thread traces, has stopped or ended, as info then shows;
// else, when until is past or the alarm goes off, info has no process id, or the error is EINTR. It does not
// consume what it shows.
func (e *engine) wait(tid int, until time.Duration) unix.Errno {
	left := until - e.now()
	if left <= 0 {
		return e.poll(tid)
	}
	if !e.armed {
		e.alarm.Set(left, osthread.AlarmPeriod) // again and again: it may go off before the wait begins
	}
	errno := e.waitid(tid, 0)
	e.brief = false // what has lasted for a while may last on: the scheduler needs what we occupy
	return errno
}

// poll is wait that returns at once.
func (e *engine) poll(tid int) unix.Errno { return e.waitid(tid, unix.WNOHANG) }

func (e *engine) waitid(tid, options int) unix.Errno {
	if tid != anyThread {
		if options == 0 && e.brief {
			return ptrace.WaitRaw(tid, &e.info)
		}
		return ptrace.WaitStop(tid, options, &e.info)
	}
	return ptrace.WaitAny(options, &e.info)
}

// Nap lets d pass; a signal ends it early. Go's scheduler does not know of it, if it has another CPU to go on: that
// would wake the watching thread of the runtime (sysmon), which looks around every 20 us and takes as much CPU time as
// sampling does.
func Nap(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	if runtime.GOMAXPROCS(0) == 1 {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
		return
	}
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
}

// arm lets the alarm go off from now on, each period.
func (e *engine) arm() {
	if !e.armed {
		e.alarm.Set(osthread.AlarmPeriod, osthread.AlarmPeriod)
		e.armed = true
	}
}

// disarm ends the alarm, also one that was set for a single wait.
func (e *engine) disarm() {
	e.alarm.Set(0, 0)
	e.armed = false
}
