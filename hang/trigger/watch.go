package trigger

import (
	"time"

	"github.com/fpstack/fpstack/hang"
)

// Watch knows when a limit is reached. It is for one goroutine. All times are of one clock.
type Watch struct {
	limits Limits
	began  time.Time     // when the deadline begins
	paused time.Duration // that does not count
	last   time.Time     // of the check before
	warned bool
	fired  bool
}

// period is the time between two checks.
const period = time.Second

// gap is how many periods a check may be late. Then we were stopped, and what we watch was, or nothing is known of it.
const gap = 3

// New returns a Watch whose limits begin at that time.
func New(l Limits, began time.Time) *Watch { return &Watch{limits: l, began: began, last: began} }

// Next is how long it may wait until the next Check.
func (w *Watch) Next(now time.Time) time.Duration {
	next := w.last.Add(period).Sub(now)
	ran := now.Sub(w.began) - w.paused
	for _, limit := range []time.Duration{w.limits.Deadline, w.limits.Warn} {
		if left := limit - ran; left > 0 {
			next = min(next, left)
		}
	}
	return max(next, time.Millisecond)
}

// Check returns the limit that has been reached. Each is reached once.
func (w *Watch) Check(now time.Time) (hang.Trigger, bool) {
	w.last = now
	ran := now.Sub(w.began) - w.paused
	switch {
	case w.fired:
	case w.limits.Deadline > 0 && ran >= w.limits.Deadline:
		w.fired = true
		return hang.Trigger{Kind: hang.Deadline, After: w.limits.Deadline}, true
	case w.limits.Warn > 0 && ran >= w.limits.Warn && !w.warned:
		w.warned = true
		return hang.Trigger{Kind: hang.Warned, After: w.limits.Warn}, true
	}
	return hang.Trigger{}, false
}

// Pause says that all was stopped for so long until now.
func (w *Watch) Pause(d time.Duration) {
	w.paused += d
	w.last = w.last.Add(d)
}

// Resumed says that somebody let us go on, at that time. We were stopped if no check was made for long.
func (w *Watch) Resumed(now time.Time) {
	if late := now.Sub(w.last); late > gap*period {
		w.Pause(late)
	}
}
