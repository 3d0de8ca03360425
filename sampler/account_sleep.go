package sampler

import (
	"errors"
	"slices"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// maxCopies is how often a sleeping thread is copied again of which not all was copied in time, as others had the CPU.
// One that never runs keeps what the last copy gave.
const maxCopies = 8

func isLate(s snapshot.Shortfall) bool { return errors.Is(s.Why, snapshot.ErrLate) }

// stopPause is how long a thread is left alone in its sleep after it was stopped there.
const stopPause = time.Second

// sleeping returns the stack of a thread that sleeps: as it is known if the same bytes were
// there before, else walked.
//
// A thread that was not stopped has no registers but SP and PC. Mostly the tables need no
// more. Where they do, registers of an earlier stop in the same call are tried; where those
// are a guess, they are believed only if they lead to the very stack that the stop gave. Else
// the thread is stopped once.
func (c *counter) sleeping(t *track, l *sample) profile.NodeID {
	g := t.program
	g.open(c)
	unknown := g.runtimes != nil && len(l.copied.Copiers) < len(g.runtimes.Copiers())
	late := slices.ContainsFunc(l.copied.Thread.Shortfalls, isLate)
	if late {
		t.copies++
	}
	if unknown || late && t.copies <= maxCopies {
		t.wantCopy.Store(true)
	}
	key := c.sleepKey(&l.call, l.copied)
	if n, ok := g.known[key]; ok && l.kind == peeked {
		c.want(t, false)
		return n
	}
	n, sure := c.walkSleeper(t, l)
	if g.doubt {
		sure = false
		c.stopAgain(t, l)
	}
	n = c.waiting(g, n, &l.copied.Thread, &l.call)
	if sure {
		if len(g.known) >= maxKnown {
			clear(g.known)
		}
		g.known[key] = n
	}
	if l.kind == again {
		t.stopped, t.stopNode = true, n
	}
	return n
}

// stopAgain has a sleeping thread stopped once more after a while: its stack was cut by what may be an old
// list of mappings, which is not read as often as one wants, and a thread that never wakes is not sampled
// by itself. One whose call a stop would end for the second time is left as it is.
func (c *counter) stopAgain(t *track, l *sample) {
	if (t.stopped || l.kind == again) && tracer.EndsWithEINTR(l.call, l.copied.Thread.Arch) {
		return
	}
	if len(c.doubtful) == 0 {
		c.doubtDue = c.clock() + stopPause
	}
	c.doubtful[t] = struct{}{}
}

// resolveDoubts asks for the stops that are due.
func (c *counter) resolveDoubts() {
	if len(c.doubtful) == 0 || c.clock() < c.doubtDue {
		return
	}
	for t := range c.doubtful {
		if t.program != nil && !t.running {
			c.want(t, true)
		}
	}
	clear(c.doubtful)
}

// walkSleeper walks, and asks for a stop if that would help. sure says whether the same bytes
// will give the same stack.
func (c *counter) walkSleeper(t *track, l *sample) (n profile.NodeID, sure bool) {
	g, th := t.program, &l.copied.Thread
	if l.kind == again || th.Registers != nil && l.copied.Inferred && !l.copied.Ran {
		c.want(t, false)
		g.walk(c, &c.walked, th, l.copied.Stale)
		if l.kind == again && !g.doubt && !c.complete() && len(c.walked.Frames) <= t.partial &&
			len(g.hopeless) < maxKnown {
			g.hopeless[c.last()] = true
		}
		return c.stackOf(t), true
	}
	guess := th.Registers
	th.Registers = nil
	g.walk(c, &c.walked, th, l.copied.Stale)
	partial := len(c.walked.Frames)
	if c.complete() || g.hopeless[c.last()] {
		c.want(t, false)
		return c.stackOf(t), true
	}
	t.partial = partial
	if n, ok := c.guessed(t, l, guess); ok {
		return n, false
	}
	c.want(t, !t.stopped || !tracer.EndsWithEINTR(l.call, th.Arch) && l.at >= t.stopAt+stopPause)
	return c.stackOf(t), false
}

// guessed walks with registers that may be of an earlier sleep; nil if there are none.
func (c *counter) guessed(t *track, l *sample, guess *regs.Registers) (profile.NodeID, bool) {
	if guess == nil {
		return 0, false
	}
	th := &l.copied.Thread
	th.Registers = guess
	t.program.walk(c, &c.walked, th, false)
	th.Registers = nil
	if !c.complete() {
		return 0, false
	}
	n := c.stackOf(t)
	same := c.waiting(t.program, n, th, &l.call) == t.stopNode
	if !same && !(t.stopped && tracer.EndsWithEINTR(l.call, th.Arch)) {
		return 0, false
	}
	c.out.inferred.Add(1)
	c.want(t, false)
	return n, true
}

// complete reports whether what was walked needs no better registers.
func (c *counter) complete() bool {
	s := &c.walked
	return s.Stop == unwind.Root || s.Stop == unwind.DepthLimit || s.Stop == unwind.NoContext
}

// last is where what was walked ends.
func (c *counter) last() mem.Addr {
	if n := len(c.walked.Frames); n > 0 {
		return c.walked.Frames[n-1].PC
	}
	return 0
}

// want asks for a stop of t in its sleep, or takes that back.
func (c *counter) want(t *track, stop bool) {
	if !t.wantStop.Swap(stop) && stop {
		t.stopAt = c.clock()
	}
}
