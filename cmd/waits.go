package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/waits/live"
)

// waitsOptions are the flags of waits.
type waitsOptions struct {
	processOptions
	children bool
	stacks   bool
	noGroup  bool
	shownOptions
}

func (a *app) waitsCommand() *cobra.Command {
	o := &waitsOptions{}
	c := &cobra.Command{
		Use:   "waits [OPTION…] PID… | -p PID[,PID…] | -n NAME",
		Short: "Show who waits for whom, and deadlocks, without stopping anything",
		Long: `Show what each thread waits for, who could end that, and whether threads wait
for each other: deadlocks come first.

It reads what the kernel shows and the words of locks while the process runs.
Nothing is stopped, so no call of the process is interrupted.`,
		Example: `  fpstack waits 4121                    the threads of process 4121
  fpstack waits -p 4121 --children      of it and all processes below, one graph
  fpstack waits -p 4121 --stacks        with the stacks of what sleeps
  fpstack waits -p 4121 -v              with what was read
  fpstack waits -p 4121 -f json         for programs`,
		Annotations: exitStatus(dumpStatus...),
		Args:        o.processOptions.args,
		RunE:        func(c *cobra.Command, _ []string) error { return a.waits(c.Context(), o) },
	}
	f := c.Flags()
	o.processOptions.register(f)
	f.BoolVar(&o.children, "children", false, "also all processes below them, the whole tree")
	o.shownOptions.register(f, textOrJSON(), "show what each wait was seen by")
	f.BoolVar(&o.noGroup, "no-group", false, "show each thread by itself, also where they wait for the same")
	f.BoolVar(&o.stacks, "stacks", false, "show the stacks of what sleeps too, as 'fpstack dump --no-stop' does")
	sections(f, "pid", "Processes", "format", "Output")
	return c
}

// dump is the dump that shows the same with stacks.
func (o *waitsOptions) dump() *dumpOptions {
	d := &dumpOptions{processOptions: o.processOptions, children: o.children, shownOptions: o.shownOptions,
		noGroup: o.noGroup, noStop: true, unwind: newUnwindMode(), maxFrames: defaultFrames, maxPause: time.Second}
	d.format = dumpForm()
	d.format.word = o.format.word
	d.goroutines.on, d.tasks.on, d.greenlets.on = true, true, true
	return d
}

func (a *app) waits(ctx context.Context, o *waitsOptions) error {
	if len(o.pids) == 0 && len(o.byName) == 0 {
		return usageError{errors.New("no process given: use -p PID or -n NAME")}
	}
	if o.stacks {
		return a.dump(ctx, o.dump())
	}
	ctx = a.endable(ctx)
	missing, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	w := &waiting{source: live.New()}
	defer w.close()
	tracer.CollectLater()
	missing += a.beginWaits(ctx, w, o)
	if len(w.facts.Processes) == 0 {
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
		opt := report.Options{Group: !o.noGroup, Verbose: o.verbose, Style: o.style(a), Width: a.lineWidth(o.output)}
		if err := write(to, w.graph.Show(), opt); err != nil {
			return fmt.Errorf("write waits: %w", err)
		}
		if missing > 0 {
			return errPart
		}
		return nil
	})
}

// beginWaits reads the processes for the first time, and counts those that cannot be inspected.
func (a *app) beginWaits(ctx context.Context, w *waiting, o *waitsOptions) (missing int) {
	var not []live.Uninspected
	w.facts, not = w.source.Begin(ctx, withChildren(o.pids, o.children))
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
func (a *app) examineWaits(ctx context.Context, w *waiting) (err error) {
	if w.graph, err = waits.Examine(ctx, w.source, w.facts); err != nil {
		return err
	}
	named := false
	for _, p := range w.facts.Processes {
		if open := w.graph.Unnamed(p, mostWalked); len(open) > 0 && ctx.Err() == nil {
			named = a.walkAsleep(ctx, w, p.PID, open) || named
		}
	}
	if named {
		w.graph, err = waits.Examine(ctx, w.source, w.facts)
	}
	return err
}

// mostWalked bounds the threads of a process whose stacks are walked for the names in them.
const mostWalked = 256

// walkAsleep names the functions on the stacks of threads that sleep, and reports whether any was named.
func (a *app) walkAsleep(ctx context.Context, w *waiting, pid int, tids []int) bool {
	o := &dumpOptions{tids: tids, unwind: newUnwindMode(), maxFrames: maxNamed, noStop: true}
	o.maxPause, o.format = time.Second, dumpForm()
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
