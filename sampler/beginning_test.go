package sampler

import (
	"strings"
	"testing"
	"time"
)

// While threads are met for the first time the rate stays, for a few seconds at the most: it is the cost of what goes
// on that counts.
func TestTheBeginningLowersNothing(t *testing.T) {
	b := newBudget(&Options{Rate: 99, MaxOverhead: 0.05}, 0, 0)
	cost := func(now time.Duration) spent { return spent{cpu: now / 2, beginning: true} }
	for now := time.Duration(0); now < longestFirst; now += 100 * time.Millisecond {
		if _, over := b.check(now, cost(now)); b.share != 1 || over != nil {
			t.Fatalf("after %v: share %v, too much %v, want all and nothing", now, b.share, over)
		}
	}
	if b.begun {
		t.Error("the beginning was over before its time")
	}
	lowered := false
	for now := longestFirst; now < longestFirst+3*time.Second; now += 100 * time.Millisecond {
		b.check(now, cost(now))
		lowered = lowered || b.share < 1
	}
	if !lowered {
		t.Error("half a CPU for 5 % did not lower the rate once the beginning was over")
	}
}

// First samples that take long are spread over more rounds, and reported.
func TestFirstSamplesLeaveTimeForOthers(t *testing.T) {
	f := newFake(20 * time.Second)
	f.peekTime = 100 * time.Microsecond
	f.cpu = func(now time.Duration) time.Duration { return min(now, 800*time.Millisecond) }
	p := f.process(1)
	for tid := 1; tid <= 6000; tid++ {
		p.threads[tid] = parked
	}
	_, s, r := drawn(t, f, Options{Rate: 99, MaxOverhead: 0.05})
	if late := s.LateTicks; late > s.Ticks/20 {
		t.Errorf("%d rounds were left out beside %d: want at most one in 20", late, s.Ticks)
	}
	if len(f.peeks) != 6000 || r.ticker.follow.beginning() {
		t.Errorf("%d threads were sampled, want 6000", len(f.peeks))
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes,
		"to sample each thread once took 0.8 s of CPU time") {
		t.Errorf("notes %q, want what it took to begin", notes)
	}
}
