package sampler

import (
	"testing"
	"time"
)

func TestSetRate(t *testing.T) {
	for _, tt := range []struct {
		name string
		from float64
		to   float64
		ok   bool
		want uint64 // rounds in ten seconds
	}{
		{"slower", 99, 10, true, 100},
		{"faster", 10, 50, true, 500},
		{"nothing is no rate", 20, 0, false, 200},
		{"a negative one", 20, -5, false, 200},
	} {
		f := newFake(10 * time.Second)
		f.process(1).threads[1] = busy
		r := newRecorder(Options{Rate: tt.from}, f)
		if err := r.SetRate(tt.to); (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want ok %v", tt.name, err, tt.ok)
		}
		_, s := finish(t, r, f)
		if n := s.Ticks + s.LateTicks; n+1 < tt.want || n > tt.want+1 {
			t.Errorf("%s: %d rounds, want %d", tt.name, n, tt.want)
		}
	}
	r := newRecorder(Options{}, newFake(time.Second))
	defer r.Close()
	if err := r.SetRate(10); err == nil {
		t.Error("as fast as it goes: no error")
	}
}

func TestHoldRuns(t *testing.T) {
	r := newRecorder(Options{Rate: 1}, newFake(time.Second))
	defer r.Close()
	held := false
	r.Hold(func() { held = true })
	if !held {
		t.Error("f did not run")
	}
}
