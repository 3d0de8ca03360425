package sampler

import "time"

// What threads took after their last sample, and what those took that no sample met, is in no counter of a
// thread any more, but in those of their process; what a process took that has ended is in those of the parent
// that waited for it. So both are compared with what was seen.

const (
	// clockCost and clockShare bound what reading the clock of a process may take: half a hundredth of the time, as it
	// sums over all threads, some ten nanoseconds each, and some more where they are so many that they are in no
	// cache.
	clockCost  = 100 * 20 * time.Nanosecond
	clockShare = 200
	// gentleClocks is how much less it may take in a recording of days.
	gentleClocks = 4
	// clockEvery and reapedEvery are how often the counters of a small process are read at most.
	clockEvery  = 2 * time.Millisecond
	reapedEvery = 50 * time.Millisecond
	// littleLeft is what is not reported of a process by itself.
	littleLeft = 50 * time.Millisecond
	// leastUnseen is what is not reported at all: counters move at ticks of the kernel.
	leastUnseen = 10 * time.Millisecond
)

// balance compares what one process has taken with what its threads were seen to take.
type balance struct {
	clock    time.Duration // when the recording of it began
	seen     time.Duration // what samples of its threads have found since
	certain  time.Duration // what threads took that have ended, by the audits so far
	audit    audit         // under way
	auditDue time.Duration // of the next
	last     time.Duration // what the clock showed last
	due      time.Duration

	reaped    time.Duration // of children, when the recording of the process began
	known     time.Duration // what those children took that were followed to their end
	gathered  time.Duration // reaped now
	parent    int
	reapedDue time.Duration
	reported  time.Duration // of both, to the counter
}

// open begins the comparison. A process that was born during the recording began at nothing.
func (k *ticker) open(p *process, born bool) {
	clock, err := p.target.Clock()
	if err != nil {
		return
	}
	reaped, parent, err := p.target.Reaped()
	if err != nil {
		return
	}
	p.balance.last, p.balance.gathered, p.balance.parent = clock, reaped, parent
	if !born || clock > k.turn.now-k.turn.begun { // adopted
		p.balance.clock, p.balance.reaped = clock, reaped
	}
}

// whole reports whether all threads of p are followed, so that what was not seen has ended.
func (k *ticker) whole(p *process) bool { return k.opt.TIDs == nil && !p.partial }

// clocks reads the counters of processes that are due. The clocks are read before the threads are
// sampled: what those do in between seems seen, never unseen.
func (k *ticker) clocks() {
	for _, p := range k.follow.processes {
		s := &p.balance
		if k.turn.now < s.due || !k.whole(p) || !k.isDue(p) {
			continue
		}
		cost, began := clockCost*time.Duration(len(p.threads)), k.sys.Now()
		if clock, err := p.target.Clock(); err == nil {
			s.last = clock
			k.beginAudit(p)
		}
		cost = max(cost, clockShare*(k.sys.Now()-began))
		if k.opt.Gentle { // all of them together may take a part of that share
			cost *= gentleClocks * time.Duration(len(k.follow.processes))
		}
		s.due = k.turn.now + max(clockEvery, cost)
		if !k.opt.Children || k.turn.now < s.reapedDue {
			continue
		}
		s.reapedDue = k.turn.now + max(reapedEvery, 10*cost)
		k.gather(p)
	}
}

// readToll reads all counters of p, if it is still there.
func (k *ticker) readToll(p *process) {
	if clock, err := p.target.Clock(); err == nil {
		p.balance.last = clock
		if k.opt.Children {
			k.gather(p)
		}
	}
}

// gather reads what the children have taken that p has waited for.
func (k *ticker) gather(p *process) {
	if reaped, parent, err := p.target.Reaped(); err == nil {
		p.balance.gathered, p.balance.parent = reaped, parent
	}
}

// surely is the CPU time of threads of p and of children that has not been seen and will not be.
func (s *balance) surely() time.Duration { return s.certain + s.children() }

// now is what has not been seen, if all its threads were sampled after the clock was read.
func (s *balance) now() time.Duration { return max(0, s.last-s.clock-s.seen) + s.children() }

// children is what children took that were not followed to their end.
func (s *balance) children() time.Duration { return max(0, s.gathered-s.reaped-s.known) }

// reportUnseen reports to the counter what is certain now.
func (k *ticker) reportUnseen(p *process, sure time.Duration) {
	if d := sure - p.balance.reported; d > 0 && sure >= leastUnseen && k.whole(p) {
		p.balance.reported += d
		k.counted.unseen += d
		k.send(sample{track: k.remains(p), kind: left, cpu: d})
	}
}

// remains is the track of all threads and children of p that ended unseen.
func (k *ticker) remains(p *process) *track {
	if p.remains == nil {
		p.remains = k.newTrack(p, 0, nameEnded)
	}
	return p.remains
}

// closeToll closes the comparison of a process that is followed no longer, with all its threads ended, or
// sampled for the last time. What it took is what the kernel will report to its parent.
func (k *ticker) closeToll(p *process) {
	s := &p.balance
	k.readToll(p)
	sure := s.now()
	parent := k.follow.byPID[s.parent]
	if parent == nil || !p.gone || !k.opt.Children {
		k.reportUnseen(p, sure)
		return
	}
	parent.balance.known += s.last + s.gathered
	if rest := sure - s.reported; rest < littleLeft {
		parent.balance.known -= rest // one of many short ones: all of them together are reported with the parent
	} else {
		k.reportUnseen(p, sure)
	}
}
