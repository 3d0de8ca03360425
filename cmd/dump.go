package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
)

// dumpCommand is the main job under its own name.
func (a *app) dumpCommand() *cobra.Command {
	o := &dumpOptions{}
	c := &cobra.Command{
		Use:   "dump [OPTION…] -p PID[,PID…] | -n NAME",
		Short: "Show the stack of every thread once; the default",
		Long: `Show the stack of every thread of a process, once. fpstack without a command
does the same.`,
		Annotations: exitStatus(dumpStatus...),
		Args:        func(c *cobra.Command, args []string) error { return a.pidArgs(c.Root(), args, &o.pids) },
		RunE:        func(c *cobra.Command, _ []string) error { return a.dump(c.Context(), o) },
	}
	o.register(c)
	return c
}

// dump shows each process in turn. One that cannot be shown does not keep the others back.
func (a *app) dump(ctx context.Context, o *dumpOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.format.word == "pprof" && toStdout(o.output) && isScreen(a.stdout) {
		return usageError{errors.New("-f pprof: standard output is a terminal; name a file with -o")}
	}
	if toStdout(o.output) && !o.debuginfod {
		ctx = a.endableLater(ctx)
	} else {
		ctx = a.endable(ctx) // a file or the cache would keep what is half written
	}
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	d := a.newDumping(ctx, o)
	defer d.close()
	d.missing = unnamed
	return a.writeOutput(o.output, func(w io.Writer) error {
		write := dumpWriter(w, a.reportOptions(o), o)
		for _, pid := range d.processes() {
			got := d.take(ctx, pid)
			if got == nil {
				continue
			}
			if err := write.add(got); err != nil {
				return fmt.Errorf("write dump of process %d: %w", pid, err)
			}
		}
		if d.shown == 0 {
			return d.nothing()
		}
		if err := write.end(); err != nil {
			return err
		}
		return d.verdict()
	})
}

// hasThread reports whether d shows thread tid.
func hasThread(d *profile.Dump, tid int) bool {
	return slices.ContainsFunc(d.Threads, func(t profile.Thread) bool { return t.TID == tid })
}

func (a *app) reportOptions(o *dumpOptions) report.Options {
	opt := report.Options{Group: !o.noGroup, Verbose: o.verbose, SkipFrames: o.skipFrames,
		NoInlines: o.noInlines, NoLines: o.noLines}
	if toStdout(o.output) {
		opt.Style, opt.Width = o.colour.style(a.stdout), a.lineWidth(o.output)
	}
	return opt
}

// reportMissing reports on standard error what the dump could not show, and whether there is any.
// A stack without an outermost frame says so in the dump itself: the thread was shown.
func reportMissing(a *app, d *profile.Dump) bool {
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

// opener opens mapped files through the target's view of them.
func opener(p *tracer.Process) module.Opener {
	beside := theirFile(p)
	return func(m *maps.Mapping) (*module.File, error) {
		data, path, closeFile, err := p.OpenMapping(m)
		if err != nil {
			return nil, err
		}
		return &module.File{Data: data, Path: path, Close: closeFile, Beside: beside}, nil
	}
}
