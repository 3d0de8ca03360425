package profile

import (
	"fmt"
	"math"
	"math/bits"
)

// magnitudes sums, for each type of p, how far its values are from 0; what is beyond 64 bits counts as the
// most that fits.
func (p *Profile) magnitudes() []uint64 {
	sums := make([]uint64, len(p.Types))
	for i := range p.Samples {
		for k, v := range p.Value(i) {
			sums[k] = plus(sums[k], magnitude(v))
		}
	}
	return sums
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// plus adds, and stays at the most that fits.
func plus(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// checkSums reports whether values of ps that are added up may leave the range of an int64.
func checkSums(ps []*Profile) error {
	sums := map[ValueType]uint64{}
	for _, p := range ps {
		for k, m := range p.magnitudes() {
			t := p.Types[k]
			if sums[t] = plus(sums[t], m); sums[t] > math.MaxInt64 {
				return fmt.Errorf("merge profiles: the sum of %s/%s does not fit in 63 bits", t.Type, t.Unit)
			}
		}
	}
	return nil
}

// checkScaled reports whether the values of p times their scale stay in the range of an int64. scale has a
// factor for each of types.
func checkScaled(p *Profile, types []ValueType, scale []float64) error {
	sums := map[ValueType]uint64{}
	for k, m := range p.magnitudes() {
		sums[p.Types[k]] = m
	}
	for k, t := range types {
		if scaled := float64(sums[t]) * scale[k]; scaled > 1<<62 && scale[k] != 1 {
			return fmt.Errorf("compare profiles: the older's %s/%s times %.3g does not fit in 63 bits", t.Type, t.Unit,
				scale[k])
		}
	}
	return nil
}
