//go:build linux

package tracer

import (
	"fmt"
	"time"
)

// sweep is the time between two checks of the threads that have not stopped. It blocks in
// none of their waits, as another may stop meanwhile and would be stopped.
const sweep = time.Millisecond

// stragglers waits for the threads that did not stop with the others, which run again by
// now, and inspects each as it stops.
func (s *stop) stragglers() {
	begun := s.now()
	for s.ctx.Err() == nil && !s.exec {
		s.reapEnded()
		waiting := false
		seen := s.now()
		for i := range s.threads {
			t := &s.threads[i]
			if t.phase != running || !t.late {
				continue
			}
			if s.waitFor(t, true) {
				s.takeLate(i)
				continue
			}
			t.interrupted = seen // it was not stopped before
			if seen < begun+s.patience(t) {
				waiting = true
			}
		}
		if !waiting {
			break
		}
		// An exec forgets that its thread was interrupted: it would never come.
		if s.memory.replaced(s.table.All()[0].Start) {
			s.exec = true
			break
		}
		time.Sleep(sweep)
	}
	for i := range s.threads {
		if t := &s.threads[i]; t.phase == running && t.late {
			t.why = fmt.Sprintf("did not stop within %v", s.patience(t))
		}
	}
}

// patience is how long a thread is waited for.
func (s *stop) patience(t *dumped) time.Duration {
	if t.state == 'R' {
		return max(s.opt.MaxPause, runnablePause)
	}
	return s.opt.MaxPause
}

// takeLate reads one thread that has stopped by now and releases it.
func (s *stop) takeLate(i int) {
	if s.threads[i].phase != stopped {
		return
	}
	all := s.threads
	s.threads = all[:i+1]
	s.since = s.now()
	s.collect(i)
	s.releaseAll(i)
	s.threads = all
	s.late++
}
