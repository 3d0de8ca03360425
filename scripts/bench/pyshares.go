//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shareNames are the functions of shares.py whose time it says.
var shareNames = []string{"half", "third", "fifth"}

// pythonShares compares recordings of a program that knows its shares: the largest error of three functions, and how
// many stacks have what is known to be on them.
func (b *bench) pythonShares() error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := speak("python3", filepath.Join(b.scripts, "shares.py"))
	if err != nil {
		return err
	}
	defer s.stop()
	out := filepath.Join(dir, "out")
	commands := [][]string{
		{b.fpstack, "record", "-q", "--native", "-F", "100", "-d", "10s", "-f", "folded", "-o", out, "-p", s.pid()},
		{b.fpstack, "record", "-q", "-F", "100", "-d", "10s", "-f", "folded", "-o", out, "-p", s.pid()},
		{"py-spy", "record", "--native", "-r", "100", "-d", "10", "-f", "raw", "-o", out, "-p", s.pid()},
		{"py-spy", "record", "-r", "100", "-d", "10", "-f", "raw", "-o", out, "-p", s.pid()}}
	if _, err := exec.LookPath("py-spy"); err != nil {
		fmt.Println("| py-spy | | not run: not installed | | | |")
		commands = commands[:2]
	}
	errs, whole := make([][]float64, len(commands)), make([]chainCount, len(commands))
	for range max(3, b.rounds/4) {
		for i, argv := range commands {
			os.Remove(out) // fpstack replaces no file
			worst, err := s.sharesDuring(argv, out, &whole[i])
			if err != nil {
				return err
			}
			errs[i] = append(errs[i], worst)
		}
	}
	for i, argv := range commands {
		c := whole[i]
		fmt.Printf("| shares of three functions of Python, %s %t --native | %.2f points | %.2f %% chains right | "+
			"%.2f %% with sorted in its place | %.2f %% from the start | |\n", filepath.Base(argv[0]),
			slices.Contains(argv, "--native"), middle(errs[i]), c.percent(c.right), c.percent(c.between),
			c.percent(c.rooted))
	}
	return nil
}

// sharesDuring runs a recording and returns its largest error, in points.
func (s *speaker) sharesDuring(argv []string, out string, count *chainCount) (float64, error) {
	before, err := s.newest()
	if err != nil {
		return 0, err
	}
	if _, err := measure(argv...); err != nil {
		return 0, err
	}
	after, err := s.newest()
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	var truth, got [3]float64
	known, seen := 0.0, 0.0
	for i := range truth {
		truth[i] = after[i] - before[i]
		known += truth[i]
	}
	for line := range strings.Lines(string(text)) {
		names, weight, err := foldedLine(line)
		if err != nil {
			return 0, err
		}
		count.add(names, weight)
		for i, name := range shareNames {
			if slices.Contains(names, name) {
				got[i] += weight
				seen += weight
			}
		}
	}
	worst := 0.0
	for i := range truth {
		worst = max(worst, 100*math.Abs(truth[i]/known-got[i]/seen))
	}
	return worst, nil
}

// newest is the last line that the target has said: it says four a second.
func (s *speaker) newest() (v [3]float64, err error) {
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
		begun = time.Now() // a line that comes at once has lain in the pipe
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return v, err
		}
		if _, err := fmt.Sscan(line, &v[0], &v[1], &v[2]); err != nil {
			return v, fmt.Errorf("read %q: %w", line, err)
		}
	}
	return v, nil
}

// foldedLine is the functions of one line of folded stacks, outermost first, and its weight. py-spy adds file and line.
func foldedLine(line string) (names []string, weight float64, err error) {
	line = strings.TrimSpace(line)
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return nil, 0, fmt.Errorf("folded stack %q has no number", line)
	}
	weight, err = strconv.ParseFloat(line[at+1:], 64)
	for name := range strings.SplitSeq(line[:at], ";") {
		name, _, _ = strings.Cut(name, " (")
		names = append(names, name)
	}
	return names, weight, err
}

// chainCount counts stacks of shares.py by what is right about them.
type chainCount struct {
	all     float64
	right   float64 // the functions of Python are those that call one another
	between float64 // of all: and so is what sorts, between main and pick where pick is
	rooted  float64 // of all: they begin with _start
}

func (c *chainCount) percent(v float64) float64 { return 100 * v / c.all }

func (c *chainCount) add(names []string, weight float64) {
	c.all += weight
	if names[0] == "_start" {
		c.rooted += weight
	}
	chain := [][]string{{"<module>"}, {"main"}, {"pick"}, shareNames, {"work"}}
	depth, sorts, right := 0, 0, true
	for _, name := range names {
		known := slices.ContainsFunc(chain, func(of []string) bool { return slices.Contains(of, name) })
		switch {
		case name == "list_sort" || name == "builtin_sorted" || name == "list_sort_impl":
			if sorts = 1; depth != 2 {
				right = false
			}
		case !known || name == "main" && depth == 0: // C has a main, too
		case depth < len(chain) && slices.Contains(chain[depth], name):
			depth++
		default:
			right = false
		}
	}
	if !right || depth < 2 {
		return
	}
	c.right += weight
	if depth == 2 || sorts > 0 {
		c.between += weight
	}
}
