package sampler

import (
	"slices"
	"time"
)

// audit is the reading of all threads of a process behind a reading of its clock. What the clock shows beyond what they
// had taken is of threads that have ended. Threads that rest are read before it is their turn if that much is missing:
// one of them may have woken up.
type audit struct {
	round uint64        // of the process, from which on a thread must have been read; 0: none is under way
	clock time.Duration // what the clock showed
	seen  time.Duration // of it
	next  int           // of the threads, those before have been read, or passed over
	deep  bool          // threads that rest are read too
	found bool          // one of them had run
}

const (
	// auditReads is how many resting threads of a process are read in a round at least.
	auditReads = 64
	// auditCost and auditShare bound what it takes to find nothing in threads that rest: to read one takes so long, and
	// all of it one in so many parts of the time.
	auditCost  = 5 * time.Microsecond
	auditShare = 200
)

// beginAudit begins one if the clock of p, which was read before its threads in this round, shows more than is known.
func (k *ticker) beginAudit(p *process) {
	s := &p.balance
	if s.audit.round == 0 && k.turn.now >= s.auditDue && s.last-s.clock-s.seen >= s.certain+leastUnseen {
		s.audit = audit{round: p.round + 1, clock: s.last - s.clock, seen: s.seen}
	}
}

// audit goes on with that of p, if one is under way, when the threads that are due have been sampled.
func (k *ticker) audit(p *process, upto time.Duration) {
	s := &p.balance
	a := &s.audit
	if a.round == 0 || p.gone || p.replaced {
		return
	}
	if !a.deep {
		if !a.pass(p.threads, func(t *thread) bool { return t.resting }) {
			return // others are sampled in each round
		}
		if a.clock-a.seen < s.certain+leastUnseen {
			*a = audit{}
			return
		}
		a.deep, a.next = true, 0
	}
	left := max(auditReads, len(p.threads)/4)
	read := func(t *thread) bool {
		if left--; !t.resting || left < 0 {
			return false
		}
		if left%relieveEvery == 0 {
			k.relieve()
		}
		k.rouse(p, t, upto)
		a.found = a.found || t.still == 0
		return t.watch == nil || t.read >= a.round
	}
	if a.pass(p.threads, read) && !p.gone && !p.replaced {
		k.closeAudit(p)
	}
}

// pass goes on over threads that were not read since it began, as long as behind lets it.
func (a *audit) pass(threads []*thread, behind func(t *thread) bool) bool {
	for ; a.next < len(threads); a.next++ {
		if t := threads[a.next]; t.watch != nil && t.read < a.round && !behind(t) {
			return false
		}
	}
	return true
}

// rouse samples a thread that rests before it is its turn.
func (k *ticker) rouse(p *process, t *thread, upto time.Duration) {
	p.cadence.cost += readCost
	k.sampleThread(p, t, upto)
	if t.watch != nil && t.still == 0 {
		p.agenda.remove(t)
		k.plan(p, t)
	}
}

// closeAudit keeps what is certain now.
func (k *ticker) closeAudit(p *process) {
	s := &p.balance
	s.certain = max(s.certain, s.audit.clock-s.audit.seen)
	if !s.audit.found {
		cost := auditShare * auditCost * time.Duration(len(p.threads))
		if k.opt.Gentle {
			cost *= gentleClocks * time.Duration(len(k.follow.processes))
		}
		s.auditDue = k.turn.now + cost
	}
	s.audit = audit{}
}

// forgetEnded takes those of threads out that have ended.
func (p *process) forgetEnded() {
	ended := func(t *thread) bool { return t.watch == nil }
	for _, t := range p.threads[:p.balance.audit.next] {
		if ended(t) {
			p.balance.audit.next--
		}
	}
	p.threads = slices.DeleteFunc(p.threads, ended)
}
