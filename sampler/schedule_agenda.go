package sampler

import (
	"math"
	"slices"
	"time"
)

const (
	// easyPolls is how many long sleepers are sampled in a round, if they are not so many that
	// it would leave one alone for more than maxRest rounds.
	easyPolls = 64
	maxRest   = 512
	// gentlePolls is easyPolls where the rate is that of days: each reading counts.
	gentlePolls = 16
	// maxFirst is how many threads are sampled for the first time in a round, at least leastFirst, so that it takes
	// half of its time: of the others the first sample comes later, and covers the time until then.
	maxFirst   = 256
	leastFirst = 16
)

// agenda holds the threads of one process by when they are sampled next, so that a round touches none but
// those that are due: to pass over 20,000 takes a millisecond.
type agenda struct {
	first []*thread           // not sampled yet, in the order in which they were found
	next  []*thread           // in each round
	later *[maxRest][]*thread // long sleepers, by the number of the round; nil: none yet
	taken []*thread           // room for those that are due
}

// keptRoom is for how many long sleepers a round of the agenda keeps its room.
const keptRoom = 2 * easyPolls

// due takes those out that are due in round, of the new ones most at the most. They belong to the caller
// until the next call, who puts back those that live.
func (a *agenda) due(round uint64, most int) []*thread {
	out := append(a.taken[:0], a.next...)
	clear(a.next)
	a.next = a.next[:0]
	if a.later != nil {
		slot := &a.later[round%maxRest]
		out = append(out, *slot...)
		if clear(*slot); cap(*slot) > keptRoom {
			*slot = nil
		} else {
			*slot = (*slot)[:0]
		}
	}
	n := min(most, len(a.first))
	out = append(out, a.first[:n]...)
	clear(a.first[:n])
	if a.first = a.first[n:]; len(a.first) == 0 {
		a.first = nil
	}
	a.taken = out
	return out
}

// put notes that t is sampled next in so many rounds.
func (a *agenda) put(t *thread, round, rounds uint64) {
	if rounds <= 1 {
		a.next = append(a.next, t)
		return
	}
	if a.later == nil {
		a.later = new([maxRest][]*thread)
	}
	slot := &a.later[(round+min(rounds, maxRest))%maxRest]
	*slot = append(*slot, t)
}

// remove takes a long sleeper out.
func (a *agenda) remove(t *thread) {
	if a.later == nil {
		return
	}
	for i := range a.later {
		if at := slices.Index(a.later[i], t); at >= 0 {
			a.later[i] = slices.Delete(a.later[i], at, at+1)
			return
		}
	}
}

// clear forgets all.
func (a *agenda) clear() { *a = agenda{} }

// pace is how many threads are sampled in a round, and which.
type pace struct {
	polls     int           // easyPolls, or fewer
	long      int           // threads that have slept long
	every     int           // they are sampled in one of so many cells of the schedule, if their process is
	patient   int           // after how many samples a thread is one of them
	first     int           // threads that may be sampled for the first time in this round
	mostFirst int           // see firsts
	took      time.Duration // the samples of the last round without a stop
}

// plan puts a thread of p where its next sample is: a long sleeper's in one of the next rounds, spread by its slot.
// When that is does not depend on what it does until then, so that nothing is favoured.
func (k *ticker) plan(p *process, t *thread) {
	k.pace.rest(t, t.activity == sleeping && t.still >= k.pace.patient)
	if !t.resting {
		p.agenda.put(t, p.round, 1)
		return
	}
	every := uint64(math.Ceil(float64(k.pace.every) / p.cadence.every))
	p.agenda.put(t, p.round, every-(p.round+uint64(t.slot))%every)
}

// rest notes whether a thread is a long sleeper.
func (c *pace) rest(t *thread, resting bool) {
	switch {
	case resting && !t.resting:
		c.long++
	case !resting && t.resting:
		c.long--
	}
	t.resting = resting
}

// firsts is how many threads may be sampled for the first time in this round: fewer than before if the one
// before took long for it.
func (c *pace) firsts(period time.Duration) int {
	switch {
	case c.took > period/2 && period > 0:
		c.mostFirst = max(leastFirst, c.mostFirst/2)
	default:
		c.mostFirst = min(maxFirst, c.mostFirst+leastFirst)
	}
	return c.mostFirst
}

// beginning reports whether there are threads that were not sampled even once.
func (f *followed) beginning() bool { return f.waiting() > 0 }

// spread decides how seldom a long sleeper is sampled from now on. So many threads were not sampled yet: most of many
// sleep.
func (c *pace) spread(unsampled int) { c.every = min(maxRest, 1+(c.long+unsampled)/c.polls) }

// waiting is how many threads were not sampled even once.
func (f *followed) waiting() (n int) {
	for _, p := range f.processes {
		n += len(p.agenda.first)
	}
	return n
}

// patience is after how many samples without a change a thread counts as a long sleeper now.
func (k *ticker) patience() int {
	return max(leastPatience, min(patience, patience*k.pace.polls/(1+k.follow.threads())))
}

// threads is how many are followed.
func (f *followed) threads() (n int) {
	for _, p := range f.processes {
		n += len(p.threads)
	}
	return n
}
