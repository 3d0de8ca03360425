package sampler

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// bursty computes 3 ms of each 10.09, in three places.
func bursty(now time.Duration) view {
	const cycle = 10090 * time.Microsecond
	cycles, at := now/cycle, now%cycle
	v := view{switches: uint64(cycles), cpu: cycles * 3 * time.Millisecond}
	switch {
	case at < time.Millisecond:
		v.stack = []uint64{0x2000, 0x4000}
	case at < 3*time.Millisecond:
		v.stack = []uint64{0x2100, 0x4000}
	default:
		v.stack, v.asleep, at = []uint64{0x5000, 0x4000}, true, 3*time.Millisecond
	}
	v.cpu += at
	return v
}

// crowd is a process of several kinds of threads, with more long sleepers than are read in each round.
func crowd(f *fake, pause time.Duration) {
	p := f.process(1)
	p.threads[1] = func(now time.Duration) view { v := busy(now); v.pause = pause; return v }
	p.threads[2] = bursty
	p.threads[3] = func(now time.Duration) view { // begins, and ends
		v := busy(now)
		v.gone = now < 4*time.Second || now > 9*time.Second
		return v
	}
	for tid := 10; tid < 610; tid++ {
		p.threads[tid] = parked
	}
	f.births = func(now time.Duration) {
		if now >= 4*time.Second && f.kin[3] == [2]int{} {
			f.kin[3], f.last = [2]int{1, 0}, 103
		}
	}
	f.kin[103] = [2]int{1, 0}
}

// intervals records f with its accounts closed at each of ends, and returns the profiles.
func intervals(t *testing.T, f *fake, opt Options, ends []time.Duration) (parts []*profile.Profile) {
	t.Helper()
	r := newRecorder(opt, f)
	t.Cleanup(func() { r.Close() })
	r.draw = rand.New(rand.NewPCG(1, f.seed)).Float64
	var under *taking
	finishOne := func() {
		if under == nil {
			return
		}
		<-under.done
		p, err := r.finishTaking(under)
		if err != nil {
			t.Error(err)
		}
		parts = append(parts, p)
		under = nil
	}
	births := f.births
	f.births = func(now time.Duration) { // in each round, where the ticker may be used
		if births != nil {
			births(now)
		}
		if r.ticker.boundary == nil && len(ends) > 0 && now > 100*time.Millisecond {
			finishOne()
			at := ends[0]
			ends = ends[1:]
			r.ticker.boundary = &boundary{at, func(at time.Duration) {
				under = &taking{done: make(chan struct{})}
				r.beginTaking(under, &at)
			}}
			r.plan.endAt(at)
		}
	}
	if err := r.Add(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.cancel = cancel
	f.settle = r.settled
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	finishOne()
	last, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return append(parts, last)
}

// TestIntervalsAddUp: profiles that end at given times have the time until then and no more, and add up to the one of
// a recording without them, sample by sample.
func TestIntervalsAddUp(t *testing.T) {
	const end = 10*time.Second + 3*time.Millisecond
	ends := []time.Duration{2 * time.Second, 4 * time.Second, 5 * time.Second, 7 * time.Second, 8 * time.Second}
	for _, tt := range []struct {
		name  string
		rate  float64
		ends  []time.Duration
		exact bool // boundaries are where cells of the long recording end
	}{
		{"at ends of cells", 100, ends, true},
		{"in the middle of cells", 99, []time.Duration{2004 * time.Millisecond, 6111 * time.Millisecond}, false},
		{"few samples", 1, ends, true},
		{"as fast as it goes", 0, ends, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			long := newFake(end)
			pause := time.Duration(0)
			if tt.rate == 0 {
				pause = 5 * time.Millisecond
			}
			crowd(long, pause)
			whole, _, _ := drawn(t, long, Options{Rate: tt.rate})
			cut := newFake(end)
			crowd(cut, pause)
			parts := intervals(t, cut, Options{Rate: tt.rate}, tt.ends)
			if len(parts) != len(tt.ends)+1 {
				t.Fatalf("%d intervals, want %d", len(parts), len(tt.ends)+1)
			}
			var begin time.Duration
			for i, p := range parts {
				until := end
				if i < len(tt.ends) {
					until = tt.ends[i]
				}
				if p.Duration != until-begin && i < len(tt.ends) {
					t.Errorf("interval %d lasts %v, want %v", i, p.Duration, until-begin)
				}
				for _, tid := range []int{1, 2, 10, 609} {
					if _, wall, _ := amounts(p, tid, 0); wall != p.Duration && tt.rate != 1 {
						t.Errorf("interval %d of %v: thread %d has %v", i, p.Duration, tid, wall)
					}
				}
				begin = until
			}
			sum, err := profile.Merge(parts...)
			if err != nil {
				t.Fatal(err)
			}
			for _, tid := range []int{0, 1, 2, 3, 10, 609} {
				wantN, want, wantCPU := amounts(whole, tid, 0)
				gotN, got, gotCPU := amounts(sum, tid, 0)
				if tid == 3 && !tt.exact {
					continue // when it is met is a matter of rounds
				}
				if tt.exact && (got != want || gotN != wantN || gotCPU != wantCPU) {
					t.Errorf("thread %d: %d samples, %v, cpu %v in all, want %d, %v, %v", tid, gotN, got, gotCPU, wantN,
						want, wantCPU)
				}
			}
			for _, pc := range []uint64{0x2000, 0x2100, 0x3000, 0x5000} {
				if _, want, _ := amounts(whole, 0, pc); tt.exact {
					if _, got, _ := amounts(sum, 0, pc); got != want {
						t.Errorf("at %#x: %v in all, want %v", pc, got, want)
					}
				}
			}
		})
	}
}
