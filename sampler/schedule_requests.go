package sampler

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// requests are what others want done with the ticker and the plan, which belong to Run while it runs: functions, that
// it calls between two rounds, or while there is no process. Before Run and after it who wants something does it.
type requests struct {
	driving sync.Mutex    // held by who uses the ticker and the plan
	todo    chan func()   // for Run
	waiting atomic.Int32  // how many wait for Run to take theirs
	ended   chan struct{} // closed when Run has ended
}

func newRequests() *requests { return &requests{todo: make(chan func()), ended: make(chan struct{})} }

// drive runs f where the ticker may be used.
func (r *requests) drive(f func()) {
	for {
		if r.driving.TryLock() {
			defer r.driving.Unlock()
			f()
			return
		}
		done := make(chan any)
		r.waiting.Add(1)
		select {
		case r.todo <- func() { defer func() { done <- recover() }(); f() }:
			r.waiting.Add(-1)
			if fault := <-done; fault != nil {
				panic(fault) // it is the caller's, not that of Run
			}
			return
		case <-r.ended:
			r.waiting.Add(-1)
			r.driving.Lock()
			defer r.driving.Unlock()
			f()
			return
		case <-time.After(10 * time.Millisecond): // another Add or Take held it
			r.waiting.Add(-1)
		}
	}
}

// rest waits for the round that is due, and does meanwhile what others want. It is false when ctx has ended.
func (r *Recorder) rest(ctx context.Context, due time.Duration) bool {
	for {
		wait := due - r.sys.Now()
		if wait <= 0 {
			select {
			case f := <-r.todo:
				f()
			default:
			}
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case f := <-r.todo:
			f()
		case <-r.sys.After(wait):
		}
	}
}

// idle does what others want until there is a process, or ctx ends.
func (r *Recorder) idle(ctx context.Context) {
	k := r.ticker
	k.births.close() // what begins meanwhile is none of ours
	r.publish()
	for ctx.Err() == nil && len(k.follow.processes) == 0 {
		select {
		case <-ctx.Done():
		case f := <-r.todo:
			k.turn.now = r.sys.Now()
			k.turn.upto = k.turn.now // what is followed from now on begins now
			f()
		}
	}
}
