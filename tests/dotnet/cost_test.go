//go:build linux

package dotnet

import (
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
)

// BenchmarkStop stops all threads of a busy server, with and without copying what walking and naming need, in turn. It
// reports medians of how long the process was stopped, what the first stop with copying took, and the first dump with
// all that comes before it; and the median of walking and naming all threads.
//
//	go test -run '^$' -bench BenchmarkStop -benchtime 200x ./tests/dotnet
func BenchmarkStop(b *testing.B) {
	for _, version := range versions(b) {
		if slices.Contains(quick, version) {
			b.Run(version, func(b *testing.B) { benchmarkStop(b, version) })
		}
	}
}

func benchmarkStop(b *testing.B, version string) {
	s := start(b, version)
	go s.work()
	time.Sleep(3 * time.Second) // it compiles what is hot
	began := time.Now()
	s.Forget(b)
	first := s.Stop(b)
	s.Stacks(first)
	all := time.Since(began)
	var bare, copied, named []time.Duration
	for i := 0; b.Loop(); i++ {
		bare = append(bare, s.stopped(b, nil).Stopped)
		shot := s.stopped(b, s.Runtimes.Copiers())
		copied = append(copied, shot.Stopped)
		at := time.Now()
		s.Set.Update(shot.Maps)
		s.Walker.Renew()
		s.Stacks(shot)
		named = append(named, time.Since(at))
		walked.Pause(i)
	}
	b.ReportMetric(float64(len(first.Threads)), "threads")
	b.ReportMetric(float64(all.Microseconds())/1000, "first-ms")
	b.ReportMetric(float64(first.Stopped.Microseconds())/1000, "first-stop-ms")
	b.ReportMetric(median(bare), "bare-µs")
	b.ReportMetric(median(copied), "copied-µs")
	b.ReportMetric(median(named), "walk-and-name-µs")
}

func (s *server) stopped(t testing.TB, copiers []snapshot.Copier) *snapshot.Snapshot {
	t.Helper()
	shot, err := s.Snapshot(t.Context(), tracer.StopOptions{Copiers: copiers})
	if err != nil {
		t.Fatal(err)
	}
	return shot
}

// median is in microseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}
