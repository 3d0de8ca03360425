//go:build linux

package main

import (
	"fmt"
	"path/filepath"
)

// waits measures what the facts of who waits for whom cost: of 1,002 threads, 1,000 of them behind one mutex, beside
// those of a process of two. Nothing is stopped. There is no peer that reads them.
func (b *bench) waits() error {
	const goal = 30 // ms
	many, stop, err := target(true, filepath.Join(b.live, "locks"), "many", "1000")
	if err != nil {
		return err
	}
	defer stop()
	few, stopFew, err := target(true, filepath.Join(b.live, "locks"), "self")
	if err != nil {
		return err
	}
	defer stopFew()
	rs, err := contest(b.rounds, []string{b.fpstack, "--waits", "-p", many}, []string{b.fpstack, "--waits", "-p", few})
	if err != nil {
		return err
	}
	all, start := medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds)
	verdict := "ok"
	if all-start > goal {
		verdict = "MISSED"
	}
	fmt.Printf("| waits of 1,002 threads, without a stop: more than of 2 | %.1f - %.1f = %.1f ms | | | %d ms | %s |\n",
		all, start, all-start, goal, verdict)
	return nil
}
