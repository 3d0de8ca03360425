package sampler

import (
	"math"
	"math/bits"
	"time"
)

// pauses counts how long threads were stopped, in steps of an eighth of a power of two.
type pauses struct {
	counts [64 * 8]uint64
	n      uint64
	max    time.Duration
	sum    time.Duration
}

func (p *pauses) add(d time.Duration) {
	d = max(d, 0)
	p.n++
	p.sum += d
	p.max = max(p.max, d)
	p.counts[step(uint64(d))]++
}

// step is the number of the step that holds v: its highest bit and the three below that.
func step(v uint64) int {
	if v < 8 {
		return int(v)
	}
	high := bits.Len64(v) - 1
	return (high-2)*8 + int(v>>(high-3)&7)
}

// middle is the middle of a step.
func middle(i int) time.Duration {
	if i < 8 {
		return time.Duration(i)
	}
	high := i/8 + 2
	if high > 62 {
		return math.MaxInt64
	}
	width := uint64(1) << (high - 3)
	return time.Duration((8+uint64(i%8))*width + width/2)
}

// quantile returns the pause that a share q of all stays below, 0 if there was none.
func (p *pauses) quantile(q float64) time.Duration {
	left := uint64(q * float64(p.n))
	for i, c := range p.counts {
		if c > left {
			return min(middle(i), p.max)
		}
		left -= c
	}
	return p.max
}
