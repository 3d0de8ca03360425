//go:build linux && (amd64 || arm64)

package python

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
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
		x.Stack(s, k)
	}
	var bare, copied, named []time.Duration
	frames := 0
	for i := 0; b.Loop(); i++ {
		bare = append(bare, x.stopped(b, nil))
		copied = append(copied, x.stopped(b, x.Runtimes.Copiers()))
		s := x.stop(b)
		at := time.Now()
		stack := x.Stack(s, 0)
		named = append(named, time.Since(at))
		frames = max(frames, len(python(&stack)))
		walked.Pause(i)
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

// BenchmarkSample stops a chain of ten frames as a recording does, one thread, with and without copying what its frames
// need, in turn.
func BenchmarkSample(b *testing.B) {
	for _, in := range interpreters(b) {
		b.Run(in.name, func(b *testing.B) { benchSample(b, in) })
	}
}

func benchSample(b *testing.B, in interpreter) {
	x := start(b, in, "ten.py", nil)
	s := x.stop(b)
	stack := x.Stack(s, 0)
	w, err := x.Watch(x.PID())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	l := tracer.NewSampler(tracer.SamplerOptions{})
	defer l.Close()
	var times [2][]time.Duration
	var copies [2]tracer.Copy
	copies[1].Copiers = x.Runtimes.Copiers()
	for i := 0; b.Loop(); i++ {
		for k := range copies {
			if e := l.Do(func() { err = l.Stop(w, &copies[k], x.Set.Table()) }); e != nil || err != nil {
				b.Fatal(e, err)
			}
			times[k] = append(times[k], copies[k].Stopped)
		}
		walked.Pause(i)
	}
	b.ReportMetric(float64(len(python(&stack))), "frames")
	b.ReportMetric(median(times[0]), "bare-µs")
	b.ReportMetric(median(times[1])-median(times[0]), "more-µs")
	b.ReportMetric(float64(len(copies[1].Thread.Copied)), "ranges")
}
