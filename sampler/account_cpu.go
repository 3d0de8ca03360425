package sampler

import (
	"math/bits"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// cpuWindow is how many running samples of a thread share its CPU time. Fewer would give
// more to samples late in a burst of work: see docs/dev/sampling.md.
const cpuWindow = 64

// maxShare is after how many samples of any kind CPU time is shared, if the thread hardly
// gets a CPU.
const maxShare = 256

// weighted is a stack and how much it counts.
type weighted struct {
	stack  profile.NodeID
	weight int64
}

// cpuShare holds the CPU time of one thread until it is spread over the stacks in which the
// thread was seen running, each in proportion to the time that its samples cover.
//
// Samples of a thread that was ready to run and waited for a CPU count only if there is no other: one that sleeps
// loses the CPU a time slice after it woke, always at the same place, and one that does not where it woke another
// thread.
type cpuShare struct {
	pool   time.Duration
	seen   []weighted // on a CPU
	queued []weighted // ready to run
	n      int        // samples in seen
}

// ran notes samples in which the thread ran, or was ready to.
func (c *cpuShare) ran(stack profile.NodeID, samples int64, wall time.Duration, onCPU bool) {
	list := &c.queued
	if onCPU {
		c.n += int(samples)
		list = &c.seen
	}
	w := max(1, int64(wall))
	if i := len(*list) - 1; i >= 0 && (*list)[i].stack == stack {
		(*list)[i].weight += w
		return
	}
	*list = append(*list, weighted{stack, w})
}

// due reports whether enough samples are there to share the CPU time.
func (c *cpuShare) due() bool { return c.n >= cpuWindow || len(c.seen)+len(c.queued) >= maxShare }

// spread gives all CPU time away, if there is a sample to give it to.
func (c *cpuShare) spread(give func(profile.NodeID, time.Duration)) {
	shares := c.seen
	if len(shares) == 0 {
		shares = append(shares, c.queued...)
	}
	if len(shares) == 0 {
		return
	}
	spread(c.pool, shares, give)
	*c = cpuShare{seen: c.seen[:0], queued: c.queued[:0]}
}

// spread shares total in proportion to the weights, to the last nanosecond.
func spread(total time.Duration, shares []weighted, give func(profile.NodeID, time.Duration)) {
	var sum, upto uint64
	for _, s := range shares {
		sum += uint64(s.weight)
	}
	given := time.Duration(0)
	for _, s := range shares {
		upto += uint64(s.weight)
		hi, lo := bits.Mul64(uint64(total), upto)
		q, _ := bits.Div64(hi, lo, sum) // hi < sum, as upto <= sum and total < 2^63
		give(s.stack, time.Duration(q)-given)
		given = time.Duration(q)
	}
}
