package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/vm/unshown"
)

// dumping is one run of dump: what its processes share, and what was had of them.
type dumping struct {
	*app
	o       *dumpOptions
	finder  *debugfile.Finder
	objects *module.Shared
	names   resolve.Options
	vms     *vm.Table

	unseen         ids // threads of --tid that no process has
	shown, missing int
	ended          int // processes of a tree that were gone when their turn came
}

func (a *app) newDumping(ctx context.Context, o *dumpOptions) *dumping {
	d := &dumping{app: a, o: o, finder: a.finder(ctx, &o.namingOptions), objects: module.NewShared(),
		unseen: slices.Clone(o.tids)}
	budget := keepHeap(newBudget(ctx, &o.namingOptions))
	d.names, d.vms = o.namingOptions.names(d.finder, budget), o.vms(budget)
	d.names.Shared = resolve.NewShared()
	return d
}

func (d *dumping) close() {
	d.finder.Close()
	d.objects.Close()
}

// processes lists the processes to sample: those named, with --children each before the tree
// below it. We are none of them.
func (d *dumping) processes() []int {
	if !d.o.children {
		return d.o.pids
	}
	all := procfs.Tree(d.o.pids, tracer.ChildrenOf)
	return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() && !slices.Contains(d.o.pids, pid) })
}

// take makes the dump of one process, and reports what it lacks. It is nil if there is none.
func (d *dumping) take(ctx context.Context, pid int) *profile.Dump {
	got, err := d.sample(ctx, pid)
	switch {
	case err != nil && hasEnded(err) && !slices.Contains(d.o.pids, pid):
		d.ended++
	case err != nil:
		d.complain(err)
		d.missing++
	}
	if got == nil {
		return nil
	}
	d.shown++
	got.Notes = append(got.Notes, unshown.InDump(got)...)
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
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	w := &walking{d: d, p: p}
	defer w.close()
	w.recognise()
	opt := tracer.StopOptions{TIDs: d.o.tids, MaxPause: d.o.maxPause, Rolling: d.o.rolling,
		KernelStacks: d.o.kernel, Copiers: w.runtimes.Copiers()}
	if d.o.goroutines.wanted(d.o) {
		w.fibers.open(w.runtimes)
		w.fibers.stopOptions(&opt, d.o.goroutines.asked())
	}
	snap, err := p.Batches(ctx, opt, w.walk)
	if snap == nil {
		return nil, err
	}
	wanted := resolve.Descriptors(snap)
	snap.FDs = p.DescribeFDs(wanted)
	if len(wanted) > 0 && len(snap.FDs) == 0 && p.FilesDenied() {
		snap.Problems = append(snap.Problems, "its open files may not be read: that takes CAP_DAC_READ_SEARCH or "+
			"its user")
	}
	if d.o.debuginfod {
		d.progress = newProgress(d.stderr)
		defer d.progress.clear()
	}
	got := w.names.Dump(snap, w.of(snap))
	if problem := w.runtimes.Err(); problem != nil {
		got.Problems = append(got.Problems, strings.Split(problem.Error(), "\n")...)
	}
	w.fibers.report(got, d.o.goroutines.asked())
	if d.o.source && !d.o.noLines {
		source.Add(got, 1, d.names.Budget, theirSource(p), ownSource)
	}
	return got, err
}

// walking walks the stacks of one process, batch by batch. The process runs again.
type walking struct {
	d        *dumping
	p        *tracer.Process
	set      *module.Set
	runtimes *vm.Process
	names    *resolve.Names
	walker   *unwind.Walker
	table    *maps.Table // of the first batch
	left     frameBudget
	stacks   map[int]unwind.Stack // by thread
	idle     map[int]string       // by thread, why its stack says nothing
	fibers   fiberWalk
}

// recognise finds the runtimes of the process before it is stopped, so that what they need is copied. Without its
// mappings it finds none.
func (w *walking) recognise() {
	table, err := w.p.Maps()
	if err != nil {
		table = maps.NewTable(nil)
	}
	image := w.d.objects.Image(w.p.Image())
	w.runtimes = w.d.vms.Process(image)
	w.set = module.NewSet(table, image)
	w.set.Charge(w.d.names.Budget)
	w.runtimes.Scan(w.set)
}

// walk walks what one batch holds, and keeps none of its memory. Of modules it knows those that the first batch
// showed.
func (w *walking) walk(snap *snapshot.Snapshot) {
	if w.walker == nil {
		w.table, w.left = snap.Maps, maxDumpFrames
		w.set.Update(snap.Maps)
		w.runtimes.Scan(w.set)
		w.names = resolve.New(w.set, w.d.names)
		w.walker = unwind.NewWalker(w.set, w.names)
		w.walker.Use(w.runtimes)
		w.stacks, w.idle = make(map[int]unwind.Stack, len(snap.Threads)), map[int]string{}
		defer w.walkFibers(snap)
	}
	changed := snap.Changed.Union(maps.ChangedCode(w.table, snap.Maps))
	resolve.Restarted(snap, func(t *snapshot.Thread) (int64, bool) { return w.walker.CallNumber(t, w.p) })
	for i := range snap.Threads {
		t := &snap.Threads[i]
		opt := unwind.Options{Mode: w.d.o.unwind.mode(), MaxFrames: w.left.limit(w.d.o.maxFrames)}
		stack := w.walker.Walk(t, snap.Reader(t, w.p), opt)
		w.left.take(&stack)
		stack.Unsettle(changed)
		w.stacks[t.TID] = stack
		if why := w.walker.Idle(t, &stack); why != "" {
			w.idle[t.TID] = why
		}
	}
}

// walkFibers walks the fibers that the first batch shows.
func (w *walking) walkFibers(snap *snapshot.Snapshot) {
	w.fibers.walk(snap, func(to *unwind.Stack, t *snapshot.Thread, memory mem.Reader, called bool) {
		opt := unwind.Options{Mode: w.d.o.unwind.mode(), MaxFrames: w.left.limit(w.d.o.maxFrames), Called: called}
		w.walker.WalkInto(to, t, memory, opt)
		to.Unsettle(snap.Changed)
	}, func(kept *unwind.Stack) { w.left.take(kept) })
}

// of lists the stacks of all threads, in their order, and those of fibers.
func (w *walking) of(snap *snapshot.Snapshot) resolve.Walked {
	all := w.fibers.walked
	all.Threads, all.Idle = make([]unwind.Stack, len(snap.Threads)), make([]string, len(snap.Threads))
	for i := range snap.Threads {
		tid := snap.Threads[i].TID
		var walked bool
		if all.Threads[i], walked = w.stacks[tid]; !walked {
			all.Threads[i].Stop = unwind.NoContext
		}
		all.Idle[i] = w.idle[tid]
	}
	return all
}

func (w *walking) close() {
	w.runtimes.Close()
	w.set.Close()
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
		d.complain(fmt.Errorf("thread %d: no process given has this thread", tid))
	}
	if d.missing+len(d.unseen) > 0 {
		return errPart
	}
	return nil
}
