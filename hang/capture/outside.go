package capture

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
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
		if err != nil && !r.opt.Gone(err) {
			r.problem(err.Error())
		}
	}
}

// progress is what processes have written so far, and which commands they run.
type progress struct {
	output   map[string]uint64
	commands map[string]bool
	pids     map[int]bool
}

// seenOf reads the progress of processes.
func seenOf(pids []int) progress {
	s := progress{output: map[string]uint64{}, commands: map[string]bool{}, pids: map[int]bool{}}
	for _, pid := range pids {
		s.pids[pid] = true
		s.commands[strings.Join(procfs.Cmdline("/proc", pid), " ")] = true
		file := fmt.Sprintf("/proc/%d/fd/1", pid)
		info, err := errand.Do(&asked, asked.Paths(), func(func()) (os.FileInfo, error) { return os.Stat(file) }, nil)
		switch {
		case err != nil:
		case info.Mode().IsRegular():
			link, _ := os.Readlink(file)
			s.output[link] = uint64(info.Size())
		default:
			if io, ok := procfs.ParseIO(procfs.Read(fmt.Sprintf("/proc/%d/io", pid), 4096)); ok {
				s.output[fmt.Sprint(pid)] = io.Written
			}
		}
	}
	return s
}

// leastWritten is how much a process must write that has no file as its output: threads wake each other by small
// writes.
const leastWritten = 4 << 10

// since adds to a what was written and began since before.
func (s *progress) since(before *progress, a *hang.Activity) {
	for name, n := range s.output {
		old, ok := before.output[name]
		if grew := n - old; ok && n > old && (strings.HasPrefix(name, "/") || grew >= leastWritten) {
			a.Output += grew
		}
	}
	for command := range s.commands {
		if !before.commands[command] && command != "" {
			a.Commands = append(a.Commands, command)
		}
	}
	slices.Sort(a.Commands)
	for pid := range s.pids {
		if !before.pids[pid] {
			a.Began++
		}
	}
}
