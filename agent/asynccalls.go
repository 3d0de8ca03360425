package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// AsyncCalls are the async functions, methods and tasks of a process that wait while no thread runs them, each with
// those that wait for it alone.
type AsyncCalls struct {
	Waiting   int
	Abandoned int  // of them, those that nothing leads to which could let them go on
	Whole     bool // there are no others
}

// AsyncCounter counts async calls.
type AsyncCounter interface {
	// CountAsync counts those of a process while it runs, and stops none of its threads. It ends with ctx: what was not
	// found by then is missing. has is false where the process has no runtime that has any.
	CountAsync(ctx context.Context, pid int) (n AsyncCalls, has bool, err error)
}

// asyncCount is what was counted of a target last.
type asyncCount struct {
	AsyncCalls
	at    time.Time // zero: nothing is known
	again time.Time // when it is due
}

const (
	// asyncShare is the part of the budget that counting may take: one in so many.
	asyncShare = 4
	// asyncMost is how long one process may take.
	asyncMost = 5 * time.Second
	// noneEvery is when a process that has no such runtime is looked at again: it may load one.
	noneEvery = 10 * time.Minute
)

// countAsync counts the async calls of one target after the other until ctx ends: of each once an interval, less often
// where that takes more than its part of the budget. What it does beside waiting is taken for CPU time.
func (a *Agent) countAsync(ctx context.Context) {
	for {
		began, rest := time.Now(), scanEvery
		if t := a.dueAsync(began); t != nil {
			a.countAsyncOf(ctx, t, began)
			rest = 0
			if a.opt.Budget > 0 {
				rest = time.Duration(asyncShare / a.opt.Budget * float64(time.Since(began)))
			}
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// dueAsync is the target that is due for the longest time, nil if none is.
func (a *Agent) dueAsync(now time.Time) (first *target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.targets {
		if !t.async.again.After(now) && (first == nil || t.async.again.Before(first.async.again)) {
			first = t
		}
	}
	return first
}

// countAsyncOf counts those of t.
func (a *Agent) countAsyncOf(ctx context.Context, t *target, now time.Time) {
	within, cancel := context.WithTimeout(ctx, asyncMost)
	defer cancel()
	a.mu.Lock()
	c := t.Chosen
	a.mu.Unlock()
	n, has, err := a.opt.AsyncCounter.CountAsync(within, c.PID)
	next := asyncCount{again: now.Add(a.opt.Interval)}
	switch why := ""; {
	case err != nil:
		if why = a.opt.Refusal(err); why != "" {
			a.sayOnce("async: "+why, fmt.Sprintf("async calls of process %d are not counted: %s", c.PID, why))
		}
		next.again = now.Add(retryEvery)
	case !has:
		next.again = now.Add(noneEvery)
	default:
		next.AsyncCalls, next.at = n, now
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.Chosen == c && !a.opt.Another(&c) {
		t.async = next
	}
}

// AsyncReport is what was counted of a process last.
type AsyncReport struct {
	AsyncCalls
	PID     int
	Service string
	At      time.Time
}

// asyncReports are those of all targets, in the order of their ids. Precondition: a.mu is held.
func (a *Agent) asyncReports() (all []AsyncReport) {
	for pid, t := range a.targets {
		if n := &t.async; !n.at.IsZero() {
			all = append(all, AsyncReport{n.AsyncCalls, pid, t.who.Called(), n.at})
		}
	}
	slices.SortFunc(all, func(x, y AsyncReport) int { return cmp.Compare(x.PID, y.PID) })
	return all
}
