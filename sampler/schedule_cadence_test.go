package sampler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestFairShares(t *testing.T) {
	for _, tt := range []struct {
		name  string
		costs []float64
		share float64
		want  []float64
	}{
		{"nothing to save", []float64{500, 1}, 1, []float64{1, 1}},
		{"one alone", []float64{100}, 0.125, []float64{8}},
		{"equal ones", []float64{10, 10, 10, 10}, 0.25, []float64{4, 4, 4, 4}},
		{"one that takes nearly all", []float64{500, 1, 1, 2}, 0.5, []float64{500. / 248, 1, 1, 1}},
		{"two of them", []float64{400, 400, 1}, 0.25, []float64{400 / 99.625, 400 / 99.625, 1}},
		{"small ones too, in the end", []float64{64, 8, 8}, 0.0625, []float64{38.4, 4.8, 4.8}},
		{"idle ones are left alone", []float64{100, 0}, 0.5, []float64{2, 1}},
		{"nobody", nil, 0.5, nil},
		{"as seldom as may be", []float64{10}, 1e-6, []float64{512}},
	} {
		var f followed
		for _, c := range tt.costs {
			f.processes = append(f.processes, &process{cadence: &cadence{every: 1, cost: uint64(c), rounds: 100}})
		}
		f.processes = append(f.processes, f.processes...) // and what each has begun
		f.share(tt.share, 512)
		var got []float64
		for _, c := range f.cadences() {
			got = append(got, c.every)
		}
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: one round in %v, want %v", tt.name, got, tt.want)
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

// TestBroodUnderABudget: threads and children of 4 ms, of which there is one for 0.4 of the time, have 0.4 of the time
// however seldom their process is sampled to stay within the budget: each that is met stands for those of all the time
// that its process was not sampled.
func TestBroodUnderABudget(t *testing.T) {
	const end = 120 * time.Second
	for _, threads := range []bool{true, false} {
		for _, every := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("threads %v, one round in %d", threads, every), func(t *testing.T) {
				f := newFake(end)
				brood(f, f.process(1), threads)
				f.process(2).threads[2] = parked // which costs next to nothing, and keeps its rate
				f.cpu = func(time.Duration) (cost time.Duration) {
					for _, n := range f.stops { // 40 a second at the full rate
						cost += time.Duration(n*every) * 200 * time.Microsecond
					}
					return cost
				}
				r := newRecorder(Options{Rate: 99, MaxOverhead: 0.01, Gentle: true, Children: true}, f)
				defer r.Close()
				if err := r.Add(2); err != nil {
					t.Fatal(err)
				}
				got, s := finish(t, r, f)
				n, wall, _ := amounts(got, 0, 0x2000)
				near(t, "brood", wall, end*4/10, end*4/100)
				if most := int64(40*120*3/2) / int64(every); n > most || n < most/6 {
					t.Errorf("%d samples of the brood, want about %d", n, most*2/3)
				}
				if n, wall, _ := amounts(got, 2, 0); wall != s.Elapsed || n < int64(s.Ticks)*9/10 {
					t.Errorf("the other process: %d samples in %d rounds, %v of %v", n, s.Ticks, wall, s.Elapsed)
				}
			})
		}
	}
}

// TestCadence: a process is sampled once in each of its own cells, at a moment in it that any is as likely as another,
// and its samples cover all of the time, also where cells of the schedule go by without a round.
func TestCadence(t *testing.T) {
	const period, cells = 10 * time.Millisecond, 100_000
	for _, every := range []float64{1, 1.25, 8, 100} {
		for _, late := range []bool{false, true} {
			rnd := rand.New(rand.NewPCG(1, 2))
			c := newCadence(0, rnd.Float64)
			c.every = every
			var covered time.Duration
			var samples, missed int
			var eighths [8]int
			for cell := int64(0); cell < cells; cell++ {
				if at := cell % 1000; late && at >= 300 && at < 600 {
					continue
				}
				from, edge := c.from, int64(c.edge)
				missed += int(c.meet(uint64(cell+1), cell, time.Duration(cell+1)*period, period))
				if c.round != uint64(cell+1) {
					continue
				}
				samples++
				covered += c.upto - c.begins(c.round)
				if !late && edge > 0 {
					eighths[8*(cell-from)/(edge-from)]++
				}
			}
			name := fmt.Sprintf("one round in %v, late %v", every, late)
			end := cells * period
			if most := end + time.Duration(every)*period; !late &&
				(covered < end || covered > most || c.upto != covered || missed > 0) {
				t.Errorf("%s: %v of %v are covered, %d missed", name, covered, end, missed)
			}
			if want := int(cells / every); samples+missed < want-2 || samples+missed > want+2 {
				t.Errorf("%s: %d samples, %d missed, want %d in all", name, samples, missed, want)
			}
			if mean := samples / 8; every == 8 && !late && slices.ContainsFunc(eighths[:],
				func(n int) bool { return n < mean*9/10 || n > mean*11/10 }) {
				t.Errorf("%s: %v samples in the eighths of its cells", name, eighths)
			}
		}
	}
}
