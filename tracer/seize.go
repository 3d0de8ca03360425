//go:build linux

package tracer

import (
	"time"

	"golang.org/x/sys/unix"
)

// seizeNew attaches to the threads from index from on. It does not stop them.
func (s *stop) seizeNew(from int) {
	s.dog.reaping.Store(true)
	defer s.dog.reaping.Store(false)
	for i := from; i < len(s.threads) && s.ctx.Err() == nil && !s.exec; i++ {
		t := &s.threads[i]
		if t.phase != listed || t.worker || t.state == 'Z' {
			continue
		}
		switch e := s.attach(t.tid); {
		case e == 0:
			t.phase, t.held = running, true
			if t.tid != s.p.pid {
				s.dog.mayReap(t.tid)
			}
		case e != unix.ESRCH:
			if s.refusal == nil { // one is told for all
				s.refusal = s.p.refusal(t.tid, e)
			}
			t.phase, t.err = refused, s.refusal
		case t.tid == s.p.pid:
			t.state = 'Z' // a leader that has ended stays in the list
		default:
			t.phase = ended
			s.missing++
		}
	}
}

// attach seizes one thread; ESRCH says that it has ended. A thread that is ending is
// refused like one that we may not trace, and after an exec its id may belong to a living
// one a moment later: so it is tried again, unless another was refused already.
func (s *stop) attach(tid int) unix.Errno {
	for try := 0; ; try++ {
		e := seize(tid)
		switch {
		case e == 0 || e == unix.ESRCH:
			return e
		case s.memory.replaced(s.table.All()[0].Start):
			s.exec = true // what we seized may have taken over this id
			return unix.ESRCH
		case !s.p.present(tid):
			return unix.ESRCH
		case s.refusal != nil || try == 3:
			return e
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

// interrupt asks the seized threads from index from on to stop, those that run on a CPU
// last: they notice at once and would stand longest.
func (s *stop) interrupt(from int) {
	for i := from; i < len(s.threads); i++ {
		t := &s.threads[i]
		if t.phase != running || t.late {
			continue
		}
		t.asked = time.Since(s.clock)
		if interrupt(t.tid) != 0 {
			s.lost(t)
		}
	}
}

// lost marks a seized thread that is no longer there. It was killed, or an exec of another
// thread took its place: then what we trace now bears another id, and only the end of the
// tracer thread is sure to let it go.
func (s *stop) lost(t *tracee) { t.phase = ended }

// wait waits until the threads from index from on stand, the last one first: when it has
// stopped most others have. When nothing has happened for a while, those that have not
// stopped become stragglers.
func (s *stop) wait(from int) {
	s.progress()
	options := 0
	for i := len(s.threads) - 1; i >= from && s.ctx.Err() == nil; i-- {
		t := &s.threads[i]
		if t.phase != running || t.late {
			continue
		}
		if !s.waitFor(t, options) {
			t.late = true
			options = unix.WNOHANG // the time is over for the others too
		} else if options == 0 && i%16 == 0 {
			s.progress()
		}
	}
	if options != 0 && s.opt.Rolling {
		s.settle = settle / 10 // more of them may come, and each batch waits
	}
}

// progress sets the time until which the wait under way may last.
func (s *stop) progress() {
	s.bound = min(time.Since(s.clock)+s.settle, s.since+s.opt.MaxPause)
}

// waitFor waits for the stop or end of one thread. It is false if it has not stopped yet:
// at once with WNOHANG, else when the bound is past or ctx has ended, as the alarm lets us see.
func (s *stop) waitFor(t *tracee, options int) bool {
	for {
		var e unix.Errno
		if options == 0 {
			e = s.alarm.wait(t.tid, false, &s.info)
		} else {
			e = waitStop(t.tid, options, &s.info)
		}
		switch {
		case e == unix.EINTR:
			if s.ctx.Err() != nil || time.Since(s.clock) >= s.bound {
				return false
			}
		case e != 0: // ECHILD: reaped by the watchdog, or lost to an exec
			s.lost(t)
			return true
		case s.info[pidAt] == 0:
			return false
		default:
			t.classify(&s.info)
			if t.phase == ended && t.tid != s.p.pid && reap(t.tid) {
				t.held = false // an exec in the process waits for this
				s.missing++
			}
			return t.phase != running
		}
	}
}

// release lets every thread from index from on go that stands, the last one first, as
// threads that were running come last.
func (s *stop) release(from int) {
	for i := len(s.threads) - 1; i >= from; i-- {
		t := &s.threads[i]
		if t.phase != stopped {
			continue
		}
		if detach(t.tid, t.signal) != 0 {
			s.lost(t)
			continue
		}
		t.phase, t.held = released, false
		t.freed = time.Since(s.clock)
		s.end = max(s.end, t.freed)
	}
}

// reapEnded consumes the ends of threads that were seized, as an exec in the process
// waits for it. The end of a leader is left to the end of the tracer thread, which gives it
// back to the parent, also if that is us.
func (s *stop) reapEnded() {
	for i := range s.threads {
		t := &s.threads[i]
		if t.held && t.phase == ended && t.tid != s.p.pid && reap(t.tid) {
			t.held = false
		}
	}
}

// leave marks the stop as dirty if something may still be traced.
func (s *stop) leave() {
	s.reapEnded()
	for i := range s.threads {
		s.dirty = s.dirty || s.threads[i].held
	}
}
