package sampler

import (
	"context"
	"testing"
	"time"
)

// until waits until the counts of r are so.
func until(t *testing.T, r *Recorder, what string, so func(s Stats) bool) {
	t.Helper()
	for begin := time.Now(); !so(r.Stats()); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("waited for %s in vain: %+v", what, r.Stats())
		}
	}
}

// TestStayWithoutProcesses: with Stay a recording goes on without a process, and what is added later gets its own time
// alone; what is removed has what it got until then.
func TestStayWithoutProcesses(t *testing.T) {
	f := newFake(time.Hour)
	f.process(1).threads[1] = func(now time.Duration) view {
		v := busy(now)
		v.gone = now > time.Second
		return v
	}
	f.process(2).threads[2] = busy
	r := newRecorder(Options{Rate: 100, Stay: true}, f)
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel, f.settle = cancel, r.settled
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Add(1); err != nil {
		t.Fatal(err)
	}
	until(t, r, "the end of process 1", func(s Stats) bool { return s.Ended == 1 && s.Processes == 0 })
	f.now.Add(int64(time.Minute)) // nobody is followed
	begun := f.Now()
	if err := r.Add(2); err != nil {
		t.Fatal(err)
	}
	until(t, r, "rounds", func(s Stats) bool { return f.Now() > begun+3*time.Second })
	r.Remove(2)
	r.Remove(3) // nobody
	if s := r.Stats(); s.LateTicks != 0 {
		t.Errorf("%d rounds were late: time without a process counts", s.LateTicks)
	}
	removed := f.Now()
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	if _, wall, _ := amounts(p, 1, 0); wall < 900*time.Millisecond || wall > 1100*time.Millisecond {
		t.Errorf("thread 1 has %v, lived a second", wall)
	}
	if _, wall, cpu := amounts(p, 2, 0); wall > removed-begun || wall < removed-begun-20*time.Millisecond ||
		cpu > removed-begun {
		t.Errorf("thread 2 has %v, cpu %v, of %v that it was followed", wall, cpu, removed-begun)
	}
	until(t, r, "nobody", func(s Stats) bool { return s.Processes == 0 })
	if s := r.Stats(); s.Ended != 1 {
		t.Errorf("%d ended, want one: what was removed has not", s.Ended)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
