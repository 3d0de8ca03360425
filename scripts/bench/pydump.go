//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pythonPeers are commands that show the stacks of a Python process once; those that are not installed are left out.
func (b *bench) pythonPeers(pid string) (names []string, commands [][]string) {
	for _, argv := range [][]string{{b.fpstack, "-p", pid}, {b.fpstack, "--native", "-p", pid},
		{"py-spy", "dump", "-p", pid}, {"py-spy", "dump", "--native", "-p", pid},
		{"pystack", "remote", pid}, {"pystack", "remote", "--native", pid}} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			fmt.Printf("| %s | | not run: not installed | | | |\n", argv[0])
			continue
		}
		name := filepath.Base(argv[0])
		if slices.Contains(argv, "--native") {
			name += " --native"
		}
		names, commands = append(names, name), append(commands, argv)
	}
	return names, commands
}

// pythonDumps compares dumps of a Python process with 1 and with 101 threads: the time of the whole command, and the
// longest time that the process could not read its clock meanwhile.
func (b *bench) pythonDumps() error {
	for _, more := range []string{"0", "100"} {
		if err := b.pythonDump(more); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pythonDump(more string) error {
	s, err := speak("python3", filepath.Join(b.scripts, "clock.py"), more)
	if err != nil {
		return err
	}
	defer s.stop()
	gaps := s.gaps()
	names, commands := b.pythonPeers(s.pid())
	whole, stops := make([][]float64, len(commands)), make([][]float64, len(commands))
	var quiet []float64
	for range b.rounds {
		at := time.Now()
		time.Sleep(300 * time.Millisecond)
		quiet = append(quiet, gaps.longest(at))
		for i, argv := range commands {
			at := time.Now()
			r, err := measure(argv...)
			if err != nil {
				return err
			}
			time.Sleep(300 * time.Millisecond) // two lines
			whole[i], stops[i] = append(whole[i], float64(r.wall)/1e6), append(stops[i], gaps.longest(at))
		}
	}
	if err := gaps.failure(); err != nil {
		return err
	}
	fmt.Printf("| Python, %s threads beside, nobody looks | | %.2f ms stopped | | | |\n", more, middle(quiet))
	for i, name := range names {
		fmt.Printf("| Python, %s threads beside, %s | %.0f ms | %.2f ms stopped | | | |\n", more, name,
			middle(whole[i]),
			middle(stops[i]))
	}
	return nil
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// gapReader keeps the lines of clock.py with the time at which they came.
type gapReader struct {
	ask  chan time.Time
	told chan float64
	err  error // after told was closed
}

// gaps reads the lines of s from now on.
func (s *speaker) gaps() *gapReader {
	g := &gapReader{ask: make(chan time.Time), told: make(chan float64)}
	lines := make(chan float64)
	go func() {
		defer close(lines)
		for {
			line, err := s.lines.ReadString('\n')
			v, e := strconv.ParseFloat(strings.TrimSpace(line), 64)
			if g.err = errors.Join(err, e); g.err != nil {
				return
			}
			lines <- v
		}
	}()
	go func() {
		type gap struct {
			at time.Time
			ms float64
		}
		var all []gap
		for {
			select {
			case v, ok := <-lines:
				if !ok {
					close(g.told)
					return
				}
				all = append(all, gap{time.Now(), v})
			case since := <-g.ask:
				longest := 0.0
				for _, x := range all {
					if x.at.After(since) {
						longest = max(longest, x.ms)
					}
				}
				all = all[:0]
				g.told <- longest
			}
		}
	}()
	return g
}

// longest is the longest gap of the lines that came since then, ms; 0 if the target has ended.
func (g *gapReader) longest(since time.Time) float64 {
	select {
	case g.ask <- since:
		return <-g.told
	case <-g.told:
		return 0
	}
}

// failure says why lines do not come any more.
func (g *gapReader) failure() error {
	select {
	case <-g.told:
		return g.err
	default:
		return nil
	}
}
