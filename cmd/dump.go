package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// dumpCommand is the main job under its own name.
func (a *app) dumpCommand() *cobra.Command {
	o := &dumpOptions{}
	c := &cobra.Command{
		Use:   "dump -p PID[,PID…]",
		Short: "Show every thread once (what fpstack does without a command)",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.dump(c.Context(), o) },
	}
	o.register(c)
	return c
}

// dump shows each process in turn. One that cannot be shown does not keep the others back.
func (a *app) dump(ctx context.Context, o *dumpOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	return a.writeOutput(o.output, func(w io.Writer) error {
		shown, missing := 0, 0
		unseen := slices.Clone(o.tids)
		for _, pid := range o.pids {
			d, err := o.look(ctx, pid)
			if err != nil {
				a.complain(err)
				missing++
			}
			if d == nil {
				continue
			}
			if shown > 0 && o.format == "text" {
				fmt.Fprintln(w)
			}
			if err := formats[string(o.format)](w, d, a.reportOptions(o)); err != nil {
				return fmt.Errorf("write dump of process %d: %w", pid, err)
			}
			shown++
			if tellMissing(a, d) {
				missing++
			}
			unseen = slices.DeleteFunc(unseen, func(tid int) bool { return hasThread(d, tid) })
		}
		if shown == 0 {
			return errNothing
		}
		for _, tid := range unseen {
			a.complain(fmt.Errorf("thread %d: no such thread", tid))
		}
		if missing+len(unseen) > 0 {
			return errPart
		}
		return nil
	})
}

// hasThread tells whether d shows thread tid.
func hasThread(d *profile.Dump, tid int) bool {
	return slices.ContainsFunc(d.Threads, func(t profile.Thread) bool { return t.TID == tid })
}

func (a *app) reportOptions(o *dumpOptions) report.Options {
	opt := report.Options{Group: !o.noGroup, Verbose: o.verbose, SkipFrames: o.skipFrames,
		NoInlines: o.noInlines, NoLines: o.noLines}
	if o.output == "-" || o.output == "" {
		opt.Style = o.colour.style(a.stdout)
	}
	return opt
}

// tellMissing tells on standard error what the dump could not show, and whether there is any.
// A stack without an outermost frame says so in the dump itself: the thread was shown.
func tellMissing(a *app, d *profile.Dump) bool {
	missing := false
	for _, p := range d.Problems {
		a.complain(fmt.Errorf("process %d: %s", d.Process.PID, p))
		missing = true
	}
	for i := range d.Threads {
		if t := &d.Threads[i]; t.NotStopped != "" && !t.NoUserCode {
			a.complain(fmt.Errorf("thread %d was not stopped: %s", t.TID, t.NotStopped))
			missing = true
		}
	}
	return missing
}

// look makes the dump of one process. It may return both a dump and an error.
func (o *dumpOptions) look(ctx context.Context, pid int) (*profile.Dump, error) {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	snap, err := p.Snapshot(ctx, tracer.StopOptions{TIDs: o.tids, MaxPause: o.maxPause, Rolling: o.rolling})
	if snap == nil {
		return nil, err
	}
	snap.FDs = p.DescribeFDs(resolve.Descriptors(snap))
	return o.resolve(p, snap), err
}

// resolve walks and names what the snapshot holds. The process runs again.
func (o *dumpOptions) resolve(p *tracer.Process, snap *snapshot.Snapshot) *profile.Dump {
	set := module.NewSet(snap.Maps, opener(p), p)
	defer set.Close()
	names := resolve.New(set, resolve.Options{NoSymbols: o.noSymbols, NoInlines: o.noInlines, NoLines: o.noLines})
	walker := unwind.NewWalker(set, names)
	stacks := make([]unwind.Stack, len(snap.Threads))
	for i := range snap.Threads {
		t := &snap.Threads[i]
		stacks[i] = walker.Walk(t, snap.Reader(t, p), unwind.Options{Mode: o.unwind.Mode, MaxFrames: o.maxFrames})
	}
	return names.Dump(snap, stacks)
}

// opener opens mapped files through the target's view of them.
func opener(p *tracer.Process) module.Opener {
	return func(m *maps.Mapping) (*module.File, error) {
		data, path, closeFile, err := p.OpenMapping(m)
		if err != nil {
			return nil, err
		}
		return &module.File{Data: data, Path: path, Close: closeFile}, nil
	}
}
