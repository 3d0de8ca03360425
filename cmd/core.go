package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/waits"
)

// coreOptions are the flags of a dump that is made of a file.
type coreOptions struct {
	core, exe, sysroot string
}

// register adds the flags to f.
func (o *coreOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.core, "core", "", "in place of a process: a core file, also as .zst, .lz4 or .gz, or what --save "+
		"wrote; - is standard input")
	f.StringVar(&o.exe, "exe", "", "the program that the core `FILE` is of, if it is elsewhere now")
	f.StringVar(&o.sysroot, "sysroot", "", "look for the files of the core below `DIR`, as if that were /")
}

// check refuses values that make no sense, and makes paths whole.
func (o *dumpOptions) checkCore() error {
	c := &o.coreOptions
	switch {
	case c.core == "" && c.exe != "":
		return usageError{errors.New("--exe without --core")}
	case c.core == "" && c.sysroot != "":
		return usageError{errors.New("--sysroot without --core")}
	case c.core == "":
		return nil
	case len(o.pids) > 0 || len(o.byName) > 0 || o.children:
		return usageError{errors.New("--core with a process: one of them is shown")}
	case o.kernel || o.rolling || o.noStop || o.dotnetMap:
		return usageError{errors.New("--core with --kernel, --rolling, --no-stop or --dotnet-perf-map: it is of no " +
			"process that runs")}
	}
	for _, p := range []*string{&c.exe, &c.sysroot} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("find %q: %w", *p, err)
		}
		if *p != "" {
			*p = abs
		}
	}
	return nil
}

// views are those of the files of a core: that below --sysroot, if it is given.
func (o *coreOptions) views() []debugfile.Open {
	if o.sysroot == "" {
		return nil
	}
	return []debugfile.Open{below(o.sysroot)}
}

// view opens files by the paths that they had for the process.
func (o *coreOptions) view() debugfile.Open { return append(o.views(), ownFile)[0] }

// dumpFile shows what is in the file of --core.
func (a *app) dumpFile(ctx context.Context, o *dumpOptions, form report.Options) error {
	in, err := openKept(o.core)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx = a.endable(ctx)
	defer context.AfterFunc(ctx, in.interrupt)()
	if in.saved {
		return a.dumpSaved(ctx, o, in)
	}
	d := a.newDumping(ctx, o)
	defer d.close()
	show := func() error {
		return d.show(form, func(yield func(*profile.Dump) bool) {
			got := d.report(d.core(ctx, in))
			if d.lacksFiles {
				fmt.Fprintln(d.stderr, "  Name the program by --exe FILE, a folder with the files of that machine by "+
					"--sysroot DIR.")
			}
			if got != nil {
				yield(got)
			}
		})
	}
	if o.save != "" {
		return d.saving(show)
	}
	return show()
}

// dumpSaved shows what --save wrote, as symbolize does.
func (a *app) dumpSaved(ctx context.Context, o *dumpOptions, in *kept) error {
	switch {
	case len(o.tids) > 0 || o.source || o.save != "" || o.sourceMaps || o.skipFrames > 0 || o.noSymbols:
		return usageError{fmt.Errorf("%q was written by --save: --tid, --source, --save, --source-maps, --skip-frames "+
			"and --no-symbols are for processes and core files", o.core)}
	}
	if given, _ := o.fiberOptions.given(); len(given) > 0 {
		return usageError{fmt.Errorf("%q was written by --save: it has the %s that were saved", o.core, given[0])}
	}
	var objects []string
	if o.exe != "" {
		objects = append(objects, o.exe)
	}
	s := &symbolizeOptions{namingOptions: o.namingOptions, shownOptions: o.shownOptions, noGroup: o.noGroup, all: o.all,
		maxFrames: o.maxFrames, unwind: o.unwind, locals: o.locals, view: o.view()}
	return a.symbolizeAll(ctx, s, []dumpFile{{o.core, in.stream}}, objects)
}

// core makes the dump of a core. It may return both a dump and an error.
func (d *dumping) core(ctx context.Context, in *kept) (*profile.Dump, error) {
	r, size, cut, err := in.plain(d.walks.Names.Budget.Reader)
	if err != nil {
		return nil, err
	}
	files := core.Files{Path: charged(d.o.view(), d.walks.Names.Budget), ByID: d.finder.Object,
		Unproved: d.o.sysroot != ""}
	if d.o.exe != "" {
		if files.Exe, err = ownFile(d.o.exe); err != nil {
			return nil, err
		}
		defer files.Exe.Close()
	}
	c, err := core.Open(r, size, files, d.walks.Names.Budget)
	switch {
	case err != nil && cut != nil:
		return nil, fmt.Errorf("core %s: %w; it could not be unpacked as a whole: %w", fileLabel(d.o.core), err, cut)
	case err != nil:
		return nil, fmt.Errorf("core %s: %w", fileLabel(d.o.core), err)
	}
	defer c.Close()
	got, err := d.walkCore(ctx, c)
	got.Notes = append(got.Notes, c.Notes()...)
	d.lacksFiles = c.LacksFiles()
	if cut != nil {
		got.Problems = append(got.Problems, fmt.Sprintf("it could not be unpacked as a whole: %v", cut))
	}
	return got, err
}

// walkCore walks and names the threads of a core.
func (d *dumping) walkCore(ctx context.Context, c *core.Core) (*profile.Dump, error) {
	image := c.Image()
	if d.saver != nil {
		image = d.saver.Image(image)
	}
	w := dump.New(c.Maps, image, d.walks)
	defer w.Close()
	var locks []waits.Lock
	whole := c.Batches(core.Wanted{TIDs: d.o.tids, Copiers: w.Copiers(), ProcessCopiers: w.ProcessCopiers()},
		func(batch *snapshot.Snapshot) {
			w.Batch(batch)
			locks = append(locks, w.Locks(batch)...)
			if d.saver != nil {
				d.saver.Batch(w, batch)
			}
		})
	if d.o.debuginfod {
		d.progress = newProgress(d.stderr)
		defer d.progress.clear()
	}
	got := w.Dump(whole)
	if d.o.showsWaits() && len(d.o.tids) == 0 {
		waitsAtRest(ctx, c, whole, locks, got)
	}
	if d.o.source && !d.o.noLines {
		source.Add(got, 1, d.walks.Names.Budget, source.View{Open: d.o.view(), ModTime: unknownTime}, ownSource)
	}
	if d.saver != nil {
		d.saver.Waits(got)
	}
	d.finishSaving()
	return got, nil
}

// unknownTime is when a file below --sysroot was changed: what was unpacked there has the time of that.
func unknownTime(string) (time.Time, bool) { return time.Time{}, false }
