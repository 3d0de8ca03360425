package cmd

import (
	"context"

	"github.com/fpstack/fpstack/agent"
	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/work"
)

// asyncCounter counts async calls as dumps list them. Nothing is kept from one count to the next.
type asyncCounter struct {
	*app
	naming namingOptions
}

// countMemory bounds what one count holds, bytes: an agent is small.
const countMemory = 48 << 20

// CountAsync implements agent.AsyncCounter.
func (c *asyncCounter) CountAsync(ctx context.Context, pid int) (n agent.AsyncCalls, has bool, err error) {
	const page = 4096 // of each stack: where its end is in use tells, and what is there does not
	p, err := tracer.Open(pid, tracer.Options{NoStop: true, StackLimit: page})
	if err != nil {
		return n, false, err
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		return n, false, err
	}
	naming := c.naming
	naming.debuginfod = false // a number is not worth a download
	finder := c.finder(ctx, &naming)
	defer finder.Close()
	budget := stoppable(ctx, work.New(work.Steps, countMemory))
	names := naming.names(finder, budget)
	w := dump.New(table, p.Image(), dump.Options{Runtimes: naming.vms(budget, names.Files),
		Names: names, Fibers: dump.AllFibers, Uncopied: true})
	defer w.Close()
	snap, err := p.Snapshot(ctx, tracer.StopOptions{})
	if err != nil {
		return n, false, err
	}
	fibers, has, missing := w.Fibers(snap)
	for i := range fibers {
		f := &fibers[i]
		if f.TID != 0 || f.System || f.Kind != profile.AsyncCall && f.Kind != profile.AsyncTask {
			continue
		}
		n.Waiting++
		if f.Wait == snapshot.FiberNobody {
			n.Abandoned++
		}
	}
	n.Whole = missing == nil
	return n, has, nil
}
