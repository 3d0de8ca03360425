//go:build linux && amd64

package python

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// BenchmarkStop stops a script with and without copying what its frames need, in turn, and reports the medians of how
// long the process was stopped, and what walking and naming the main thread took.
func BenchmarkStop(b *testing.B) {
	for _, in := range interpreters(b) {
		for _, script := range []string{"abc.py", "deep.py", "crowd.py"} {
			b.Run(in.name+"/"+strings.TrimSuffix(script, ".py"), func(b *testing.B) { benchStop(b, in, script) })
		}
	}
}

func benchStop(b *testing.B, in interpreter, script string) {
	x := start(b, in, script, nil)
	for k, s := 0, x.stop(b); k < len(s.Threads); k++ {
		x.stack(s, k)
	}
	var bare, copied, named []time.Duration
	frames := 0
	for i := 0; b.Loop(); i++ {
		bare = append(bare, x.stopped(b, nil))
		copied = append(copied, x.stopped(b, x.runtimes.Copiers()))
		s := x.stop(b)
		at := time.Now()
		stack := x.stack(s, 0)
		named = append(named, time.Since(at))
		frames = max(frames, len(python(&stack)))
		pause(i)
	}
	b.ReportMetric(float64(frames), "frames")
	b.ReportMetric(median(bare), "bare-µs")
	b.ReportMetric(median(copied)-median(bare), "more-µs")
	b.ReportMetric(median(named), "walk-and-name-µs")
}

// stopped is how long the process was stopped for one snapshot.
func (x *target) stopped(t testing.TB, copiers []snapshot.Copier) time.Duration {
	t.Helper()
	s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: copiers})
	if err != nil {
		t.Fatal(err)
	}
	return s.Stopped
}

// median is in microseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}
