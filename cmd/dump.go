package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/dump/waiting"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// dumpCommand is the main job under its own name.
func (a *app) dumpCommand() *cobra.Command {
	o := &dumpOptions{}
	c := &cobra.Command{
		Use:   "dump [OPTION…] PID… | NAME… | FILE…",
		Short: "Show the stack of every thread once; the default",
		Long: `Show the stack of every thread of a process, once. fpstack without a command
does the same.`,
		Example: `  fpstack dump 4121                      the same as fpstack 4121
  fpstack dump 4121 --source             with the source lines
  fpstack dump 4121 --save out.snap      and for fpstack out.snap elsewhere`,
		Annotations: exitStatus(dumpStatus...),
		Args:        func(_ *cobra.Command, words []string) error { return o.args(words) },
		RunE:        func(c *cobra.Command, _ []string) error { return a.dumpCalled(c, o) },
	}
	o.register(c)
	return c
}

// dumpCalled shows what a command line asks for.
func (a *app) dumpCalled(c *cobra.Command, o *dumpOptions) error {
	if err := o.settle(c.Flags()); err != nil {
		return err
	}
	o.effects = func(besides ...string) error {
		return checkEffects("dump", c.Flags(), append(besides, o.circumstances()...)...)
	}
	if len(o.files) == 0 {
		if err := o.effects(ofProcess); err != nil {
			return err
		}
	}
	if o.waits && len(o.files) == 0 {
		return a.waits(c.Context(), o)
	}
	return a.dump(c.Context(), o)
}

// args tells files from processes. A word that is both is refused.
func (o *dumpOptions) args(words []string) error {
	for _, word := range words {
		file := new(ids).Set(word) != nil && isFile(word)
		if file && !strings.Contains(word, "/") && isProcess(word) {
			if holdsDump(word) {
				return usageError{fmt.Errorf("%q is a file and a process that runs: write ./%s or -n %s", word, word,
					word)}
			}
			file = false
		}
		if file {
			o.files = append(o.files, word)
		} else {
			o.take([]string{word})
		}
	}
	return nil
}

// holdsDump reports whether a file has something that a dump could show, and is not only in the way.
func holdsDump(name string) bool {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return len(savedIn(name)) > 0
	case !info.Mode().IsRegular():
		return true
	}
	in, err := openKept(name)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.what != object
}

// dump shows each process in turn. One that cannot be shown does not keep the others back.
func (a *app) dump(ctx context.Context, o *dumpOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	form, err := o.dumps(a, o.noGroup, &o.namingOptions)
	if err != nil {
		return err
	}
	form.SkipFrames, form.All = o.skipFrames, o.all
	if len(o.files) > 0 {
		return a.dumpFiles(ctx, o, form)
	}
	if toStdout(o.output) && o.save == "" && !o.debuginfod {
		ctx = a.endableLater(ctx)
	} else {
		ctx = a.endable(ctx) // a file or the cache would keep what is half written
	}
	tracer.CollectLater()
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	d := a.newDumping(ctx, o)
	defer d.close()
	d.missing = unnamed
	pids, _, err := a.withThreads(d.processes(), o.tids)
	if err != nil {
		return err
	}
	show := func() error {
		return d.show(form, func(yield func(*profile.Dump) bool) {
			if o.dotnetMap {
				stop, missing := a.dotnetMaps(ctx, pids)
				defer stop()
				d.missing += missing
			}
			if o.showsWaits() {
				d.waiting = waiting.New(ctx, pids, true)
				defer d.waiting.Close()
			}
			for _, pid := range pids {
				if got := d.take(ctx, pid); got != nil && !yield(got) {
					return
				}
			}
		})
	}
	if o.save != "" {
		return d.saving(show)
	}
	return show()
}

// show shows each of the dumps as it is made.
func (d *dumping) show(form report.Options, dumps iter.Seq[*profile.Dump]) error {
	return d.writeDumps(d.o, form, func(write dumpSink) error {
		for got := range dumps {
			if err := write.add(got); err != nil {
				return fmt.Errorf("write dump of process %d: %w", got.Process.PID, err)
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

// saving runs show, and saves what it copies of the processes. What was saved stays, whatever becomes of the output.
func (d *dumping) saving(show func() error) error {
	var shown error
	began := false
	d.saves.Private = true
	err := d.saves.Write(d.o.save, func(w io.Writer) error {
		began, d.saver = true, dump.NewSaver(w)
		if shown = show(); d.saver.Saved() == 0 {
			return cmp.Or(shown, errNothing)
		}
		return d.saver.Err()
	})
	switch {
	case !began:
		return err
	case err == nil || errors.Is(err, shown):
		return shown
	}
	d.complain(err)
	return cmp.Or(shown, errPart)
}

// hasThread reports whether d shows thread tid.
func hasThread(d *profile.Dump, tid int) bool {
	return slices.ContainsFunc(d.Threads, func(t profile.Thread) bool { return t.TID == tid })
}

// reportMissing reports on standard error what the dump could not show, and whether there is any.
// A stack without an outermost frame says so in the dump itself: the thread was shown.
func reportMissing(a *app, d *profile.Dump) bool {
	missing := false
	for _, p := range d.Problems {
		a.complain(fmt.Errorf("process %d: %s", d.Process.PID, p))
		missing = true
	}
	ran := 0
	for i := range d.Threads {
		if t := &d.Threads[i]; t.NotStopped != "" && !t.NoUserCode {
			if d.NoStop && t.Counters != nil {
				ran++
				continue
			}
			a.complain(fmt.Errorf("thread %d was not stopped: %s", t.TID, t.NotStopped))
			missing = true
		}
	}
	if ran > 0 {
		a.complain(fmt.Errorf("process %d: %s ran, shown without a stack: that takes a stop", d.Process.PID,
			text.Count(ran, "thread")))
		missing = true
	}
	return missing
}
