package sampler

import (
	"math"
	"slices"
)

// What one budget lets all processes cost together is shared among them: who needs less than its part gets all that it
// needs, and the others share the rest (max-min fairness). A process that costs too much is sampled in one of 2, 4 or
// more rounds, and its samples count for more.
// Source: Bertsekas, Gallager, Data Networks, 2nd edition, 6.5.2.

// What a sample costs, about, in units of the reading of a thread's counters.
const (
	readCost = 1
	peekCost = 15
	stopCost = 40
)

// fewRounds is below how many samples of a process in a window they say little of what it costs.
const fewRounds = 8

// fairHalvings returns how often the rate of each process is halved, where costs are what they would cost at the full
// rate, and all of them together may cost that halved so many times.
func fairHalvings(costs []float64, halvings int) []int {
	out := make([]int, len(costs))
	if halvings == 0 {
		return out
	}
	level := waterLevel(costs, math.Ldexp(1, -halvings))
	for i, c := range costs {
		for out[i] < gentleHalvings && math.Ldexp(c, -out[i]) > level {
			out[i]++
		}
	}
	return out
}

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

// shareRate gives each process its part of a rate that was halved so many times, and returns how many of those
// halvings are those of all of them: of the rounds themselves.
func (k *ticker) shareRate(halvings int) (common int) {
	costs := make([]float64, len(k.processes))
	for i, p := range k.processes {
		p.appraise(k.every)
		costs[i] = p.price
	}
	each := fairHalvings(costs, halvings)
	if common = gentleHalvings; len(each) == 0 {
		common = halvings
	}
	for _, h := range each {
		common = min(common, h)
	}
	for i, p := range k.processes {
		p.every = 1 << (each[i] - common)
	}
	k.every = 1 << common
	return common
}

// appraise finds what p would have cost in this window at the full rate, where rounds are one in every. Where it was
// sampled once or not at all it is what it was before.
func (p *process) appraise(every uint64) {
	price := float64(p.cost) * float64(p.every) * float64(every)
	switch n := p.round - p.appraised; {
	case n == 0:
		return
	case n < fewRounds && p.appraised > 0:
		price = (price + p.price) / 2
	}
	p.price, p.appraised, p.cost = price, p.round, 0
}

// isDue reports whether p is sampled in this round.
func (k *ticker) isDue(p *process) bool { return p.every <= 1 || (k.round+p.turn)%p.every == 0 }

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
	rate := r.plan.rate
	if rate == 0 {
		rate = r.opt.Rate
	}
	for _, p := range r.ticker.processes {
		all = append(all, Followed{p.target.PID(), len(p.threads), rate / float64(p.every)})
	}
	return all
}
