//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// crowd is what goes on beside the thread whose pauses are measured.
type crowd struct {
	what   string
	parked string // threads that wait, in the same process
	load   int    // programs that compute, beside it
}

// pauses reports how long a busy thread is stopped for a sample: alone, beside a thousand threads that wait, and beside
// load on all CPUs. Rounds of the three alternate; each figure is the median of the rounds.
func (b *bench) pauses() error {
	crowds := []crowd{{"alone", "0", 0}, {"beside 1,000 parked threads", "1000", 0},
		{"beside load on all CPUs", "0", runtime.NumCPU()}}
	got := make([][4][]float64, len(crowds))
	for range b.rounds {
		for i, c := range crowds {
			stopped, err := b.paused(c)
			if err != nil {
				return err
			}
			for k := range stopped {
				got[i][k] = append(got[i][k], stopped[k])
			}
		}
	}
	same := func(v float64) float64 { return v }
	for i, c := range crowds {
		q := got[i]
		fmt.Printf("| pauses of a busy thread at 99 Hz, %s, µs: p50, p90, p99, max | %.0f, %.0f, %.0f, %.0f | "+
			"| | | |\n", c.what,
			medianOf(q[0], same), medianOf(q[1], same), medianOf(q[2], same), medianOf(q[3], same))
	}
	const bound = 1.5
	row("p90 of pauses beside 1,000 parked threads, against alone", medianOf(got[1][1], same),
		medianOf(got[0][1], same), bound, "µs")
	return nil
}

// paused records a busy thread for a while and returns the pauses that the summary has, µs.
func (b *bench) paused(c crowd) (stopped [4]float64, err error) {
	s, err := speakWith(padded, filepath.Join(b.live, "spin"), "28", c.parked)
	if err != nil {
		return stopped, err
	}
	defer s.stop()
	for range c.load {
		other, err := speak(filepath.Join(b.live, "spin"), "4", "0")
		if err != nil {
			return stopped, err
		}
		defer other.stop()
	}
	r, err := b.record("samples", "-F", "99", "-d", "3s", "--max-overhead", "0", "-p", s.pid())
	if err != nil {
		return stopped, err
	}
	m := pausesReported.FindStringSubmatch(string(r.output))
	if m == nil {
		return stopped, fmt.Errorf("no pauses in %q", r.output)
	}
	for k := range stopped {
		d, err := time.ParseDuration(strings.ReplaceAll(m[k+1], " ", ""))
		if err != nil {
			return stopped, fmt.Errorf("read pauses of %q: %w", strings.TrimSpace(m[0]), err)
		}
		stopped[k] = float64(d) / float64(time.Microsecond)
	}
	return stopped, nil
}

// pausesReported is how the summary of a recording says how long threads were stopped.
var pausesReported = regexp.MustCompile(
	`pause p50 (\S+ \S+), p90 (\S+ \S+), p99 (\S+ \S+), max (\S+ [^\s;]+)`)
