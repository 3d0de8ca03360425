package sampler

import (
	"math"
	"slices"
	"time"
)

// cadence is how often a process is sampled, with what it has started: once in each of its own cells, which are so many
// cells of the schedule long as the budget makes them. In which of them is drawn, as is the moment in that one, so that
// no program in a rhythm of its own is always met at the same place; a sample covers the process's cell.
//
// What was born and what has ended within a cell of its process was met with the chance that it was there at that
// moment, so a thread that is met young stands for the whole cell.
type cadence struct {
	every float64 // cells of the schedule, at least 1
	from  int64   // the number of the first in its cell
	edge  float64 // and of the first behind it; 0: it has none yet
	at    int64   // of that in which it is sampled
	strata

	round uint64        // of the ticker in which it was sampled last
	since time.Duration // from when new threads are covered by the sample of this round
	upto  time.Duration // until when that covers

	cost   uint64  // since costs were compared last, see readCost
	price  float64 // what it costs in a window if it is sampled in each round, by what it did
	rounds uint64  // in this window
	priced bool    // price is of a window
}

func newCadence(upto time.Duration, draw func() float64) *cadence {
	return &cadence{every: 1, upto: upto, strata: strata{draw: draw}}
}

// meet begins a sample, in a round of the ticker that is the one of a cell and covers the time until upto, if it is
// due. It returns how many cells went by without a sample.
func (c *cadence) meet(round uint64, cell int64, upto, period time.Duration) (missed uint64) {
	if c.round == round || cell < c.at && period > 0 {
		return 0
	}
	c.round = round
	c.rounds++
	c.since = c.upto
	if period == 0 {
		c.upto = upto
		return 0
	}
	if c.edge == 0 {
		c.from, c.edge = cell, float64(cell+1)
	}
	if behind := float64(cell+1) - c.edge; behind > 0 {
		missed = uint64(math.Ceil(behind / c.every))
		c.from = int64(c.edge + float64(missed-1)*c.every)
		c.edge += float64(missed) * c.every
	}
	next := int64(c.edge)
	upto += time.Duration(next-1-cell) * period
	c.since = max(c.upto, upto-time.Duration(next-c.from)*period) // of cells that were missed it stands for the last
	c.upto = max(c.upto, upto)
	c.from, c.edge, c.at = next, c.edge+c.every, next
	if n := int64(c.edge) - next; n > 1 {
		c.at += int64(c.moment() * float64(n))
	}
	return missed
}

// begins is until when threads of its processes are covered that began, and are not met yet.
func (c *cadence) begins(round uint64) time.Duration {
	if c.round == round {
		return c.since
	}
	return c.upto
}

// What one budget lets all processes cost together is shared among them: who needs less than its part gets all that it
// needs, and the others share the rest (max-min fairness).
// Source: Bertsekas, Gallager, Data Networks, 2nd edition, 6.5.2.

// What a sample costs, about, in units of the reading of a thread's counters.
const (
	readCost = 1
	peekCost = 15
	stopCost = 40
)

// fewRounds is below how many samples of a process in a window they say little of what it costs.
const fewRounds = 8

// waterLevel is the most that one may cost for all of them to cost a share of what they want.
func waterLevel(costs []float64, share float64) float64 {
	sorted := slices.Clone(costs)
	slices.Sort(sorted)
	left := 0.0
	for _, c := range sorted {
		left += c
	}
	left *= share
	for i, c := range sorted {
		part := left / float64(len(sorted)-i)
		if c >= part {
			return part
		}
		left -= c
	}
	return math.Inf(1)
}

// cadences are those of all processes, each once.
func (f *followed) cadences() (all []*cadence) {
	seen := map[*cadence]bool{}
	for _, p := range f.processes {
		if !seen[p.cadence] {
			seen[p.cadence] = true
			all = append(all, p.cadence)
		}
	}
	return all
}

// share gives each process its part of a share of what all of them cost at the full rate, one in longest rounds at
// least.
func (f *followed) share(share, longest float64) {
	all := f.cadences()
	prices := make([]float64, len(all))
	for i, c := range all {
		c.appraise()
		prices[i] = c.price
	}
	level := waterLevel(prices, share)
	for i, c := range all {
		c.every = 1
		if share < 1 && prices[i] > level {
			c.every = min(longest, prices[i]/level)
		}
	}
}

// appraise finds what it would have cost in this window at the full rate. Where it was sampled once or not at all it is
// what it was before.
func (c *cadence) appraise() {
	price := float64(c.cost) * c.every
	switch {
	case c.rounds == 0:
		return
	case c.rounds < fewRounds && c.priced:
		price = (price + c.price) / 2
	}
	c.price, c.priced, c.rounds, c.cost = price, true, 0, 0
}

// isDue reports whether p is sampled in this round.
func (k *ticker) isDue(p *process) bool { return p.cadence.round == k.turn.round }

// soonest is the number of the next cell in which one is to be sampled, behind one of that number.
func (f *followed) soonest(cell int64) int64 {
	next := int64(math.MaxInt64)
	for _, p := range f.processes {
		next = min(next, p.cadence.at)
	}
	if next == math.MaxInt64 {
		next = 0
	}
	return max(next, cell+1)
}

// Followed is one process of a recording.
type Followed struct {
	PID     int
	Threads int
	Rate    float64 // samples a second of each thread now, 0: as many as possible
}

// Processes lists what was followed at the last round, and what was added since.
func (r *Recorder) Processes() []Followed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.followed
}

// list makes what Processes returns.
func (r *Recorder) list() (all []Followed) {
	for _, p := range r.ticker.follow.processes {
		all = append(all, Followed{p.target.PID(), len(p.threads), r.opt.Rate / p.cadence.every})
	}
	return all
}
