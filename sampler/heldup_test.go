package sampler

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A counter that is held up, as by a file of a dead file system, neither holds up the samples nor loses time.
func TestCounterThatIsHeldUp(t *testing.T) {
	f := newFake(60 * time.Second)
	f.blocked = make(chan struct{})
	p := f.process(1)
	for tid := 1; tid <= 20; tid++ {
		p.threads[tid] = busy
	}
	brood(f, p, true) // short threads are reported whether there is room to copy them or not
	born, most, free, opened := f.births, 0, false, false
	var r *Recorder
	f.births = func(now time.Duration) {
		born(now)
		most = max(most, len(r.ticker.out.batch))
		if now < 40*time.Second || free {
			return
		}
		for free = true; len(r.ticker.out.queue.full) > 0 ||
			len(r.ticker.out.free) < copies/2; time.Sleep(time.Millisecond) {
			if !opened {
				close(f.blocked)
				opened = true
			}
			r.ticker.out.handOver(r.ticker.now)
		}
	}
	r = newRecorder(Options{Rate: 99}, f)
	defer r.Close()
	if err := r.Add(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.cancel, f.settle = cancel, func() {}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the samples wait for the counter")
	}
	if most > 2*maxWaiting {
		t.Errorf("%d samples are kept for the counter", most)
	}
	got, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	if _, wall, _ := amounts(got, 2, 0); wall < s.Elapsed-200*time.Millisecond {
		t.Errorf("thread 2: wall %v of %v", wall, s.Elapsed)
	}
	if s.Lost == 0 && !strings.Contains(strings.Join(s.Notes, " "), "held up") {
		t.Errorf("nothing is reported: %+v", s)
	}
}
