//go:build linux

package v8

import (
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
)

// BenchmarkStop stops a node in a chain of 26 frames, 11 of them JavaScript, with and without copying what their names
// need, in turn. It reports the medians of how long the main thread was stopped, and what the first stop with copying
// and the first stack with names took.
func BenchmarkStop(b *testing.B) {
	began := time.Now()
	x := start(b, newest(b), []string{"--no-opt", "--no-sparkplug", "--no-maglev"}, "loop.js")
	opened := time.Now()
	first := x.Stop(b)
	stacks := x.Stacks(first)
	all := time.Since(opened)
	b.Logf("%d frames, %d of JavaScript; node was started and opened in %v", len(stacks[0].Frames),
		len(javascript(&stacks[0])), opened.Sub(began))
	var bare, copied, named []time.Duration
	for i := 0; b.Loop(); i++ {
		bare = append(bare, x.stopped(b, nil))
		copied = append(copied, x.stopped(b, x.Runtimes.Copiers()))
		s := x.Stop(b)
		at := time.Now()
		x.Stacks(s)
		named = append(named, time.Since(at))
		walked.Pause(i)
	}
	b.ReportMetric(float64(all.Microseconds())/1000, "first-ms")
	b.ReportMetric(float64(first.Stopped.Microseconds())/1000, "first-stop-ms")
	b.ReportMetric(median(bare), "bare-µs")
	b.ReportMetric(median(copied), "copied-µs")
	b.ReportMetric(median(copied)-median(bare), "more-µs")
	b.ReportMetric(median(named), "walk-and-name-µs")
}

// BenchmarkSample stops the same chain, and one of 300 closures, as a recording does, one thread, with and without
// copying what names need, in turn.
func BenchmarkSample(b *testing.B) {
	for _, script := range []string{"loop.js", "fresh.js"} {
		b.Run(script, func(b *testing.B) { benchmarkSample(b, script) })
	}
}

func benchmarkSample(b *testing.B, script string) {
	x := start(b, newest(b), []string{"--no-opt", "--no-sparkplug", "--no-maglev"}, script)
	x.Stacks(x.Stop(b))
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
	ranges, bytes := len(copies[1].Thread.Copied), 0
	for _, r := range copies[1].Thread.Copied {
		bytes += len(r.Data)
	}
	b.ReportMetric(median(times[0]), "bare-µs")
	b.ReportMetric(median(times[1])-median(times[0]), "more-µs")
	b.ReportMetric(float64(ranges), "ranges")
	b.ReportMetric(float64(bytes), "bytes")
}

// BenchmarkAwaitStop stops a node in which five async functions wait for the running one, as a recording and as a dump
// does, in turn.
func BenchmarkAwaitStop(b *testing.B) {
	x := start(b, newest(b), nil, "await.js")
	var copied, dumped []time.Duration
	for i := 0; b.Loop(); i++ {
		copied = append(copied, x.stopped(b, x.Runtimes.Copiers()))
		dumped = append(dumped, x.stopped(b, x.Runtimes.DumpCopiers()))
		walked.Pause(i)
	}
	b.ReportMetric(median(copied), "copied-µs")
	b.ReportMetric(median(dumped)-median(copied), "more-for-dump-µs")
}

// stopped is how long the main thread was stopped for one snapshot.
func (x *target) stopped(t testing.TB, copiers []snapshot.Copier) time.Duration {
	t.Helper()
	s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: copiers})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Threads {
		if th := &s.Threads[i]; th.TID == s.Process.PID {
			return th.Stopped
		}
	}
	t.Fatal("the main thread is gone")
	return 0
}

// median is in microseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}
