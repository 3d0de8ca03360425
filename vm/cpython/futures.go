package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// outermost is how many of the outermost frames of a thread are looked at: a thread of a pool has five above its work.
const outermost = 32

// computers completes those of locks that are waits for results, by the Future of each: who computes it is the thread
// that runs its piece of work, and nobody does while that is in the queue of a pool.
//
// Source: class Future in Lib/concurrent/futures/_base.py, _WorkItem and _worker in thread.py.
func (r *Runtime) computers(s *snapshot.Snapshot, memory mem.Reader, locks []waits.Lock, futures map[int]mem.Addr) {
	if len(futures) == 0 {
		return
	}
	runs, queues := map[mem.Addr][]holder{}, map[mem.Addr]bool{}
	for t, of := range r.eachThread(s, memory) {
		m := of.m
		frames := r.innermostFrames(t, m, maxFrames)
		for k := max(0, len(frames)-outermost); k < len(frames); k++ {
			f := &frames[k]
			switch function, file, ok := r.functionOf(f, m); {
			case !ok || libraryFile(file) != poolFile:
			case function == "run":
				if future, ok := r.layout.Attribute(m, r.variableOf(f, "self", m), "future"); ok {
					runs[future] = append(runs[future], holder{t.TID, m.TakeLate() || t.Registers == nil})
				}
			case function == "_worker":
				queues[r.variableOf(f, "work_queue", m)] = true
			}
		}
	}
	queued := r.queuedIn(queues, r.reading(nil, memory, maxLiveSteps))
	for i, future := range futures {
		l, who := &locks[i], runs[future]
		switch {
		case len(who) == 1 && !queued[future]:
			l.Owner, l.Instant = who[0].tid, l.Instant && !who[0].late
			l.Evidence = fmt.Sprintf("thread %d runs the work of the Future at %#x", l.Owner, uint64(future))
		case len(who) == 0 && queued[future]:
			l.Kind, l.Note = waits.Unbegun, "which no thread has begun to compute"
			l.Evidence = fmt.Sprintf("the work of the Future at %#x is in the queue of its pool", uint64(future))
		}
	}
}

// maxQueued bounds the pieces of work that are looked at.
const maxQueued = 1 << 14

// queuedIn are the Futures of the pieces of work in some queues of pools.
func (r *Runtime) queuedIn(queues map[mem.Addr]bool, m *view.View) map[mem.Addr]bool {
	out := map[mem.Addr]bool{}
	for queue := range queues {
		r.layout.SimpleQueue(m, queue, func(work mem.Addr) bool {
			if future, ok := r.layout.Attribute(m, work, "future"); ok {
				out[future] = true
			}
			return len(out) < maxQueued
		})
	}
	return out
}
