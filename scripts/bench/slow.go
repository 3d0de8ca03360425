//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// What a recording may cost a busy thread, beside `perf record`: a factor, or points where both cost next to nothing.
const (
	slowFactor = 1.5
	slowPoints = 0.3
)

const (
	slowWindow = 2 * time.Second
	slowStep   = 100 * time.Millisecond // parts of a window
)

// loser is a thread that reports how much of its time it lost, and how much it loses by itself.
type loser struct {
	*speaker
	free []float64
}

// slowdown compares what a busy thread loses to a recording, to perf and to the best C loop, in turn, by the
// gaps in a loop that reads the clock. The windows lie inside the recordings, so that neither their beginning nor the
// naming counts. Other programs add to a window and take nothing from it: of the parts of all windows the
// lowest quarter's end counts.
func (b *bench) slowdown(rate string) error {
	s, err := speakWith(padded, filepath.Join(b.live, "gaps"), "28")
	if err != nil {
		return err
	}
	defer s.stop()
	l := &loser{speaker: s}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contestants := [][]string{
		{b.fpstack, "record", "-q", "-F", rate, "-d", "2.6s", "-o", "/dev/null", "-f", "folded", "--max-overhead", "0",
			"-p", s.pid()},
		{"perf", "record", "-q", "-g", "-F", rate, "-o", filepath.Join(dir, "perf"), "-p", s.pid(), "--",
			"sleep", "2.6"},
		{b.clook, s.pid(), "2600", "-1", frames, rate, "quick"},
	}
	if _, err := exec.LookPath("perf"); err != nil {
		return fmt.Errorf("find perf (package linux-perf): %w", err)
	}
	lost := make([][]float64, len(contestants))
	for range b.rounds {
		if l.free, err = l.losses(l.free); err != nil {
			return err
		}
		for i, argv := range contestants {
			if lost[i], err = l.lossesDuring(lost[i], argv...); err != nil {
				return err
			}
		}
	}
	var net [3]float64
	for i := range lost {
		net[i] = lowQuarter(lost[i]) - lowQuarter(l.free)
	}
	verdict(fmt.Sprintf("busy thread's loss at %s Hz; perf record -g %.2f %%, the best C loop %.2f %%", rate, net[1],
		net[2]), net[0],
		max(slowFactor*net[1], net[1]+slowPoints), "%", fmt.Sprintf("it loses %.2f %% by itself", lowQuarter(l.free)))
	return nil
}

// lowQuarter is the end of the lowest quarter.
func lowQuarter(vs []float64) float64 {
	vs = slices.Sorted(slices.Values(vs))
	return vs[len(vs)/4]
}

// losses adds to list what the thread loses in each part of a window, percent.
func (l *loser) losses(list []float64) ([]float64, error) {
	last, err := l.rounds()
	begun := time.Now()
	for from := begun; err == nil && time.Since(begun) < slowWindow; {
		time.Sleep(slowStep)
		var next float64
		next, err = l.rounds()
		now := time.Now()
		list = append(list, 100*(next-last)/float64(now.Sub(from)))
		last, from = next, now
	}
	return list, err
}

// lossesDuring is losses within a command that takes somewhat longer.
func (l *loser) lossesDuring(list []float64, argv ...string) ([]float64, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return list, err
	}
	time.Sleep(400 * time.Millisecond)
	list, err := l.losses(list)
	if e := c.Wait(); err == nil && e != nil {
		err = fmt.Errorf("run %q: %w", argv, e)
	}
	return list, err
}
