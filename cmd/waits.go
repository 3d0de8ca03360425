package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/fpstack/fpstack/dump/waiting"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/waits/live"
)

// waits shows who waits for whom, and deadlocks, without stopping anything.
func (a *app) waits(ctx context.Context, o *dumpOptions) error {
	if o.none() {
		return errNoProcess
	}
	ctx = a.endable(ctx)
	missing, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	w := &waiting.Processes{Source: live.New()}
	defer w.Close()
	tracer.CollectLater()
	missing += a.beginWaits(ctx, w, o)
	if len(w.Facts.Processes) == 0 {
		return errNothing
	}
	if err := a.examineWaits(ctx, w); err != nil {
		return err
	}
	return a.writeOutput(o.output, func(to io.Writer) error {
		write := report.WaitsText
		if o.format.word == "json" {
			write = report.WaitsJSON
		}
		opt := report.Options{Group: !o.noGroup, All: o.all, Verbose: o.verbose, Style: o.style(a),
			Width: a.lineWidth(o.output)}
		if err := write(to, w.Graph.Show(), opt); err != nil {
			return fmt.Errorf("write waits: %w", err)
		}
		if missing > 0 {
			return errPart
		}
		return nil
	})
}

// beginWaits reads the processes for the first time, and counts those that cannot be inspected.
func (a *app) beginWaits(ctx context.Context, w *waiting.Processes, o *dumpOptions) (missing int) {
	var not []live.Uninspected
	w.Facts, not = w.Source.Begin(ctx, withChildren(o.pids, o.children))
	for _, u := range not {
		if !hasEnded(u.Err) || slices.Contains(o.pids, u.PID) {
			a.complain(u.Err)
			missing++
		}
	}
	return missing
}

// examineWaits makes the graph. Where the words of locks leave open what some threads wait for their stacks are walked
// as they sleep, and it is made again with the names that are found.
func (a *app) examineWaits(ctx context.Context, w *waiting.Processes) (err error) {
	if w.Graph, err = waits.Examine(ctx, w.Source, w.Facts); err != nil {
		return err
	}
	named := false
	for _, p := range w.Facts.Processes {
		if open := w.Graph.Unnamed(p, mostWalked); len(open) > 0 && ctx.Err() == nil {
			named = a.walkAsleep(ctx, w, p.PID, open) || named
		}
	}
	if named {
		w.Graph, err = waits.Examine(ctx, w.Source, w.Facts)
	}
	return err
}

// mostWalked bounds the threads of a process whose stacks are walked for the names in them.
const mostWalked = 256

// walkAsleep names the functions on the stacks of threads that sleep, and reports whether any was named.
func (a *app) walkAsleep(ctx context.Context, w *waiting.Processes, pid int, tids []int) bool {
	o := &dumpOptions{tids: tids, unwind: newUnwindMode(), maxFrames: maxNamed, noStop: true}
	o.maxPause, o.format, o.fibers = time.Second, dumpForm(), newFibers()
	d := a.newDumping(ctx, o)
	defer d.close()
	d.waiting = w
	got, _ := d.sampleBy(ctx, pid, tracer.Options{NoStop: true})
	return got != nil
}

// maxNamed bounds the frames of a stack that is walked for its names.
const maxNamed = 128

// withChildren lists the processes, with children each before the tree below it. We are none of them.
func withChildren(pids []int, children bool) []int {
	if !children {
		return pids
	}
	all := procfs.Tree(pids, tracer.ChildrenOf)
	return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() && !slices.Contains(pids, pid) })
}
