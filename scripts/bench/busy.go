//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
)

// busy records a program that works 2 ms and sleeps 8 beside four that never sleep: the CPU time must be at
// its work. The least of three counts.
func (b *bench) busy() error {
	for range 4 {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return err
		}
		defer c.Wait()
		defer c.Process.Kill()
	}
	var missing []float64
	for range 3 {
		s, err := speak(filepath.Join(b.live, "duty"), "14", "1", "cpu", "20", "sleep", "8")
		if err != nil {
			return err
		}
		r, err := b.record("cpu", "-q", "-d", "12s", "--mode", "cpu", "-p", s.pid())
		s.stop()
		if err != nil {
			return err
		}
		all := int64(0)
		for _, n := range r.stacks {
			all += n
		}
		missing = append(missing, 100-100*float64(r.sum("work_a"))/float64(all))
	}
	verdict("2 ms of work, 8 asleep, beside four busy loops, cpu: share that is not at work", slices.Max(missing), 5,
		"%", fmt.Sprintf("three runs: %.1f", missing))
	return nil
}
