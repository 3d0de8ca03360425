//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// python compares what so many Python threads lose to fpstack and to py-spy, both at 100 Hz.
func (b *bench) python(threads string) error {
	if _, err := exec.LookPath("py-spy"); err != nil {
		fmt.Println("| Python threads | | not run: py-spy is not installed | | | |")
		return nil
	}
	s, err := speak("python3", filepath.Join(b.scripts, "gil.py"), threads)
	if err != nil {
		return err
	}
	defer s.stop()
	const window = 8 * time.Second
	commands := [][]string{
		{b.fpstack, "record", "-q", "-F", "100", "-d", "600s", "-f", "folded", "-o", "/dev/null",
			"--max-overhead", "0", "-p", s.pid()},
		{"py-spy", "record", "-r", "100", "-d", "600", "-f", "raw", "-o", "/dev/null", "-p", s.pid()},
		{"py-spy", "record", "--native", "-r", "100", "-d", "600", "-f", "raw", "-o", "/dev/null", "-p", s.pid()}}
	lost := make([][]float64, len(commands))
	for range max(3, b.rounds/3) {
		for i, argv := range commands {
			free, err := s.spoken(window)
			if err != nil {
				return err
			}
			watched, err := s.during(window, argv)
			if err != nil {
				return err
			}
			lost[i] = append(lost[i], 100*(1-watched/free))
		}
	}
	what := "Python, " + threads + " threads at 100 Hz: slow-down, against py-spy"
	row(what, middle(lost[0]), middle(lost[1]), 0.2, "%")
	row(what+" --native", middle(lost[0]), middle(lost[2]), 0.2, "%")
	return nil
}

// patience is how long a command may take to end after the signal to end. py-spy can need minutes
// to name what it has seen, which is not what is measured here.
const patience = 5 * time.Second

// during is the pace while a command runs, without its first two seconds. The command is
// interrupted then, and killed if it does not end soon.
func (s *speaker) during(window time.Duration, argv []string) (float64, error) {
	c := exec.Command(argv[0], argv[1:]...)
	var complaint strings.Builder
	c.Stdout, c.Stderr = &complaint, &complaint
	if err := c.Start(); err != nil {
		return 0, err
	}
	time.Sleep(2 * time.Second)
	pace, err := s.spoken(window)
	_ = c.Process.Signal(os.Interrupt)
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	e := c.Wait()
	if killed := !late.Stop(); err == nil && e != nil && !killed {
		err = fmt.Errorf("run %q: %w: %s", argv, e, complaint.String())
	}
	return pace, err
}

// spoken is the rounds a second over the lines that come within window: each holds the
// seconds of the target's clock and its rounds so far.
func (s *speaker) spoken(window time.Duration) (float64, error) {
	var first, last [2]float64
	for begun := time.Now(); time.Since(begun) < window; {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return 0, err
		}
		// A line may have lain in the pipe since before the window.
		fresh := s.lines.Buffered() == 0
		if _, err := fmt.Sscan(line, &last[0], &last[1]); err != nil {
			return 0, fmt.Errorf("read %q: %w", line, err)
		}
		if first[0] == 0 && fresh {
			first = last
		}
	}
	if last[0] <= first[0] {
		return 0, fmt.Errorf("the target spoke only once within %v", window)
	}
	return (last[1] - first[1]) / (last[0] - first[0]), nil
}
