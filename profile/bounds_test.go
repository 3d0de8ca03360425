package profile

import (
	"math"
	"testing"
	"time"
)

func oneValue(v int64, d time.Duration) *Profile {
	b := NewBuilder(SamplesCount)
	b.Add(b.Child(0, b.Frame(Frame{Func: "f", Module: -1})), -1, v)
	p := b.Profile()
	p.Duration = d
	return p
}

// TestMergeBeyondInt64 refuses sums that would turn negative, and takes the largest that does not.
func TestMergeBeyondInt64(t *testing.T) {
	big := oneValue(math.MaxInt64-1, 0)
	if p, err := Merge(big, oneValue(2, 0)); err == nil {
		t.Errorf("got a sum of %d, want an error", p.Totals()[0])
	}
	if p, err := Merge(oneValue(-5, 0), oneValue(math.MinInt64, 0)); err == nil {
		t.Errorf("got a sum of %d, want an error", p.Totals()[0])
	}
	if p, err := Merge(big, oneValue(1, 0)); err != nil || p.Totals()[0] != math.MaxInt64 {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestCompareBeyondInt64 refuses an older profile whose scaled values do not fit.
func TestCompareBeyondInt64(t *testing.T) {
	d, err := Compare(oneValue(1, 10*time.Second), oneValue(math.MaxInt64/2, time.Second), DiffOptions{})
	if err == nil {
		t.Errorf("got %v, want an error", d.Old)
	}
	d, err = Compare(oneValue(1, 10*time.Second), oneValue(math.MaxInt64, time.Second), DiffOptions{Absolute: true})
	if err != nil || d.Old[0] != math.MaxInt64 {
		t.Errorf("absolute: got %v, %v", d, err)
	}
}
