package trigger

import (
	"maps"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// Watch knows when a limit is reached. It is for one goroutine. All times are of one clock.
type Watch struct {
	limits Limits
	source Source
	say    func(string)
	began  time.Time     // when the deadline begins
	paused time.Duration // that does not count
	last   time.Time     // of the check before
	looked time.Time     // when it was read last what the processes do
	period time.Duration // until that is read again
	warned bool
	fired  bool
	idle   window
	silent silence
}

// The time between two looks at what the processes do: a look takes a thousandth of it at most, within these bounds.
// Checks are as far apart as the first bound, so that a stop of ours is noticed.
const (
	minPeriod = time.Second
	maxPeriod = 10 * time.Second
	costShare = 1000
)

// late is how many periods may pass between two checks. Then we were stopped, and what we watch was, or nothing is
// known of it.
const late = 3

// early is how much before its time a look may be: checks come as timers do.
const early = 100 * time.Millisecond

// overdue is how late a check is that we were stopped before, if somebody lets us go on then.
const overdue = 2 * time.Second

// New returns a Watch of what s reads, whose limits begin at that time. say gets what a person should know, a line.
func New(l Limits, began time.Time, s Source, say func(string)) *Watch {
	return &Watch{limits: l, source: s, say: say, began: began, last: began, period: minPeriod,
		idle: window{length: l.Idle, cpu: l.IdleCPU, seen: map[string]bool{},
			repeats: map[procfs.Identity]bool{}}, silent: silence{length: l.Silent}}
}

// Next is how long it may wait until the next Check.
func (w *Watch) Next(now time.Time) time.Duration {
	next := w.last.Add(minPeriod).Sub(now)
	ran := now.Sub(w.began) - w.paused
	for _, limit := range []time.Duration{w.limits.Deadline, w.limits.Warn} {
		if left := limit - ran; left > 0 {
			next = min(next, left)
		}
	}
	return max(next, time.Millisecond)
}

// Overdue reports whether the next check comes so late that we may have been stopped.
func (w *Watch) Overdue(now time.Time) bool { return now.Sub(w.last) > minPeriod+overdue }

// Check returns the limit that has been reached. A warning comes once, and after any other limit comes none.
func (w *Watch) Check(now time.Time) (hang.Trigger, bool) {
	passed := now.Sub(w.last)
	w.last = now
	if passed > late*w.period {
		w.forget()
	}
	if w.fired {
		return hang.Trigger{}, false
	}
	ran := now.Sub(w.began) - w.paused
	if w.limits.Deadline > 0 && ran >= w.limits.Deadline {
		return w.fire(hang.Deadline, w.limits.Deadline)
	}
	if now.Sub(w.looked) >= w.period-early {
		w.looked = now
		begin := time.Now()
		defer func() { w.period = min(max(minPeriod, costShare*time.Since(begin)), maxPeriod) }()
		switch {
		case w.limits.Idle > 0 && w.idle.check(now, w.source, w.say):
			return w.fire(hang.Idle, w.limits.Idle)
		case w.limits.Silent > 0 && w.silent.check(now, w.source, w.say):
			return w.fire(hang.SilentIdle, w.limits.Silent)
		}
	}
	if w.limits.Warn > 0 && ran >= w.limits.Warn && !w.warned {
		w.warned = true
		return hang.Trigger{Kind: hang.Warned, After: w.limits.Warn}, true
	}
	return hang.Trigger{}, false
}

func (w *Watch) fire(kind hang.TriggerKind, limit time.Duration) (hang.Trigger, bool) {
	w.fired = true
	return hang.Trigger{Kind: kind, After: limit}, true
}

// Pause says that all was stopped for so long until now.
func (w *Watch) Pause(d time.Duration) {
	w.paused += d
	w.last = w.last.Add(d)
	w.forget()
}

// Skip takes the place of a Check while something else goes on, as a capture: a limit that is reached is found by the
// next Check, and windows begin again.
func (w *Watch) Skip(now time.Time) {
	w.last = now
	w.forget()
}

// Resumed says that somebody let us go on, at that time. We were stopped if a check is overdue.
func (w *Watch) Resumed(now time.Time) {
	if w.Overdue(now) {
		w.Pause(now.Sub(w.last))
	}
}

// Seen are the command lines that it has met so far, where it looks for idleness. The caller owns them.
func (w *Watch) Seen() map[string]bool { return maps.Clone(w.idle.seen) }

// forget begins the windows again.
func (w *Watch) forget() {
	w.idle.reset()
	w.silent.reset()
}
