package trigger

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// IO is what one process has read and written so far, bytes.
type IO struct {
	Parent int // its id
	// Read and Written are its own, that of its threads that have ended, and that of children that it waited for.
	// Source: wait_task_zombie in linux/kernel/exit.c.
	Read, Written uint64
	OwnRead       uint64 // by its threads that live, alone
	Waited        uint64 // grows with each child that it waited for
	Output        bool   // it has a pipe or a socket open that output goes to
}

// IOs are those of all processes that could be read.
type IOs map[procfs.Identity]IO

// Written is how much the processes have written since before, in all or, with output, those that could write output.
// What they had written before they ended is no growth of who waited for them, and what was written before they
// began is none of theirs.
func (after IOs) Written(before IOs, output bool) (sum uint64) {
	grew(before, after, func(c IO) int { return c.Parent }, func(c IO) uint64 { return c.Written },
		func(id procfs.Identity, by uint64) {
			if after[id].Output || !output {
				sum += by
			}
		})
	return sum
}

// Read is how much the processes have read since before. Those that began meanwhile count if they are not in repeats,
// which are further runs of commands that had been there: what a program reads in order to begin is no progress. So a
// process that has waited for children counts with its own threads.
func (after IOs) Read(before IOs, repeats map[procfs.Identity]bool) (sum uint64) {
	for id, now := range after {
		old, known := before[id]
		switch {
		case !known && repeats[id]:
		case known && now.Waited != old.Waited:
			sum += grown(old.OwnRead, now.OwnRead)
		default:
			sum += grown(old.Read, now.Read)
		}
	}
	return sum
}

// grown is how much a counter has grown that may be read in pieces.
func grown(old, now uint64) uint64 { return max(old, now) - old }

// grew tells each by how much the count of a process has grown between two readings, from 0 if it began meanwhile. Who
// waits for a child inherits its counts: what the child had by the first reading is taken off again.
func grew[C any, N uint64 | time.Duration](before, after map[procfs.Identity]C, parent func(C) int, count func(C) N,
	each func(id procfs.Identity, by N)) {
	living := map[int]procfs.Identity{}
	for id := range after {
		living[id.PID] = id
	}
	known := map[int]C{}
	for id, c := range before {
		known[id.PID] = c
	}
	inherited := map[procfs.Identity]N{}
	for id, c := range before {
		if _, lives := after[id]; lives {
			continue
		}
		up := parent(c)
		for range len(before) { // to the nearest one that lives on
			if heir, ok := living[up]; ok {
				if _, same := before[heir]; same {
					inherited[heir] += count(c)
					break
				}
			}
			above, ok := known[up]
			if !ok {
				break
			}
			up = parent(above)
		}
	}
	for id, c := range after {
		old := inherited[id]
		if b, ok := before[id]; ok {
			old += count(b)
		}
		if now := count(c); now > old {
			each(id, now-old)
		}
	}
}
