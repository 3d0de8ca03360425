//go:build linux

package main

import (
	"bufio"
	"fmt"
	"math"
	"path/filepath"
	"strings"
)

// duty is a program of known shares, see testdata/live/duty.c.
type duty struct {
	what  string
	value string // wall or cpu
	args  []string
}

var duties = []duty{
	{"70/30, one thread", "wall", []string{"1", "wall", "70", "30"}},
	{"70/30, one thread", "cpu", []string{"1", "cpu", "70", "30"}},
	{"50/30/20, one thread", "wall", []string{"1", "wall", "50", "30", "20"}},
	{"50/30/20, eight threads", "wall", []string{"8", "wall", "50", "30", "20"}},
	{"50/30/20, eight threads", "cpu", []string{"8", "cpu", "50", "30", "20"}},
	{"50/30/20 for 10 ms, asleep for 7", "wall", []string{"1", "wall", "50", "30", "20", "sleep", "7"}},
	{"50/30/20 for 10 ms, asleep for 7", "cpu", []string{"1", "cpu", "50", "30", "20", "sleep", "7"}},
	{"70/30 for 10 ms, asleep for 40, eight threads", "cpu", []string{"8", "cpu", "70", "30", "sleep", "40"}},
}

// shares compares the share of each function with what the program itself measured.
func (b *bench) shares() error {
	for _, d := range duties {
		if err := b.share(d); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) share(d duty) error {
	s, err := speak(append([]string{filepath.Join(b.live, "duty"), "22"}, d.args...)...)
	if err != nil {
		return err
	}
	defer s.stop()
	r, err := b.record(d.value, "-q", "-F", "99", "-d", "20s", "--mode", d.value, "-p", s.pid())
	if err != nil {
		return err
	}
	truth, err := readTruth(s.lines, d.value)
	if err != nil {
		return err
	}
	// Shares are of the functions of the truth: neither the thread that waits for the others is
	// part of it, nor the reading of clocks between two functions.
	all, total := 0.0, 0.0
	for name, v := range truth {
		total += v
		all += float64(r.sum(frameOf(name)))
	}
	worst, detail := 0.0, []string{}
	for name, v := range truth {
		got, want := 100*float64(r.sum(frameOf(name)))/all, 100*v/total
		worst = max(worst, math.Abs(got-want))
		detail = append(detail, fmt.Sprintf("%s %.2f (%.2f)", name, got, want))
	}
	verdict(fmt.Sprintf("%s, %s: error of a share", d.what, d.value), worst, 2, "points", strings.Join(detail, ", "))
	return nil
}

// frameOf is what stacks hold while the program is at that.
func frameOf(name string) string {
	if name == "sleep" {
		return "nanosleep"
	}
	return name
}

// readTruth reads the closing lines of duty: name, seconds of wall time, seconds of CPU time.
func readTruth(lines *bufio.Reader, value string) (map[string]float64, error) {
	out := map[string]float64{}
	for range 4 {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("read the truth of duty: %w", err)
		}
		var name string
		var wall, cpu float64
		if _, err := fmt.Sscan(line, &name, &wall, &cpu); err != nil {
			return nil, fmt.Errorf("read %q: %w", line, err)
		}
		if value == "cpu" {
			wall = cpu
		}
		if wall > 0 {
			out[name] = wall
		}
	}
	return out, nil
}
