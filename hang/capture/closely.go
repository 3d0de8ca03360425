package capture

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
)

const (
	mostClose  = 3 // threads that are sampled closely
	closeTimes = 20
	closeApart = 50 * time.Millisecond
)

// closely samples the threads that seem to spin some more times: what is on all of their stacks is the loop.
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
			if d.Threads[0].Syscall != nil {
				t.Calls++
			}
		}
		if !sleep(ctx, closeApart) {
			return
		}
	}
}

// spinning lists the threads of c that are to be sampled closely, those that took most CPU first.
func spinning(c *hang.Case) []hang.Judged {
	var all []hang.Judged
	for _, t := range hang.Classify(c) {
		if t.Class == hang.Spinning {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b hang.Judged) int { return cmp.Compare(b.CPU, a.CPU) })
	return all[:min(mostClose, len(all))]
}
