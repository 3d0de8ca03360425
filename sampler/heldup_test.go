package sampler

import (
	"context"
	"errors"
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
			r.ticker.out.handOver(r.ticker.turn.now)
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

// A counter that does not move on, by a fault or for what it waits for, ends neither Take nor Close for ever.
func TestTakeEnds(t *testing.T) {
	begin := func(t *testing.T) *Recorder {
		f := newFake(time.Second)
		f.process(1).threads[1] = busy
		r := newRecorder(Options{Rate: 99}, f)
		r.stuck = 300 * time.Millisecond
		finish(t, r, f)
		return r
	}
	within := func(t *testing.T, what string, want error, f func() error) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- f() }()
		select {
		case err := <-ended:
			if !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", what, err, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s does not end", what)
		}
	}
	take := func(r *Recorder) func() error { return func() error { _, err := r.Take(); return err } }
	t.Run("fault of the counter", func(t *testing.T) {
		r := begin(t)
		r.counter.ledger = nil
		within(t, "Take", errFault, take(r))
		within(t, "Close", nil, r.Close)
		if notes := strings.Join(r.Stats().Notes, " "); !strings.Contains(notes, "a fault of fpstack") {
			t.Errorf("notes: %s", notes)
		}
	})
	t.Run("fault before", func(t *testing.T) {
		r := begin(t)
		r.ticker.follow.processes = append(r.ticker.follow.processes, nil)
		c := &boundary{taken: func(time.Duration) {}}
		taking := &taking{done: make(chan struct{})}
		c.taken = func(at time.Duration) { r.beginTaking(taking, &at) }
		func() {
			defer func() { recover() }()
			c.taken(time.Second)
		}()
		r.ticker.follow.processes = r.ticker.follow.processes[:len(r.ticker.follow.processes)-1]
		within(t, "Take", errFault, func() error { _, err := r.finishTaking(taking); return err })
		within(t, "Close", nil, r.Close)
	})
	t.Run("waits", func(t *testing.T) {
		r := begin(t)
		goes := make(chan struct{})
		r.drive(func() { r.ticker.send(sample{kind: marked, mark: func() { <-goes }}) })
		within(t, "Take", errStuck, take(r))
		within(t, "Close", errStuck, r.Close)
		close(goes)
	})
}
