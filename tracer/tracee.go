//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/tracer/ptrace"

	"golang.org/x/sys/unix"
)

// phase is how far we are with a thread.
type phase uint8

const (
	listed   phase = iota // not seized
	running               // seized
	stopped               // seized, stopped, and its wait status known
	released              // detached
	ended                 // has ended, or is no longer what we seized
	refused               // cannot be seized
)

// tracee is one thread on its way through a stop, of a dump or a recording: attach, interrupt, classify what a wait
// reported, release. All durations count from the clock of the engine.
type tracee struct {
	p           *Process
	tid         int
	phase       phase
	traced      bool          // by us, or it may be
	signal      int           // of its delivery stop, handed back at DETACH; 0 at any other stop
	job         bool          // it is stopped by job control
	interrupted time.Duration // when it was interrupted, 0 before
	freed       time.Duration // when it had been let go
}

// reaper reaps those of the threads that an engine has seized which have ended.
type reaper interface {
	// reapEnded consumes the ends of those that have ended, as an exec in their process waits for that. It returns how
	// many there were.
	reapEnded() int
}

// attach seizes t, which goes on running. It fails with ErrNoThread, ErrExec, *ExecutingError after bound, or why the
// kernel refused. A thread that is ending is refused like one that we may not trace, and after an exec its id may
// belong to a living one a moment later: so it is tried again.
func (e *engine) attach(t *tracee, tries int, bound time.Duration) error {
	for try := 0; ; try++ {
		errno := e.seize(t.tid, bound)
		switch {
		case errno == 0:
			t.phase, t.traced = running, true
			return nil
		case errno == unix.EINTR:
			return &ExecutingError{PID: t.p.pid, Waited: bound}
		case errno == unix.ESRCH:
			return ErrNoThread
		case t.p.Replaced():
			return ErrExec // what we hold may have taken over this id
		case !t.p.present(t.tid):
			return ErrNoThread
		}
		err := t.p.refusal(t.tid, errno)
		if _, traced := err.(*TracedError); traced || try >= tries {
			return err
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

// attachTries is how often attach tries again.
const attachTries = 3

// seize attaches to a thread. It waits while the process begins another program: no longer than bound, to a period of
// the alarm. That exec may wait for us: it goes on once all other threads of its process are reaped, those too that we
// have seized. Once some were it is given the time anew.
//
// Source: de_thread in linux/fs/exec.c, ptrace_attach in linux/kernel/ptrace.c.
func (e *engine) seize(tid int, bound time.Duration) unix.Errno {
	e.arm()
	errno := ptrace.Seize(tid)
	for until := e.now() + bound; errno == unix.EINTR; errno = ptrace.Seize(tid) {
		if e.reaper.reapEnded() > 0 {
			until = e.now() + bound
		} else if e.now() >= until {
			return errno
		}
	}
	return errno
}

// interrupt has a seized thread stop. It has ended if that is no longer there.
func (e *engine) interrupt(t *tracee) {
	t.interrupted = e.now()
	if ptrace.Interrupt(t.tid) != 0 {
		e.lose(t)
	}
}

// classify takes over what the last wait reported of a seized thread.
func (e *engine) classify(t *tracee) {
	switch {
	case e.info.Ended():
		e.lose(t)
	case e.info.Stopped():
		t.phase, t.signal, t.job = stopped, deliverySignal(&e.info), ofJobControl(&e.info)
	}
}

// release lets a stopped thread go. It has ended if that is no longer there.
func (e *engine) release(t *tracee) {
	if ptrace.Detach(t.tid, t.signal) != 0 {
		e.lose(t)
		return
	}
	t.phase, t.traced, t.freed = released, false, e.now()
}

// lose marks a seized thread that is no longer there, and consumes its end, as an exec in the process may wait for
// that. It was killed, or an exec of another thread took its place: then what we trace now has another id, and only
// the end of the OS thread is sure to let it go. The end of a leader belongs to its parent, also if that is us: it too
// is given back by the end of the OS thread. It may be called again.
func (e *engine) lose(t *tracee) {
	t.phase = ended
	t.reap()
}

// reap consumes the end of a seized thread that is no leader, and reports whether it did.
func (t *tracee) reap() bool {
	if !t.traced || t.tid == t.p.pid || !ptrace.Reap(t.tid) {
		return false
	}
	t.phase, t.traced = ended, false
	return true
}

// ofJobControl reports whether a stop is one of job control: PTRACE_EVENT_STOP with another signal than SIGTRAP.
func ofJobControl(info *ptrace.Siginfo) bool {
	status := info.Status()
	return status>>8 != 0 && unix.Signal(status&0xff) != unix.SIGTRAP
}

// deliverySignal is the signal to hand back at the release of a stopped thread. Without
// any ptrace option three things can be reported: the stop we caused and a stop of job control,
// which both come as PTRACE_EVENT_STOP and are left with signal 0, and a delivery stop,
// whose signal must be handed back.
// Source: ptrace(2), "Stopped states"; linux/kernel/signal.c.
func deliverySignal(info *ptrace.Siginfo) int {
	if status := info.Status(); status>>8 == 0 {
		return int(status)
	}
	return 0
}
