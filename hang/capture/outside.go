package capture

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/trigger"
	"github.com/fpstack/fpstack/profile"
)

// mostOutside bounds the processes outside the tree that are described and counted.
const mostOutside = 64

// outside lists the processes that something of c waits for and that are not in its tree, most of them first seen.
func outside(c *hang.Case) []int {
	var pids []int
	add := func(pid int) {
		known := slices.ContainsFunc(c.Processes, func(p hang.Process) bool { return p.PID == pid })
		if pid > 0 && !known && !slices.Contains(pids, pid) && len(pids) < mostOutside {
			pids = append(pids, pid)
		}
	}
	for i := range c.Processes {
		for _, f := range c.Processes[i].LockedFiles {
			add(f.Holder)
		}
	}
	if len(c.Moments) == 0 || c.Moments[len(c.Moments)-1].Waits == nil {
		return pids
	}
	w := c.Moments[len(c.Moments)-1].Waits
	for i := range w.Processes {
		add(w.Processes[i].PID)
	}
	return pids
}

// others lists the processes of w, which may be nil, that are not among pids.
func others(w *profile.Waits, pids []int) (all []int) {
	if w == nil {
		return nil
	}
	for i := range w.Processes {
		if pid := w.Processes[i].PID; !slices.Contains(pids, pid) && len(all) < mostOutside {
			all = append(all, pid)
		}
	}
	return all
}

// mostBeside bounds the processes outside the tree of which stacks are taken.
const mostBeside = 8

// beside takes the stacks of those processes outside the tree that the case ends at, without a stop.
func (r *run) beside(ctx context.Context) {
	for _, pid := range hang.Beside(r.c, mostBeside) {
		if ctx.Err() != nil {
			return
		}
		within, cancel := context.WithTimeout(ctx, r.opt.Process)
		d, err := r.s.Asleep(within, pid)
		cancel()
		if d != nil {
			r.c.Beside = append(r.c.Beside, d)
		}
		r.failed(ctx, pid, r.opt.Process, d, err)
	}
}

// progress is what processes have written so far.
type progress struct {
	files map[string]uint64 // the sizes of files that are standard output
	pipes trigger.IOs       // of those whose standard output is no file
}

// seenOf reads the progress of processes.
func seenOf(pids []int) *progress {
	s := &progress{files: map[string]uint64{}, pipes: trigger.ReadIO(pids)}
	for id, counts := range s.pipes {
		file := fmt.Sprintf("/proc/%d/fd/1", id.PID)
		info, err := errand.Do(&asked, asked.Paths(), func(func()) (os.FileInfo, error) { return os.Stat(file) }, nil)
		counts.Output = err == nil && !info.Mode().IsRegular()
		s.pipes[id] = counts
		if err == nil && info.Mode().IsRegular() {
			link, _ := os.Readlink(file)
			s.files[link] = uint64(info.Size())
		}
	}
	return s
}

// leastWritten is how much must be written by those that have no file as their output: threads wake each other by small
// writes.
const leastWritten = 4 << 10

// since adds to a what was written since before.
func (s *progress) since(before *progress, a *hang.Activity) {
	for name, n := range s.files {
		if old, ok := before.files[name]; ok && n > old {
			a.Output += n - old
		}
	}
	if n := s.pipes.Written(before.pipes, true); n >= leastWritten {
		a.Output += n
	}
}
