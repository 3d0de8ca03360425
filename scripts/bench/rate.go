//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// frames are the bytes that clook copies: about as many as fpstack, whose copy ends at the program's arguments.
const frames = "2048"

// padded is an environment, which lies on the stack above the frames: with this one clook finds its bytes, whoever runs
// the benchmark.
var padded = []string{"PAD=" + strings.Repeat("x", 4096)}

// rate compares the most samples a second of one thread that computes under 30 frames, walked
// and counted, with a bare C loop that only stops, copies and lets go, on the thread's CPU.
func (b *bench) rate() error {
	const cpu = "1"
	s, err := speakWith(padded, filepath.Join(b.live, "spin"), "28", "0", cpu)
	if err != nil {
		return err
	}
	defer s.stop()
	var ours, theirs []float64
	for range b.rounds {
		r, err := b.record("samples", "-F", "0", "--max-overhead", "0", "-t", s.pid(), "-p", s.pid(), "-d", "2s")
		if err != nil {
			return err
		}
		n, err := stops(string(r.output))
		if err != nil {
			return err
		}
		ours = append(ours, n/2)
		c, err := measure(b.clook, s.pid(), "2000", cpu, frames)
		if err != nil {
			return err
		}
		fields := strings.Fields(string(c.output))
		if len(fields) != 2 {
			return fmt.Errorf("read %q: want two numbers", c.output)
		}
		samples, err1 := strconv.ParseFloat(fields[0], 64)
		ns, err2 := strconv.ParseFloat(fields[1], 64)
		if err1 != nil || err2 != nil || ns == 0 {
			return fmt.Errorf("read %q: want two numbers", c.output)
		}
		theirs = append(theirs, samples/ns*1e9)
	}
	same := func(v float64) float64 { return v }
	a, c := medianOf(ours, same), medianOf(theirs, same)
	word := "ok"
	if a/c < 0.8 {
		word = "MISSED"
	}
	fmt.Printf("| samples a second of a spinning thread, against bare C | %.0f | %.0f | %.3f | at least "+
		"0.80 | %s |\n", a, c, a/c, word)
	return nil
}

// stopsReported is how the summary of a recording reports its stops.
var stopsReported = regexp.MustCompile(`(?m)^\s*([0-9,]+) stops?,`)

func stops(summary string) (float64, error) {
	m := stopsReported.FindStringSubmatch(summary)
	if m == nil {
		return 0, fmt.Errorf("no stops in %q", summary)
	}
	return strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
}
