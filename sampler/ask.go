package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// Threads that run are asked to stop all at once, and collected as they stop. One that waits for a CPU
// stops when it gets one: until then its stack is the one it had when it was asked, so that rounds
// which pass meanwhile see it too. To wait for each before the next is asked would move all looks but
// the first of a round to moments that the scheduler chose, and make rounds last as long as all those waits.

// asked is a thread that was asked to stop.
type asked struct {
	p       *process
	t       *thread
	c       *tracer.Copy
	before  tracer.Counters
	since   time.Duration // from the begin of the round until it was asked
	samples int64         // rounds that passed since
	upto    time.Duration // until when the look stands for
}

const (
	// maxAsked bounds the threads that are asked at a time: each has a Copy.
	maxAsked = copies / 2
	// drainTime bounds how long those are waited for that were asked, before what was asked is given up.
	drainTime = 300 * time.Millisecond
)

// ask asks a thread to stop.
func (k *ticker) ask(p *process, t *thread, upto time.Duration) {
	if len(k.asked) >= maxAsked {
		k.lose(t)
		return
	}
	c := k.buffer()
	if c == nil {
		k.lose(t)
		return
	}
	before := t.base
	if now, err := t.watch.Counters(); err == nil {
		before = now
	}
	since := k.sys.Now() - k.now
	if err := t.watch.Ask(c, p.program.table.Load()); err != nil {
		k.give(c)
		k.trouble(p, t, err)
		return
	}
	t.pending = true
	k.asked = append(k.asked, asked{p: p, t: t, c: c, before: before, since: since, samples: 1, upto: upto})
	if len(k.asked) > 1 { // some have stopped by now
		k.collect(0)
	}
}

// waits counts one more round for a thread that has not stopped yet.
func (k *ticker) waits(t *thread, upto time.Duration) {
	for i := range k.asked {
		if a := &k.asked[i]; a.t == t {
			a.samples++
			a.upto = upto
		}
	}
}

// collect collects what was asked until all has stopped, or the time is over; what has stopped by then
// it collects in any case.
func (k *ticker) collect(until time.Duration) {
	for len(k.asked) > 0 {
		c, err := k.sys.Collect(until - k.sys.Now())
		if c == nil {
			return
		}
		k.collected(c, err)
	}
}

// drain collects all that was asked.
func (k *ticker) drain() {
	k.collect(k.sys.Now() + drainTime)
	if len(k.asked) > 0 {
		k.sys.GiveUp()
	}
	for len(k.asked) > 0 {
		k.collected(k.asked[0].c, tracer.ErrDirty)
	}
}

// collected completes the look for which c was given.
func (k *ticker) collected(c *tracer.Copy, err error) {
	i := 0
	for k.asked[i].c != c {
		i++
	}
	a, last := k.asked[i], len(k.asked)-1
	k.asked[i], k.asked[last] = k.asked[last], asked{}
	k.asked = k.asked[:last]
	a.t.pending = false
	if err != nil {
		k.give(c)
		k.trouble(a.p, a.t, err)
		return
	}
	now := c.Counters
	if !c.Blocked {
		now = a.t.base
		if read, err := a.t.watch.Counters(); err == nil {
			now = read
		}
	}
	k.standing(a.t, c, stop{a.before, now, a.since}, a.samples, a.upto)
}
