package cpython

import (
	"iter"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of what is read for one list, one stack or one answer: of what was copied, and of a running process, where
// each read is a system call.
const (
	maxCopiedSteps = 1 << 24
	maxLiveSteps   = 1 << 29
)

// running is the memory of the process as it is now: what is read of it is late.
func (r *Runtime) running() *view.View { return r.reading(nil, r.live, maxLiveSteps) }

// lasting is what of the interpreter's file does not move.
func (r *Runtime) lasting() *view.View {
	v := view.Lasting(r.live, r.budget)
	return &v
}

// of is what was copied of t while it was stopped.
func (r *Runtime) of(s *snapshot.Snapshot, t *snapshot.Thread) *view.View {
	return r.reading(s.Reader(t, nil), nil, maxCopiedSteps)
}

// whole is what was copied of the process in the stop.
func (r *Runtime) whole(s *snapshot.Snapshot) *view.View {
	return r.reading(s.Over(nil, s.Whole...), nil, maxCopiedSteps)
}

func (r *Runtime) reading(copied *mem.Overlay, live mem.Reader, steps int64) *view.View {
	v := view.Over(nil, live, r.budget)
	if copied != nil {
		v = view.Over(copied, live, r.budget)
	}
	v.Within(steps)
	return &v
}

// threadMemory is what of a thread was copied in its stop, over the memory of the process as it runs.
type threadMemory struct {
	m      *view.View
	search *view.View // for what only tells what an object is: it does not make m late
}

// eachThread gives those of s that have a state of the interpreter, with their memory: all together may read no more
// than one lot of steps.
func (r *Runtime) eachThread(s *snapshot.Snapshot, memory mem.Reader) iter.Seq2[*snapshot.Thread, threadMemory] {
	return func(yield func(*snapshot.Thread, threadMemory) bool) {
		left := int64(maxLiveSteps)
		for i := range s.Threads {
			t := &s.Threads[i]
			if !r.reads(t) || r.roster.Load().of(t) == 0 {
				continue
			}
			m := r.reading(s.Reader(t, nil), memory, left)
			search := *m
			if !yield(t, threadMemory{m, &search}) {
				return
			}
			left = min(m.Left(), search.Left())
		}
	}
}
