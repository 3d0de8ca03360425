package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// A request to stop a thread that runs on another CPU takes effect when an interrupt has come there, some 2 us later,
// or 20 if the CPU is a virtual one, or at the end of its next system call if that is sooner. A thread that makes a
// call every 35 us is met in it as often as if the call took 20, whatever it takes. Where it was when the stop was
// wanted cannot be known afterwards: neither the kernel nor the registers tell when a call began.
//
// Who wakes on the CPU of the thread by its own timer takes that from it where it is. So the OS thread sleeps there
// between two rounds, if the thread is one that is often met at the end of a call. Of several such threads one is
// drawn, for some rounds; the others are met as before in these, and the stacks of that one, which are sure, say how
// their time is shared (see vague).

const (
	// A thread makes many calls if more than about one in nearOf of its samples were at the end of one.
	nearOf   = 32
	nearFrom = nearOf + nearOf/2
	nearMost = 4 * nearOf
	// nearStay is for how many rounds the OS thread stays with one.
	nearStay = 8
	// maxNear is how many threads may be due in a round for it to be made on the CPU of one of them.
	maxNear = 32
	// nearLead is how long before a round the OS thread goes there, if it has not slept by itself since the last.
	nearLead = 2 * time.Millisecond
)

// beside is which thread the OS thread sleeps beside.
type beside struct {
	at    *thread   // nil: none
	left  int       // rounds until another is drawn
	round uint64    // of those in met
	met   []*thread // make many calls, and ran in the last round in which one did
	due   uint64    // ticker.met at the last round
	many  bool      // too many threads are due in a round
}

// endedCall reports whether a thread that was stopped had been running all the time and was met at the end of
// a system call that the stop did not cut: the call may have begun after the stop was wanted.
func (s *stop) endedCall(c *tracer.Copy) bool {
	return c.AtStop.Switches > 0 && c.AtStop.Switches == s.before.Switches && c.CallEnded()
}

// sure reports whether a thread that was stopped is where it was when that was wanted: it had no CPU by then, as we
// had taken that from it, or somebody else.
func (s *stop) sure(c *tracer.Copy) bool { return c.AtStop.Switches != s.before.Switches }

// calls notes how a thread was met that ran, and reports whether that was at the end of a call.
func (k *ticker) calls(t *thread, c *tracer.Copy, s *stop) (ended bool) {
	ended = s.endedCall(c)
	switch {
	case ended:
		t.calls = min(t.calls+nearOf, nearMost)
	case t.calls > 0 && !s.sure(c):
		t.calls--
	}
	if t.calls < nearFrom {
		return ended
	}
	n := &k.beside
	if n.round != k.turn.round {
		n.round, n.met = k.turn.round, n.met[:0]
	}
	n.met = append(n.met, t)
	return ended
}

// lead is how long before a round the OS thread is to be there.
func (k *ticker) lead() time.Duration {
	if n := &k.beside; k.dense() || n.many || len(n.met) == 0 {
		return 0
	}
	return nearLead
}

// approach moves the OS thread, which sleeps next, to the CPU of a thread that makes many calls.
func (k *ticker) approach() {
	n := &k.beside
	n.many, n.due = k.turn.met-n.due > maxNear, k.turn.met
	if n.many || len(n.met) == 0 {
		return
	}
	if n.left--; n.left < 0 || n.at.watch == nil || n.at.calls < nearFrom {
		n.at, n.left = n.met[int(k.draw()*float64(len(n.met)))], nearStay
	}
	if n.at.watch != nil {
		n.at.watch.Near()
	}
}
