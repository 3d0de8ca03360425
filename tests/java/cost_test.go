//go:build linux && (amd64 || arm64)

package java

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
)

// BenchmarkStop stops all threads of a chain of some 35 frames, with and without copying what walking and naming need,
// for a recording and for a dump, in turn. It reports medians of how long the process was stopped, and of walking and
// naming all threads.
//
//	go test -run '^$' -bench BenchmarkStop -benchtime 200x ./tests/java
func BenchmarkStop(b *testing.B) {
	for _, version := range versions(b) {
		for _, mode := range []string{"interpreted", "tiered"} {
			b.Run(version+"/"+mode, func(b *testing.B) {
				benchmarkStop(b, start(b, version, append(slices.Clone(modes[mode]), "Ring")...))
			})
		}
	}
}

func benchmarkStop(b *testing.B, p *program) {
	time.Sleep(time.Second) // it compiles what is hot
	began := time.Now()
	p.Forget(b)
	first := p.Stop(b)
	p.Stacks(first)
	all := time.Since(began)
	var bare, copied, dumped, named []time.Duration
	for i := 0; b.Loop(); i++ {
		bare = append(bare, p.stopped(b, nil).Stopped)
		shot := p.stopped(b, p.Runtimes.Copiers())
		copied = append(copied, shot.Stopped)
		at := time.Now()
		p.Set.Update(shot.Maps)
		p.Walker.Renew()
		p.Stacks(shot)
		named = append(named, time.Since(at))
		dumped = append(dumped, p.stopped(b, p.Runtimes.DumpCopiers()).Stopped)
		walked.Pause(i)
	}
	b.ReportMetric(float64(len(first.Threads)), "threads")
	b.ReportMetric(float64(all.Microseconds())/1000, "first-ms")
	b.ReportMetric(median(bare), "bare-µs")
	b.ReportMetric(median(copied), "copied-µs")
	b.ReportMetric(median(dumped), "dumped-µs")
	b.ReportMetric(median(named), "walk-and-name-µs")
}

// BenchmarkSample stops the thread that runs alone, as a recording does, with and without copying, in turn.
func BenchmarkSample(b *testing.B) {
	for _, version := range versions(b) {
		for _, mode := range []string{"interpreted", "tiered"} {
			b.Run(version+"/"+mode, func(b *testing.B) {
				p := start(b, version, append(slices.Clone(modes[mode]), "Ring")...)
				time.Sleep(time.Second)
				benchmarkSample(b, p)
			})
		}
	}
}

func benchmarkSample(b *testing.B, p *program) {
	tid := p.threadIn(b, "Ring.main")
	w, err := p.Watch(tid)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	l := tracer.NewSampler(tracer.SamplerOptions{})
	defer l.Close()
	var times [2][]time.Duration
	var copies [2]tracer.Copy
	copies[1].Copiers = p.Runtimes.Copiers()
	for i := 0; b.Loop(); i++ {
		for k := range copies {
			if e := l.Do(func() { err = l.Stop(w, &copies[k], p.Set.Table()) }); e != nil || err != nil {
				b.Fatal(e, err)
			}
			times[k] = append(times[k], copies[k].Stopped)
		}
		walked.Pause(i)
	}
	b.ReportMetric(median(times[0]), "bare-µs")
	b.ReportMetric(median(times[1])-median(times[0]), "more-µs")
	b.ReportMetric(float64(len(copies[1].Thread.Copied)), "ranges")
}

func (p *program) stopped(t testing.TB, copiers []snapshot.Copier) *snapshot.Snapshot {
	t.Helper()
	shot, err := p.Snapshot(t.Context(), tracer.StopOptions{Copiers: copiers})
	if err != nil {
		t.Fatal(err)
	}
	return shot
}

// median is in microseconds.
func median(d []time.Duration) float64 {
	return float64(middle(d).Nanoseconds()) / 1000
}

// middle is the median of values, in their unit.
func middle[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}
