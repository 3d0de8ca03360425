package capture

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
)

const (
	mostClose  = 3 // threads that are sampled closely
	closeTimes = 20
	closeApart = 50 * time.Millisecond
)

// closely samples the threads that seem to spin, or take much CPU, some more times: what is on all of their stacks is
// the loop, and what is there most often is where they work.
func (r *run) closely(ctx context.Context) {
	for _, t := range spinning(r.c) {
		r.c.Close = append(r.c.Close, hang.CloseSamples{PID: t.PID, TID: t.TID})
	}
	if len(r.c.Close) == 0 {
		return
	}
	for range closeTimes {
		for i := range r.c.Close {
			t := &r.c.Close[i]
			d, _ := r.s.Sample(ctx, t.PID, []int{t.TID}) // it may be gone: then there are fewer samples
			if d == nil || len(d.Threads) == 0 {
				continue
			}
			t.Stacks = append(t.Stacks, d.Threads[0].Stack)
			byLast(r.c, d, &t.Stacks[len(t.Stacks)-1])
			if d.Threads[0].Syscall != nil && d.Threads[0].State != "R" {
				t.Calls++
			}
		}
		if !sleep(ctx, closeApart) {
			return
		}
	}
}

// byLast makes the modules of the frames of s, a stack of d, those of the last dump of the same process.
func byLast(c *hang.Case, d *profile.Dump, s *profile.Stack) {
	if len(c.Moments) == 0 {
		return
	}
	for _, last := range c.Moments[len(c.Moments)-1].Dumps {
		if last.Process.PID != d.Process.PID {
			continue
		}
		for i := range s.Frames {
			f := &s.Frames[i]
			if f.Module < 0 || f.Module >= len(d.Modules) {
				continue
			}
			file := d.Modules[f.Module].Path
			f.Module = slices.IndexFunc(last.Modules, func(m profile.Module) bool { return m.Path == file })
		}
		return
	}
}

// muchCPU is from which share of a CPU on it is asked where a thread spends it.
const muchCPU = 0.2

// spinning lists the threads of c that are to be sampled closely, those that took most CPU first.
func spinning(c *hang.Case) []hang.Judged {
	var all []hang.Judged
	wall := time.Duration(0)
	if n := len(c.Moments); n > 1 {
		wall = c.Moments[n-1].Time.Sub(c.Moments[0].Time)
	}
	for _, t := range hang.Classify(c) {
		if t.Class == hang.Spinning || t.Class == hang.Going && float64(t.CPU) >= muchCPU*float64(wall) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b hang.Judged) int { return cmp.Compare(b.CPU, a.CPU) })
	return all[:min(mostClose, len(all))]
}
