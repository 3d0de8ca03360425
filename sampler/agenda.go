package sampler

import (
	"slices"
	"time"
)

const (
	// easyPolls is how many long sleepers are sampled in a round, if they are not so many that
	// it would leave one alone for more than maxEvery rounds.
	easyPolls = 256
	maxEvery  = 128
	// Of more than manySleepers that take next to no CPU time calmPolls are sampled, and one is left alone
	// for calmEvery rounds at the most.
	manySleepers = 4096
	calmPolls    = 32
	calmEvery    = 512
	// calmCPU is how much CPU time long sleepers may be found to take, in calmWindow, to count as calm.
	calmCPU    = 10 * time.Millisecond
	calmWindow = time.Second
	// maxFirst is how many threads are sampled for the first time in a round, at least leastFirst, so that it takes
	// half of its time: of the others the first sample comes later, and covers the time until then.
	maxFirst   = 256
	leastFirst = 16
)

// agenda holds the threads of one process by when they are sampled next, so that a round touches none but
// those that are due: to pass over 20,000 takes a millisecond.
type agenda struct {
	first []*thread             // not sampled yet, in the order in which they were found
	next  []*thread             // in each round
	later *[calmEvery][]*thread // long sleepers, by the number of the round; nil: none yet
	taken []*thread             // room for those that are due
}

// due takes those out that are due in round, of the new ones most at the most. They belong to the caller
// until the next call, who puts back those that live.
func (a *agenda) due(round uint64, most int) []*thread {
	out := append(a.taken[:0], a.next...)
	clear(a.next)
	a.next = a.next[:0]
	if a.later != nil {
		slot := &a.later[round%calmEvery]
		out = append(out, *slot...)
		*slot = nil
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
		a.later = new([calmEvery][]*thread)
	}
	slot := &a.later[(round+min(rounds, calmEvery))%calmEvery]
	*slot = append(*slot, t)
}

// clear forgets all.
func (a *agenda) clear() { *a = agenda{} }

// plan puts a thread of p where its next sample is: a long sleeper's in one of the next rounds, spread by its slot.
// When that is does not depend on what it does until then, so that nothing is favoured.
func (k *ticker) plan(p *process, t *thread) {
	k.rest(t, t.activity == sleeping && t.still >= k.patient)
	if !t.resting {
		p.agenda.put(t, k.round, 1)
		return
	}
	every := uint64(k.every)
	p.agenda.put(t, k.round, every-(k.round+uint64(t.slot))%every)
}

// rest notes whether a thread is a long sleeper.
func (k *ticker) rest(t *thread, resting bool) {
	switch {
	case resting && !t.resting:
		k.long++
	case !resting && t.resting:
		k.long--
	}
	t.resting = resting
}

// firsts is how many threads may be sampled for the first time in this round: fewer than before if the one
// before took long for it.
func (k *ticker) firsts(period time.Duration) int {
	switch {
	case k.roundTook > period/2 && period > 0:
		k.mostFirst = max(leastFirst, k.mostFirst/2)
	default:
		k.mostFirst = min(maxFirst, k.mostFirst+leastFirst)
	}
	return k.mostFirst
}

// beginning reports whether there are threads that were not sampled even once.
func (k *ticker) beginning() bool {
	return slices.ContainsFunc(k.processes, func(p *process) bool { return len(p.agenda.first) > 0 })
}

// spread decides in one of how many rounds a long sleeper is sampled from now on.
func (k *ticker) spread() {
	if k.now-k.calmFrom >= calmWindow {
		k.calm = k.woken < calmCPU
		k.calmFrom, k.woken = k.now, 0
	}
	long := k.long
	for _, p := range k.processes {
		long += len(p.agenda.first) // most of many sleep
	}
	k.every = min(maxEvery, 1+long/easyPolls)
	if k.calm && long > manySleepers {
		k.every = min(calmEvery, 1+long/calmPolls)
	}
}

// patience is after how many samples without a change a thread counts as a long sleeper now.
func (k *ticker) patience() int {
	return max(leastPatience, min(patience, patience*easyPolls/(1+k.threads())))
}

// threads is how many are followed.
func (k *ticker) threads() (n int) {
	for _, p := range k.processes {
		n += len(p.threads)
	}
	return n
}
