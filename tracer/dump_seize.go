//go:build linux

package tracer

import (
	"cmp"
	"slices"
	"time"

	"github.com/fpstack/fpstack/tracer/osthread"

	"golang.org/x/sys/unix"
)

// Bounds of the wait for an exec of the process to attach to it: while nobody is interrupted, and otherwise.
const (
	execPatience = 250 * time.Millisecond
	execHeld     = osthread.AlarmPeriod
)

// seizeNew attaches to the threads from index from on. It does not stop them.
func (s *stop) seizeNew(from int) {
	bound := min(execPatience, s.opt.MaxPause)
	if s.holds() {
		bound = execHeld
	}
	for i := from; i < len(s.threads) && s.ctx.Err() == nil && !s.exec; i++ {
		t := &s.threads[i]
		if t.phase != listed || t.worker || t.state == 'Z' {
			continue
		}
		tries := attachTries
		if s.refusal != nil {
			tries = 0
		}
		switch err := s.attach(&t.tracee, tries, bound); {
		case err == nil:
		case err == ErrExec:
			s.exec = true
		case isExecuting(err): // so it is for all that follow
			s.refuse(i, err)
			return
		case err != ErrNoThread:
			if s.refusal == nil { // one is reported for all
				s.refusal = err
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

// holds reports whether a thread may be stopped by us now.
func (s *stop) holds() bool {
	return slices.ContainsFunc(s.threads, func(t dumped) bool {
		return t.interrupted > 0 && (t.phase == running || t.phase == stopped)
	})
}

// refuse leaves out the threads from index from on.
func (s *stop) refuse(from int, err error) {
	s.refusal = cmp.Or(s.refusal, err)
	for i := from; i < len(s.threads); i++ {
		if t := &s.threads[i]; t.phase == listed {
			t.phase, t.err = refused, err
		}
	}
}

// interruptAll interrupts the seized threads from index from on, those that run on a CPU
// last: they notice at once and would be stopped longest. Until the release we come before others (urgency).
func (s *stop) interruptAll(from int) {
	s.urgency.Begin()
	for i := from; i < len(s.threads); i++ {
		if t := &s.threads[i]; t.phase == running && !t.late {
			s.interrupt(&t.tracee)
		}
	}
}

// await waits until the threads from index from on have stopped, the last one first: when it has
// stopped most others have. When nothing has happened for a while, those that have not
// stopped become stragglers.
func (s *stop) await(from int) {
	s.progress()
	late := false
	for i := len(s.threads) - 1; i >= from && s.ctx.Err() == nil; i-- {
		t := &s.threads[i]
		if t.phase != running || t.late {
			continue
		}
		if !s.waitFor(t, late) {
			t.late = true
			late = true // the time is over for the others too
		} else if !late && i%16 == 0 {
			s.progress()
		}
	}
	if late && s.opt.Rolling {
		s.straggling = straggling / 10 // more of them may come, and each batch waits
	}
}

// progress sets the time until which the wait under way may last.
func (s *stop) progress() {
	s.bound = min(s.now()+s.straggling, s.since+s.opt.MaxPause)
}

// waitFor waits for the stop or end of one thread. It is false if it has not stopped yet:
// at once with late, else when the bound is past or ctx has ended, as the alarm lets us see.
func (s *stop) waitFor(t *dumped, late bool) bool {
	for {
		until := s.bound
		if late {
			until = 0
		}
		errno := s.engine.wait(t.tid, until)
		switch {
		case errno == unix.EINTR:
			if s.ctx.Err() != nil || s.now() >= s.bound {
				return false
			}
		case errno != 0: // ECHILD: lost to an exec
			s.lose(&t.tracee)
			return true
		case s.info.PID() == 0:
			return false
		default:
			s.classify(&t.tracee)
			if t.phase == ended && !t.traced {
				s.missing++
			}
			return t.phase != running
		}
	}
}

// releaseAll lets every stopped thread from index from on go, the last one first, as
// threads that were running come last.
func (s *stop) releaseAll(from int) {
	for i := len(s.threads) - 1; i >= from; i-- {
		if t := &s.threads[i]; t.phase == stopped {
			s.release(&t.tracee)
			s.end = max(s.end, t.freed)
		}
	}
	s.urgency.End()
}

// reapEnded implements reaper.
func (s *stop) reapEnded() (n int) {
	for i := range s.threads {
		if s.threads[i].reap() {
			s.missing++
			n++
		}
	}
	return n
}

// leave marks the stop as dirty if something may still be traced.
func (s *stop) leave() {
	s.reapEnded()
	for i := range s.threads {
		s.dirty = s.dirty || s.threads[i].traced
	}
}
