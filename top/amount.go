package top

import (
	"math"
	"slices"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// amount is how much a stack, a row or a call got.
type amount struct {
	value float64 // of the chosen type, weighted
	cpu   float64 // CPU time, weighted; 0 too where the profile does not have it
	// early and late are samples in the window, if the profile counts them, else values:
	// before and after lateAfter before its end.
	early, late float64
}

func (a *amount) add(b amount) {
	a.value += b.value
	a.cpu += b.cpu
	a.early += b.early
	a.late += b.late
}

// round makes a sum whole, so that it does not depend on the order of its parts.
func (a *amount) round() { a.value = math.Round(a.value) }

// lateAfter is what share of the window a change is looked for in.
const lateAfter = 0.3

// data is what can be shown: a store and the takes of it that count. A frozen table keeps an
// older one than the store's own.
type data struct {
	store   *store
	p       *profile.Profile // names, tasks and the tree; samples are below
	groups  *groups          // of its frames and nodes
	slots   []slot
	now     time.Duration
	window  time.Duration
	samples []profile.Sample // since the begin
	values  []int64
}

// data gives what the store holds now. It stays as it is when more is added.
func (s *store) data(window time.Duration) *data {
	p := s.profile()
	return &data{store: s, p: p, groups: &s.groups, slots: s.slots, now: s.now, window: window, samples: p.Samples,
		values: p.Values}
}

// folded returns d with native code below a function of a language as that function's. Rows have the same ids.
func (d *data) folded() *data {
	out, p := *d, *d.p
	var to []profile.NodeID
	p.Tree, to = d.p.NativeFolded()
	out.p, out.groups = &p, d.groups.onTree(&p.Tree)
	out.samples = moved(d.samples, to)
	out.slots = slices.Clone(d.slots)
	for i := range out.slots {
		out.slots[i].samples = moved(out.slots[i].samples, to)
	}
	return &out
}

// moved returns samples with the stacks that those of theirs have become.
func moved(samples []profile.Sample, to []profile.NodeID) []profile.Sample {
	out := slices.Clone(samples)
	for i := range out {
		out[i].Stack = to[out[i].Stack]
	}
	return out
}

// freeze makes d independent of what is added to its store.
func (d *data) freeze() *data {
	frozen := *d
	frozen.slots = append([]slot(nil), d.slots...)
	frozen.values = append([]int64(nil), d.values...)
	return &frozen
}

// covered is the time that d covers.
func (d *data) covered(sinceBegin bool) time.Duration {
	if sinceBegin {
		return d.now - d.store.begin
	}
	sum := time.Duration(0)
	for i := range d.slots {
		sum += d.slots[i].to - d.slots[i].from
	}
	return sum
}

// weight says how much a slot counts: by the age of its middle.
func (d *data) weight(s *slot) float64 {
	age := d.now - (s.from+s.to)/2
	return max(0, 1-float64(age)/float64(d.window))
}

// each calls f for every sample that counts, with its amount.
func (d *data) each(sinceBegin bool, f func(profile.Sample, amount)) {
	p := d.p
	types, shown := len(p.Types), p.Default
	counts := p.TypeIndex(profile.SamplesCount.Type)
	if counts < 0 {
		counts = shown
	}
	cpu := p.TypeIndex(profile.CPUTime.Type)
	used := func(values []int64) float64 {
		if cpu < 0 {
			return 0
		}
		return float64(values[cpu])
	}
	scale := d.scale()
	for i := range d.slots {
		s := &d.slots[i]
		w := d.weight(s) * scale
		if sinceBegin {
			w = 0
		}
		isLate := s.to > d.now-time.Duration(lateAfter*float64(d.window))
		for k, sample := range s.samples {
			got, seen := float64(s.values[k*types+shown]), float64(s.values[k*types+counts])
			a := amount{value: w * got, cpu: w * used(s.values[k*types:])}
			switch {
			case got <= 0: // a sample of a thread that used no CPU says nothing about shares of it
			case isLate:
				a.late = seen
			default:
				a.early = seen
			}
			f(sample, a)
		}
	}
	if sinceBegin {
		for k, sample := range d.samples {
			f(sample, amount{value: float64(d.values[k*types+shown]), cpu: used(d.values[k*types:])})
		}
	}
}

// scale makes the weighted values of a steady load its real ones.
func (d *data) scale() float64 {
	weighted := 0.0
	for i := range d.slots {
		weighted += d.weight(&d.slots[i]) * float64(d.slots[i].to-d.slots[i].from)
	}
	if weighted <= 0 {
		return 0
	}
	return float64(d.covered(false)) / weighted
}

// Trend says whether a share changes.
type Trend int8

// The trends.
const (
	Falling Trend = iota - 1
	Steady
	Rising
)

func (t Trend) String() string { return [...]string{"falling", "steady", "rising"}[t+1] }

// Bounds of a trend: the share changed by so much at least, and by more than so many standard
// deviations that chance gives a count of independent samples.
const (
	trendShare      = 0.02
	trendDeviations = 3
	trendSamples    = 30 // fewer say nothing
)

// trend compares a's share of sum in the later part of the window with that in the earlier.
func trend(a, sum amount, counted bool) Trend {
	least := float64(trendSamples)
	if !counted {
		least = 0
	}
	if sum.early <= least || sum.late <= least {
		return Steady
	}
	early, late := a.early/sum.early, a.late/sum.late
	bound := 0.05
	if counted {
		p := (a.early + a.late) / (sum.early + sum.late)
		bound = trendDeviations * math.Sqrt(p*(1-p)*(1/sum.early+1/sum.late))
	}
	switch change := late - early; {
	case math.Abs(change) < max(bound, trendShare):
		return Steady
	case change > 0:
		return Rising
	}
	return Falling
}
