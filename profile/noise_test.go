package profile

import (
	"math"
	"math/rand/v2"
	"testing"
)

// run is one profile of a program whose functions get samples by chance, each of weight nanoseconds of CPU time, beside
// a thread that sleeps and has as many samples and no CPU time.
func run(r *rand.Rand, means []float64, weight int64) *Profile {
	b := NewBuilder(SamplesCount, CPUTime)
	p := b.Profile()
	p.Modules, p.Default = []Module{{Path: "/bin/prog"}}, 1
	b.Add(b.Child(0, b.Frame(Frame{Func: "sleep", Module: 0})), -1, 5000, 0)
	for i, mean := range means {
		n := int64(0)
		for limit, product := math.Exp(-mean), r.Float64(); product > limit; product *= r.Float64() {
			n++
		}
		if n > 0 {
			b.Add(b.Child(0, b.Frame(Frame{Func: string(rune('a' + i)), Module: 0})), -1, n, n*weight)
		}
	}
	return p
}

// TestNoiseIsRare: of two runs of one program 19 of 20 changes are noise; of what is three times as much nearly none
// is.
func TestNoiseIsRare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	means := []float64{20, 50, 100, 200, 400}
	sure, tripled, all := 0, 0, 0
	half := []float64{10, 25, 50, 100, 200}
	for range 400 {
		newer, older, short := run(r, means, 1e7), run(r, means, 1e7), run(r, half, 1e7)
		newer.Duration, older.Duration, short.Duration = 10e9, 10e9, 5e9
		for _, other := range []*Profile{older, short} { // short's values are doubled
			d, err := Compare(newer, other, DiffOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range d.Changes(1) {
				if c.Name == "sleep" {
					continue
				}
				if !c.Known {
					t.Fatalf("the error of %s is not known", c.Name)
				}
				if all++; !c.TotalNoise {
					sure++
				}
				if !d.Noise(1, c.SelfBefore, 3*c.SelfBefore) {
					tripled++
				}
			}
		}
	}
	if share := float64(sure) / float64(all); share < 0.02 || share > 0.08 {
		t.Errorf("%.3f of %d changes by chance are told from noise, want 0.05", share, all)
	}
	if share := float64(tripled) / float64(all); share < 0.95 {
		t.Errorf("%.3f of what tripled is told from noise, want nearly all", share)
	}
}

// TestNoiseUnknown: where samples are not counted nothing but no change is noise.
func TestNoiseUnknown(t *testing.T) {
	one := func(typ ValueType, v int64) *Profile {
		b := NewBuilder(typ)
		b.Add(b.Child(0, b.Frame(Frame{Func: "f", Module: -1})), -1, v)
		return b.Profile()
	}
	for name, typ := range map[string]ValueType{"bytes": {"space", "bytes"}, "times in folded text": SamplesCount} {
		d, err := Compare(one(typ, 3e9), one(typ, 3e9-1), DiffOptions{Absolute: true})
		if err != nil {
			t.Fatal(err)
		}
		if err, ok := d.Error(0, 3e9-1, 3e9); ok || d.Noise(0, 3e9-1, 3e9) || !d.Noise(0, 5, 5) {
			t.Errorf("%s: error %v, %v, noise %v and %v", name, err, ok, d.Noise(0, 3e9-1, 3e9), d.Noise(0, 5, 5))
		}
	}
}
