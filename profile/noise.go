package profile

import (
	"cmp"
	"math"
	"slices"
)

// NoiseErrors is how many standard errors a change has to have to be more than chance: 19 of 20 changes that chance
// makes have less.
const NoiseErrors = 2

// mostSamples is how many samples a profile may have that has no other value. More are no samples but times or
// sizes in folded text, which does not say what it counts.
const mostSamples = 200_000_000

// grains says what one sample of p weighs in each of types: the mean over samples, each by its value, so that samples
// of threads that slept and used no CPU do not count for CPU time. It is 0 if p does not count samples.
func (p *Profile) grains(types []ValueType) []float64 {
	grains := make([]float64, len(types))
	counts := slices.Index(p.Types, SamplesCount)
	if counts < 0 || len(p.Types) == 1 && p.Totals()[0] > mostSamples {
		return grains
	}
	for k, t := range types {
		column := slices.Index(p.Types, t)
		if column < 0 {
			continue
		}
		squares, sum := 0.0, 0.0
		for i := range p.Samples {
			v, n := float64(p.Value(i)[column]), float64(p.Value(i)[counts])
			if v > 0 && n > 0 {
				squares, sum = squares+v*v/n, sum+v
			}
		}
		if sum > 0 {
			grains[k] = squares / sum
		}
	}
	return grains
}

// Error returns the standard error of the change from before, scaled, to after, of value typ (an index of d.New.Types):
// that of two counts of independent samples (Poisson), each as large as its own root. It is not ok if a side does not
// count its samples. Samples are taken to be independent; what differs between two runs of the same program for
// other reasons is not in it.
func (d *Diff) Error(typ int, before, after int64) (err float64, ok bool) {
	n, o := d.NewGrain[typ], d.OldGrain[typ]
	if n == 0 && after != 0 || o == 0 && before != 0 || n == 0 && o == 0 {
		return 0, false
	}
	return math.Sqrt(n*math.Abs(float64(after)) + o*math.Abs(float64(before))), true
}

// Noise says that a change is smaller than two of its standard errors ([Diff.Error]). Where those are not known nothing
// but no change is noise.
func (d *Diff) Noise(typ int, before, after int64) bool {
	err, _ := d.Error(typ, before, after)
	return before == after || math.Abs(float64(after)-float64(before)) < NoiseErrors*err
}

// Change is what one function got of a value in an older and a newer profile, the older's scaled.
type Change struct {
	Function
	Frame                 FrameID // the first frame of it
	SelfBefore, Self      int64
	TotalBefore, Total    int64
	SelfError, TotalError float64 // standard errors of the two changes; valid if Known
	Known                 bool
	SelfNoise, TotalNoise bool // the change is within the noise of the samples
}

// Changes says of every function how value typ (an index of d.New.Types) changed: those whose own share changed most
// first, what is noise last.
//
// Precondition: d.New passes [Profile.CheckValid].
func (d *Diff) Changes(typ int) []Change {
	of, first := d.New.Functions()
	all := make([]Change, len(first))
	for i, f := range first {
		all[i] = Change{Function: d.New.Function(f), Frame: f}
	}
	for _, h := range Hottest(d.New, typ) {
		c := &all[of[h.Frame]]
		c.Self, c.Total = h.Self, h.Total
	}
	for _, h := range Hottest(d.Older(), typ) {
		c := &all[of[h.Frame]]
		c.SelfBefore, c.TotalBefore = h.Self, h.Total
	}
	for i := range all {
		c := &all[i]
		c.SelfError, _ = d.Error(typ, c.SelfBefore, c.Self)
		c.TotalError, c.Known = d.Error(typ, c.TotalBefore, c.Total)
		c.SelfNoise, c.TotalNoise = d.Noise(typ, c.SelfBefore, c.Self), d.Noise(typ, c.TotalBefore, c.Total)
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.Total == 0 && c.TotalBefore == 0 })
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(FalseFirst(a.SelfNoise, b.SelfNoise), FalseFirst(a.TotalNoise, b.TotalNoise),
			cmp.Compare(distance(b.Self, b.SelfBefore), distance(a.Self, a.SelfBefore)),
			cmp.Compare(distance(b.Total, b.TotalBefore), distance(a.Total, a.TotalBefore)),
			cmp.Compare(a.String(), b.String()))
	})
	return all
}

func distance(a, b int64) uint64 { return magnitude(a - b) }

// FalseFirst compares by false before true.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
