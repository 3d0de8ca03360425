package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// wakeTime is how long before a round begins we may have taken the CPU from a thread.
const wakeTime = 50 * time.Microsecond

// closeRate is the rate, looks a second, above which looks are dense.
const closeRate = 2000

// runner looks at a thread that runs, or waits for a CPU: at once where looks are dense, else when all others
// have been looked at.
func (k *ticker) runner(p *process, t *thread, upto time.Duration) {
	if !k.dense() {
		k.toAsk = append(k.toAsk, toAsk{p: p, t: t, seen: k.sys.Now()})
		return
	}
	c := k.buffer(0)
	if c == nil {
		k.lose(t)
		return
	}
	before, since := t.base, k.sys.Now()-k.now
	if err := t.watch.Stop(c, p.program.table.Load()); err != nil {
		k.give(c)
		k.trouble(p, t, err)
		return
	}
	k.runners, k.runs = k.runners+1, t
	now := c.Counters
	if !c.Blocked {
		now = t.base
		if t.asked == k.now {
			if read, err := t.watch.Counters(); err == nil {
				now = read
			}
		}
	}
	k.standing(t, c, stop{before, now, since}, 1, upto)
}

// better stops a thread that sleeps since the last look, for the registers.
func (k *ticker) better(p *process, t *thread, upto time.Duration) {
	if !k.dense() {
		k.toAsk = append(k.toAsk, toAsk{p: p, t: t, sleeps: true})
		return
	}
	c := k.buffer(0)
	if c == nil {
		return
	}
	if err := t.watch.Stop(c, p.program.table.Load()); err != nil {
		k.give(c)
		k.trouble(p, t, err)
		return
	}
	k.bettered(t, c, 0, upto)
}

// bettered takes into account a stop of a thread in its sleep that gave c, and that took so many rounds.
func (k *ticker) bettered(t *thread, c *tracer.Copy, rounds int64, upto time.Duration) {
	k.stopped(c.Pause)
	t.track.wantStop.Store(false)              // once, however long the counter takes to see it
	if !c.Blocked || c.Thread.Syscall == nil { // it woke just now
		t.lost = true
		k.give(c)
		return
	}
	if rounds > 0 {
		k.account(t, rounds, upto)
		k.counted.samples += uint64(rounds)
	}
	t.base, t.own = c.Counters, true
	k.hand(t, look{kind: again, copied: c, call: *c.Thread.Syscall})
}

// stop is what is known of a stop beside what it gave.
type stop struct {
	before, after tracer.Counters
	since         time.Duration // from the begin of the round until it was asked for
}

// preempted tells whether the thread had no CPU when the round began. If it has waited for one for a
// shorter time than it took until it stood it is we who took it, from a thread that ran.
func (s *stop) preempted(c *tracer.Copy) bool {
	return s.after.Waited-s.before.Waited > s.since+c.Pause-c.Stood+wakeTime
}

// standing takes a stop into account that gave c and stands for so many samples until upto.
func (k *ticker) standing(t *thread, c *tracer.Copy, s stop, samples int64, upto time.Duration) {
	// A thread that waits for a CPU has to get one to stop, and again to go on: neither is time
	// that it stood because of us.
	waited := s.after.Waited - s.before.Waited
	k.stopped(max(c.Stood, c.Pause-max(0, waited)))
	t.took(s.after)
	t.asleep = c.Blocked
	l := look{kind: stopped, copied: c, preempted: s.preempted(c)}
	if c.Blocked {
		t.own = true
	} else {
		k.ran += upto - t.upto
	}
	k.seen(t, l, samples, upto)
}

// stopped counts a stop in which a thread stood for d.
func (k *ticker) stopped(d time.Duration) {
	k.counted.stops++
	k.stood.add(d)
}
