package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/dump/waiting"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/waits"
)

// fileOptions say which files a dump is made of, and where those lie that they name.
type fileOptions struct {
	files   []string // cores, saved dumps, JSON, and programs and debug files for them
	sysroot string
}

// register adds the flags to f.
func (o *fileOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.sysroot, "sysroot", "", "look for the files that a core names below `DIR`, as if that were /")
}

// check makes paths whole.
func (o *fileOptions) check() error {
	if o.sysroot == "" {
		return nil
	}
	abs, err := filepath.Abs(o.sysroot)
	if err != nil {
		return fmt.Errorf("find %q: %w", o.sysroot, err)
	}
	o.sysroot = abs
	return nil
}

// views are those of the files of a core: that below --sysroot, if it is given.
func (o *fileOptions) views() []debugfile.Open {
	if o.sysroot == "" {
		return nil
	}
	return []debugfile.Open{below(o.sysroot)}
}

// view opens files by the paths that they had for the process.
func (o *fileOptions) view() debugfile.Open { return append(o.views(), ownFile)[0] }

// dumpCores shows core files. program is the one that they are of, "" to look for it.
func (a *app) dumpCores(ctx context.Context, o *dumpOptions, form report.Options, cores []*kept, program string) error {
	d := a.newDumping(ctx, o)
	defer d.close()
	show := func() error {
		return d.show(form, func(yield func(*profile.Dump) bool) {
			for _, in := range cores {
				got := d.report(d.keptCore(ctx, in, program))
				if got != nil && !yield(got) {
					return
				}
			}
			if d.lacksFiles {
				fmt.Fprintln(d.stderr, "  Name the program after the core, a folder with the files of that machine by "+
					"--sysroot DIR.")
			}
		})
	}
	if o.save != "" {
		return d.saving(show)
	}
	return show()
}

// keptCore opens a core and makes its dump.
func (d *dumping) keptCore(ctx context.Context, in *kept, program string) (*profile.Dump, error) {
	if err := in.reopen(); err != nil {
		return nil, err
	}
	defer in.Close()
	defer context.AfterFunc(ctx, in.interrupt)()
	return d.core(ctx, in, program)
}

// core makes the dump of a core. It may return both a dump and an error.
func (d *dumping) core(ctx context.Context, in *kept, program string) (*profile.Dump, error) {
	r, size, cut, err := in.plain(d.walks.Names.Budget.Reader)
	if err != nil {
		return nil, err
	}
	files := core.Files{Path: charged(d.o.view(), d.walks.Names.Budget), ByID: d.finder.Object,
		Unproved: d.o.sysroot != ""}
	if program != "" {
		if files.Exe, err = ownFile(program); err != nil {
			return nil, err
		}
		defer files.Exe.Close()
	}
	c, err := core.Open(r, size, files, d.walks.Names.Budget)
	switch {
	case err != nil && cut != nil:
		return nil, fmt.Errorf("core %s: %w; it could not be unpacked as a whole: %w", fileLabel(in.name), err, cut)
	case err != nil:
		return nil, fmt.Errorf("core %s: %w", fileLabel(in.name), err)
	}
	defer c.Close()
	got, err := d.walkCore(ctx, c)
	got.Notes = append(got.Notes, c.Notes()...)
	d.lacksFiles = d.lacksFiles || c.LacksFiles()
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
		waiting.AtRest(ctx, c, whole, locks, got)
	}
	if d.o.source && !d.o.noLines() {
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
