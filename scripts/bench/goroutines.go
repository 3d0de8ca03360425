//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
)

// stopText is what the heading of a dump says of the stop.
var stopText = regexp.MustCompile(`, (\d+) goroutines, stopped ([0-9.]+) ms`)

// goroutines measures the dump of a program with ten thousand parked goroutines, and how long that is stopped. There
// is no peer that shows them from outside in this time.
func (b *bench) goroutines() error {
	pid, stop, err := target(true, filepath.Join(b.live, "routines-go"), "10000")
	if err != nil {
		return err
	}
	defer stop()
	rs, err := contest(b.rounds, []string{b.fpstack, "-p", pid, "--fibers=all"})
	if err != nil {
		return err
	}
	stopped := make([]float64, 0, len(rs[0]))
	for _, r := range rs[0] {
		m := stopText.FindSubmatch(r.output)
		if m == nil {
			return fmt.Errorf("heading %.200q does not say how long the process was stopped", r.output)
		}
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return err
		}
		stopped = append(stopped, v)
	}
	for _, m := range []struct {
		what        string
		value, goal float64
	}{
		{"whole command, 10,000 goroutines", medianOf(rs[0], milliseconds), 150},
		{"the same, the process is stopped", medianOf(stopped, func(v float64) float64 { return v }), 30},
	} {
		verdict := "ok"
		if m.value > m.goal {
			verdict = "MISSED"
		}
		fmt.Printf("| %s | %.1f ms | | | %.0f ms | %s |\n", m.what, m.value, m.goal, verdict)
	}
	return nil
}
