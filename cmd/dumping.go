package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/dump/waiting"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// dumping is one run of dump: what its processes share, and what was had of them.
type dumping struct {
	*app
	o       *dumpOptions
	finder  *debugfile.Finder
	objects *module.Shared
	walks   dump.Options
	saver   *dump.Saver        // nil without --save
	unsaved func(error)        // is told that a process was not saved; nil: that is missing
	waiting *waiting.Processes // nil if the form has no place for it

	unseen         ids // threads of --tid that no process has
	shown, missing int
	ended          int  // processes of a tree that were gone when their turn came
	lacksFiles     bool // that a core needs
}

func (a *app) newDumping(ctx context.Context, o *dumpOptions) *dumping {
	d := &dumping{app: a, o: o, finder: a.finder(ctx, &o.namingOptions, o.views()...), objects: module.NewShared(),
		unseen: slices.Clone(o.tids)}
	budget := keepHeap(newBudget(ctx, &o.namingOptions))
	names := o.namingOptions.names(d.finder, budget)
	names.Shared = resolve.NewShared()
	d.walks = dump.Options{Runtimes: o.vms(budget, names.Files), Names: names, Mode: o.unwind.mode(),
		MaxFrames: o.maxFrames,
		Fibers:    o.fiberOptions.mode(o), Locals: o.locals}
	return d
}

func (d *dumping) close() {
	d.finder.Close()
	d.objects.Close()
}

// processes lists the processes to sample: those named, with --children each before the tree
// below it. We are none of them.
func (d *dumping) processes() []int { return withChildren(d.o.pids, d.o.children) }

// take makes the dump of one process, and reports what it lacks. It is nil if there is none.
func (d *dumping) take(ctx context.Context, pid int) *profile.Dump {
	got, err := d.sample(ctx, pid)
	if err != nil && hasEnded(err) && !slices.Contains(d.o.pids, pid) {
		d.ended++
		err = nil
	}
	return d.report(got, err)
}

// report reports what a dump lacks, and why there is none. It returns the dump.
func (d *dumping) report(got *profile.Dump, err error) *profile.Dump {
	if err != nil {
		d.complain(err)
		d.missing++
	}
	if got == nil {
		return nil
	}
	d.shown++
	got.Notes = append(got.Notes, dumpNotes(got, &d.o.namingOptions)...)
	if !slices.Contains([]string{"text", "json"}, d.o.format.word) { // which have a place for them
		for _, note := range got.Notes {
			fmt.Fprintf(d.stderr, "fpstack: %s\n", text.Message(note))
		}
	}
	if reportMissing(d.app, got) {
		d.missing++
	}
	d.unseen = slices.DeleteFunc(d.unseen, func(tid int) bool { return hasThread(got, tid) })
	return got
}

// hasEnded reports whether err says that a process is gone.
func hasEnded(err error) bool {
	var zombie *tracer.ZombieError
	return errors.Is(err, tracer.ErrNoProcess) || errors.As(err, &zombie)
}

// sample makes the dump of one process. It may return both a dump and an error.
func (d *dumping) sample(ctx context.Context, pid int) (*profile.Dump, error) {
	got, err := d.sampleBy(ctx, pid, tracer.Options{NoStop: d.o.noStop})
	if got == nil && !d.o.noStop && ctx.Err() == nil && needsNoStop(err) {
		without, failed := d.sampleBy(ctx, pid, tracer.Options{NoStop: true})
		if failed != nil {
			return nil, err // the refusal of the stop is what a person can do something about
		}
		without.Notes = append(without.Notes, err.Error()+": shown without a stop, as with --no-stop")
		return without, nil
	}
	return got, err
}

// needsNoStop reports whether err says that a process cannot be stopped, and leaves open that its memory may be read:
// another tracer has it, ptrace is refused to us, or it is in an execve which does not end.
func needsNoStop(err error) bool {
	var (
		traced     *tracer.TracedError
		permission *tracer.PermissionError
		kernel     *tracer.KernelError
		executing  *tracer.ExecutingError
	)
	return errors.As(err, &traced) || errors.As(err, &permission) || errors.As(err, &kernel) ||
		errors.As(err, &executing)
}

// sampleBy makes the dump of a process that is opened by opening. It may return both a dump and an error.
func (d *dumping) sampleBy(ctx context.Context, pid int, opening tracer.Options) (*profile.Dump, error) {
	p, err := tracer.Open(pid, opening)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	image := d.objects.Image(p.Image())
	if d.saver != nil {
		image = d.saver.Image(image)
	}
	table, err := p.Maps()
	if err != nil {
		table = nil // why is reported by what follows
	}
	walks := d.walks
	if opening.NoStop {
		walks.Fibers, walks.Locals = dump.NoFibers, false
	}
	w := dump.New(table, image, walks)
	defer w.Close()
	opt := tracer.StopOptions{TIDs: d.o.tids, MaxPause: d.o.maxPause, Rolling: d.o.rolling,
		KernelStacks: d.o.kernel, Copiers: slices.Concat(w.Copiers(), d.waiting.Copiers(p.PID())),
		ProcessCopiers: w.ProcessCopiers(), Known: d.waiting.Known(p.PID())}
	if walks.Fibers == dump.AskedFibers || walks.Locals {
		opt.ProcessTime = opt.MaxPause
	}
	snap, err := p.Batches(ctx, opt, func(batch *snapshot.Snapshot) {
		w.Batch(batch)
		d.waiting.Learn(p.PID(), w, batch)
		d.waiting.DescribeFDs(p, batch, w.LoopDescriptors())
		if d.saver != nil {
			d.saver.Batch(w, batch)
		}
	})
	if snap == nil {
		return nil, err
	}
	if d.o.debuginfod {
		d.progress = newProgress(d.stderr)
		defer d.progress.clear()
	}
	got := w.Dump(snap)
	d.waiting.Add(got)
	if d.o.source && !d.o.noLines() {
		theirs, own := theirSource(p), ownSource
		own.Began = theirs.Began
		source.Add(got, 1, d.walks.Names.Budget, theirs, own)
	}
	if d.saver != nil {
		d.saver.Waits(got)
	}
	d.finishSaving()
	return got, err
}

// finishSaving saves what is left of a process.
func (d *dumping) finishSaving() {
	if d.saver == nil {
		return
	}
	switch err := d.saver.Finish(); {
	case err == nil:
	case d.unsaved != nil:
		d.unsaved(err)
	default:
		d.complain(err)
		d.missing++
	}
}

// nothing says that no process was shown, and why if that was not reported.
func (d *dumping) nothing() error {
	if d.missing == 0 {
		return errors.New("every process ended before it was sampled")
	}
	return errNothing
}

// verdict reports what is missing of all processes together.
func (d *dumping) verdict() error {
	if d.ended > 0 {
		fmt.Fprintf(d.stderr, "fpstack: %s ended before being sampled\n", text.Count(d.ended, "process"))
	}
	for _, tid := range d.unseen {
		d.complain(&unknownThread{tid, d.o.pids})
	}
	if d.missing+len(d.unseen) > 0 {
		return errPart
	}
	return nil
}
