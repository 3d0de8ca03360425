package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

const (
	// wakeTime is how long before a round begins we may have taken the CPU from a thread.
	wakeTime = 15 * time.Microsecond
	// timerSlack is how long before its time a wait may be ended by the interrupt that wakes us.
	// Source: PR_SET_TIMERSLACK(2const).
	timerSlack = 50 * time.Microsecond
)

// closeRate is the rate, samples a second, above which samples are dense.
const closeRate = 2000

// runner samples a thread that runs, or waits for a CPU: at once where samples are dense, else when all others
// have been sampled.
func (k *ticker) runner(p *process, t *thread, upto time.Duration) {
	if !k.dense() {
		k.queue.toStop = append(k.queue.toStop, toStop{p: p, t: t, seen: k.sys.Now()})
		return
	}
	if p.executing(k.turn.now) {
		k.lose(t)
		return
	}
	c := k.buffer(0)
	if c == nil {
		k.unread(t)
		return
	}
	before, since := t.base, k.sys.Now()-k.turn.now
	if err := t.watch.Stop(p.program.prepare(c), p.program.table.Load()); err != nil {
		k.out.give(c)
		k.trouble(p, t, err)
		return
	}
	k.turn.runners, k.turn.runs = k.turn.runners+1, t
	k.runnerStopped(t, c, stop{before: before, since: since}, 1, upto)
}

// stopSleeper stops a thread that sleeps since the last sample, for the registers.
func (k *ticker) stopSleeper(p *process, t *thread, upto time.Duration) {
	if !k.dense() {
		k.queue.toStop = append(k.queue.toStop, toStop{p: p, t: t, sleeps: true})
		return
	}
	if p.executing(k.turn.now) {
		return
	}
	c := k.buffer(0)
	if c == nil {
		return
	}
	if err := t.watch.Stop(p.program.prepare(c), p.program.table.Load()); err != nil {
		k.out.give(c)
		k.trouble(p, t, err)
		return
	}
	k.sleeperStopped(t, c, 0, upto)
}

// sleeperStopped takes into account a stop of a thread in its sleep that gave c, and that took so many rounds.
func (k *ticker) sleeperStopped(t *thread, c *tracer.Copy, rounds int64, upto time.Duration) {
	k.stopped(c.Pause)
	t.track.wantStop.Store(false)              // once, however long the counter takes to see it
	if !c.Blocked || c.Thread.Syscall == nil { // it woke just now
		t.last = missed
		k.out.give(c)
		return
	}
	if rounds > 0 {
		k.account(t, rounds, upto)
		k.counted.samples += uint64(rounds)
	}
	t.base, t.own = c.Counters, true
	k.hand(t, sample{kind: again, copied: c, call: *c.Thread.Syscall})
}

// stop is what is known of a stop beside what it gave.
type stop struct {
	before tracer.Counters
	since  time.Duration // from the begin of the round until it was requested
	wakes  uint64        // how often the thread got a CPU since its last sample
	time   time.Duration // how long ago that was
}

// state is what a thread that was stopped did when it was interrupted.
type state uint8

const (
	onCPU   state = iota
	waiting       // it waited for a CPU
	slept         // it slept, and what woke it came with the stop
)

// state returns what the thread did. One that was not put on a CPU again before it stopped was on one. Else, if it
// has waited for a CPU since the round began, it is we who took that from it, while it ran; if it had waited for
// longer, it had none; if for a shorter time, it slept when it was interrupted, as nobody else takes a CPU so soon.
func (s *stop) state(c *tracer.Copy) state {
	if c.TimerEnded() && time.Duration(s.wakes)*timerSlack < s.time/8 {
		return waiting // without us it would have slept for a moment more
	}
	if c.AtStop.Coarse {
		if c.CutShort() {
			return slept
		}
		return onCPU
	}
	if c.AtStop.Switches == s.before.Switches {
		return onCPU
	}
	// When it came to the queue for a CPU, from the begin of the round on.
	queued := s.since + c.Pause - c.Stopped - c.Unnoticed - (c.AtStop.Waited - s.before.Waited)
	switch {
	case queued < -wakeTime:
		return waiting
	case queued > wakeTime, c.CutShort() && queued > s.since/2:
		return slept
	case c.Elsewhere:
		return waiting
	}
	return onCPU
}

// runnerStopped takes a stop into account that gave c and counts as so many samples until upto.
func (k *ticker) runnerStopped(t *thread, c *tracer.Copy, s stop, samples int64, upto time.Duration) {
	// A thread that waits for a CPU has to get one to stop, and again to go on: neither is time
	// that it was stopped because of us.
	waited := c.AtStop.Waited - s.before.Waited
	k.stopped(max(c.Stopped, c.Pause-max(0, waited)))
	l := sample{kind: stopped, copied: c, state: s.state(c)}
	if !k.dense() {
		l.vague = t.calls >= nearFrom && l.state == onCPU && !s.sure(c) // whatever this sample shows
		l.ended = k.calls(t, c, &s)
	}
	t.activity = running
	if c.Blocked {
		t.activity = sleeping
		t.took(c.Counters)
		t.own = true
	} else {
		if c.AtStop.Switches > 0 { // else they were not to be had
			t.took(c.AtStop)
		}
		k.counted.ran += upto - t.upto
		if t.born() && l.state == onCPU {
			l.covers = upto - t.upto
		}
	}
	t.age = settled
	k.seen(t, l, samples, upto)
}

// stopped counts a stop in which a thread was stopped for d.
func (k *ticker) stopped(d time.Duration) {
	k.counted.stops++
	k.counted.pauses.add(d)
}
