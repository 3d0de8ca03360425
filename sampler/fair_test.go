package sampler

import (
	"slices"
	"testing"
	"time"
)

func TestFairHalvings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		costs    []float64
		halvings int
		want     []int
	}{
		{"nothing to save", []float64{500, 1}, 0, []int{0, 0}},
		{"one alone", []float64{100}, 3, []int{3}},
		{"equal ones", []float64{10, 10, 10, 10}, 2, []int{2, 2, 2, 2}},
		{"one that takes nearly all", []float64{500, 1, 1, 2}, 1, []int{2, 0, 0, 0}},
		{"two of them", []float64{400, 400, 1}, 2, []int{3, 3, 0}},
		{"small ones too, in the end", []float64{64, 8, 8}, 4, []int{6, 3, 3}},
		{"idle ones are left alone", []float64{100, 0}, 1, []int{1, 0}},
		{"nobody", nil, 1, []int{}},
	} {
		got := fairHalvings(tt.costs, tt.halvings)
		sum, allowed := 0.0, 0.0
		for i, c := range tt.costs {
			sum += c / float64(int(1)<<got[i])
			allowed += c / float64(int(1)<<tt.halvings)
		}
		if !slices.Equal(got, tt.want) || sum > allowed {
			t.Errorf("%s: %v, want %v; it costs %v of %v", tt.name, got, tt.want, sum, allowed)
		}
	}
}

// TestCrowdStarvesNobody: a process of many threads that run is sampled less often when all of it costs too much; one
// with a single thread keeps its rate, and the time of both is whole.
func TestCrowdStarvesNobody(t *testing.T) {
	const end = 60 * time.Second
	f := newFake(end)
	crowd := f.process(1)
	for tid := 100; tid < 400; tid++ {
		crowd.threads[tid] = busy
	}
	f.process(2).threads[2] = busy
	f.cpu = func(time.Duration) (cost time.Duration) { // each stop costs 20 µs of ours
		for _, n := range f.stops {
			cost += time.Duration(n) * 20 * time.Microsecond
		}
		return cost
	}
	r := newRecorder(Options{Rate: 50, MaxOverhead: 0.03, Gentle: true}, f)
	defer r.Close()
	if err := r.Add(2); err != nil {
		t.Fatal(err)
	}
	p, s := finish(t, r, f)
	alone, wall, cpu := amounts(p, 2, 0)
	if alone < 2900 || wall != s.Elapsed || cpu < s.Elapsed-40*time.Millisecond {
		t.Errorf("the single thread: %d samples, %v, cpu %v of %v", alone, wall, cpu, s.Elapsed)
	}
	of, wall, cpu := amounts(p, 200, 0)
	if of > 1000 || of < 60 || wall < s.Elapsed-5*time.Second || cpu < s.Elapsed*9/10 {
		t.Errorf("one of the crowd: %d samples, %v, cpu %v of %v", of, wall, cpu, s.Elapsed)
	}
	spent := f.OwnCPU() / (end / time.Second) // a second, with the time until it was lowered
	if s.BackedOff == 0 || spent > 60*time.Millisecond {
		t.Errorf("lowered %d times, %v a second", s.BackedOff, spent)
	}
}

// TestLowestRatesLast: a process that was not sampled in a window, as its rate is so low, does not count as one that
// costs nothing and may be sampled at the full rate.
func TestLowestRatesLast(t *testing.T) {
	const end, minute = 10 * time.Minute, time.Minute
	f := newFake(end)
	for pid := 1; pid <= 20; pid++ {
		f.process(pid).threads[pid] = busy
		f.process(pid).threads[100+pid] = busy
	}
	f.process(21).threads[21] = parked   // costs nothing, and keeps its rate
	var spent []time.Duration            // by minute
	cost := func() (sum time.Duration) { // each stop costs 5 ms of ours
		for _, n := range f.stops {
			sum += time.Duration(n) * 5 * time.Millisecond
		}
		return sum
	}
	f.cpu = func(now time.Duration) time.Duration {
		for len(spent) <= int(now/minute) {
			spent = append(spent, cost())
		}
		return cost()
	}
	r := newRecorder(Options{Rate: 19, MaxOverhead: 0.01, Gentle: true, Stay: true, BudgetWindow: 15 * time.Second}, f)
	defer r.Close()
	for pid := 2; pid <= 21; pid++ {
		if err := r.Add(pid); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, r, f)
	for m := 4; m < len(spent); m++ {
		if share := float64(spent[m]-spent[m-1]) / float64(minute); share > 0.02 {
			t.Errorf("minute %d: %.3f of a CPU, want 0.01", m, share)
		}
	}
	for _, p := range r.Processes() {
		if p.PID != 21 && p.Rate > 1 {
			t.Errorf("process %d is sampled at %.3g Hz in the end", p.PID, p.Rate)
		}
	}
}
