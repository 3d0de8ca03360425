//go:build linux

package tracer

import (
	"context"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer/osthread"
)

// maxListings bounds how often the threads are listed again for new ones. Two or three
// are enough for a process that makes threads all the time.
const maxListings = 16

// stop is one stop of one process. Its methods run on the tracer thread. All it needs is
// made before the first thread is interrupted.
type stop struct {
	engine
	p      *Process
	opt    StopOptions
	ctx    context.Context
	memory *memory
	table  *maps.Table
	first  []byte // the text of table

	threads []dumped
	spare   []registers // of threads to come
	known   map[int]bool
	left    []int         // threads that are not inspected, as there is no room for their stacks
	missing int           // threads of the list that had ended before they were seized, or that were reaped since
	ids     []int         // room for a listing
	bound   time.Duration // until when the wait under way may last, after clock
	copier  *copier
	windows windows
	arena   *arena
	pages   []byte // pagesRoom, if there are Copiers

	monotonic  time.Duration // CLOCK_MONOTONIC of the target at clock, 0 if unknown
	begun, end time.Duration // first request to stop, last release
	since      time.Duration // first request of the batch under way
	straggling time.Duration // how long the others wait for a thread that does not stop
	text       []byte        // the mappings just before the stop; empty if they are not known
	again      []byte        // and just behind it
	gatherer   *snapshot.Gatherer
	gathered   bool // the gatherer has ended
	cutShort   bool // the threads went on before it had
	refusal    error
	problems   []string
	late       int  // threads that stopped after the others had been let go
	exec       bool // the process began another program
}

// run makes the stop. All threads are released when it returns, except those that do not
// stop: dirty is set then.
func (s *stop) run() {
	osthread.PrepareSignals()
	defer holdGC()()
	s.arm()
	defer s.disarm()
	defer s.leave()
	defer s.releaseAll(0) // on every path, also out of a panic
	s.text = s.readMaps(s.text)
	if s.opt.Rolling {
		s.inBatches()
	} else {
		s.together()
	}
	s.releaseAll(0)
	s.disarm() // stragglers wait without blocking
	s.stragglers()
	s.again = s.readMaps(s.again)
}

// together stops all threads at one instant: it lists again until no thread is new.
func (s *stop) together() {
	s.since = s.now()
	s.seizeNew(0)
	for range maxListings {
		n := len(s.threads)
		if s.over() || !s.listNew() {
			break
		}
		s.seizeNew(n)
	}
	s.begun = s.now()
	s.since = s.begun
	from := 0
	for round := 0; ; round++ {
		s.interruptAll(from)
		s.await(from)
		from = len(s.threads)
		if s.over() || !s.listNew() {
			break
		}
		if round == maxListings {
			s.problem("threads were made faster than they could be stopped")
			break
		}
		s.seizeNew(from)
	}
	if !s.exec {
		s.collect(0)
	}
	if !s.exec && s.opt.TIDs == nil && len(s.opt.ProcessCopiers) > 0 {
		s.gather()
	}
	if !s.exec && s.opt.TIDs == nil && s.opt.Core != nil && s.ctx.Err() == nil {
		s.core()
	}
}

// inBatches stops a few threads at a time. Those that do not stop are left for the end.
func (s *stop) inBatches() {
	s.begun = s.now()
	listings := 0
	for from := 0; s.ctx.Err() == nil && !s.exec; {
		if from == len(s.threads) {
			if listings++; listings > maxListings || !s.listNew() {
				return
			}
		}
		s.since = s.now()
		all := s.threads
		s.threads = all[:min(from+s.opt.Batch, len(all))]
		s.seizeNew(from)
		s.interruptAll(from)
		s.await(from)
		s.collect(from)
		s.releaseAll(from)
		s.reapEnded()
		from = len(s.threads)
		s.threads = all
	}
}

// over reports whether the stop must not go on.
func (s *stop) over() bool {
	return s.exec || s.ctx.Err() != nil || s.now()-s.since > s.opt.MaxPause
}

func (s *stop) problem(text string) {
	for _, p := range s.problems {
		if p == text {
			return
		}
	}
	s.problems = append(s.problems, text)
}

// listNew adds threads that were not listed before and reports whether there were any.
func (s *stop) listNew() bool {
	if s.opt.TIDs != nil {
		return false
	}
	n, ok := s.p.tasks.Count()
	known := len(s.threads) + len(s.left) - s.missing
	if ok && n == known {
		return false
	}
	ids, err := s.p.tasks.IDs(s.ids)
	if err != nil {
		return false
	}
	s.ids = ids
	before := len(s.threads)
	for _, tid := range ids {
		s.add(tid)
	}
	return len(s.threads) > before
}

// add adds thread tid, if it is not known.
func (s *stop) add(tid int) {
	if s.known[tid] {
		return
	}
	s.known[tid] = true
	if len(s.spare) == 0 {
		s.spare = make([]registers, 64)
	}
	r := &s.spare[0]
	r.size = 0 // its page must not be faulted in during the stop
	s.threads = append(s.threads, dumped{tracee: tracee{p: s.p, tid: tid}, registers: r})
	s.spare = s.spare[1:]
}
