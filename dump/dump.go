// Package dump makes of what was copied of one process what a person is shown: it recognises the runtimes, walks the
// stacks batch by batch, and names the frames. [Saver] writes what was copied to a file, and [Replayer] does the same
// work again from that, without the process.
//
// The caller stops the threads, or reads the file, and gives the image of the process, in which files are found. All
// of it runs while the threads run.
package dump

import (
	"cmp"
	gomaps "maps"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/waits"
)

// Options say how stacks are walked and named.
type Options struct {
	Runtimes  *vm.Table
	Names     resolve.Options // its Budget bounds what is read of modules, too
	Mode      unwind.Mode
	MaxFrames int // of a thread; 0: no limit but that of a process
	Fibers    Fibers
	Locals    bool // the local variables of frames too, where a runtime knows them

	// Uncopied says that nothing of the process as a whole is copied: fibers that take that are not listed.
	Uncopied bool
}

// Walk walks the stacks of one process. It is for one goroutine at a time.
type Walk struct {
	opt      Options
	image    module.Image
	set      *module.Set
	runtimes *vm.Process
	names    *resolve.Names
	walker   *unwind.Walker
	table    *maps.Table // of the first batch
	left     frameBudget
	stacks   map[int]unwind.Stack // by thread, as kept by book
	book     frameBook
	frames   []unwind.Frame // memory for the stack at hand
	idle     map[int]string // by thread, why its stack says nothing
	fibers   fiberWalk
	loops    loops
	facts    map[int]profile.RuntimeThread      // by thread
	locals   map[int]map[int][]profile.Variable // by thread and number of the frame

	fiberStacks map[int]mem.Span[mem.Addr] // of the fibers that threads of the first batch run, by thread
}

// New returns a Walk of the process that image shows, and recognises its runtimes before it is stopped, so that what
// they need is copied. table may be nil if the mappings are not known yet: then it recognises none. The image is used
// until Close.
func New(table *maps.Table, image module.Image, opt Options) *Walk {
	w := &Walk{opt: opt, image: image}
	if table == nil {
		table = maps.NewTable(nil)
	}
	w.runtimes = opt.Runtimes.Process(image)
	w.set = module.NewSet(table, image)
	w.set.Charge(opt.Names.Budget)
	w.runtimes.Scan(w.set)
	w.loops.finder = w.runtimes.Loops()
	w.fibers.open(w.runtimes, &opt)
	return w
}

// Copiers are what the runtimes need to be copied of each thread.
func (w *Walk) Copiers() []snapshot.Copier { return w.runtimes.DumpCopiers() }

// ProcessCopiers are what is to be copied of the process as a whole, for its fibers.
func (w *Walk) ProcessCopiers() []snapshot.ProcessCopier {
	var all []snapshot.ProcessCopier
	for _, l := range w.fibers.listers {
		if c, ok := l.(snapshot.ProcessCopier); ok {
			all = append(all, c)
		}
	}
	if w.opt.Locals {
		all = append(all, w.runtimes.LocalsCopiers()...)
	}
	return all
}

// Batch walks what one batch holds, and keeps none of its memory. What was not copied is read from the image. Of
// modules it knows those that the first batch showed.
func (w *Walk) Batch(snap *snapshot.Snapshot) {
	if w.walker == nil {
		w.begin(snap)
		w.fiberStacks = w.fibers.list(snap)
		defer w.walkFibers(snap)
	}
	changed := snap.Changed.Union(maps.ChangedCode(w.table, snap.Maps))
	resolve.Restarted(snap, func(t *snapshot.Thread) (int64, bool) { return w.walker.CallNumber(t, w.image.Memory) })
	var whole *mem.Overlay
	if w.opt.Locals {
		whole = mem.NewOverlay(nil, snap.Whole...)
		w.fibers.localsOf = func(s *unwind.Stack) map[int][]profile.Variable { return w.runtimes.Locals(whole, s) }
	}
	for i := range snap.Threads {
		t := &snap.Threads[i]
		opt := unwind.Options{Mode: w.opt.Mode, MaxFrames: w.left.limit(w.opt.MaxFrames), Stack: w.fiberStacks[t.TID]}
		stack := unwind.Stack{Frames: w.frames}
		w.walker.WalkInto(&stack, t, snap.Reader(t, w.image.Memory), opt)
		w.left.take(&stack)
		stack.Unsettle(changed)
		if whole != nil {
			w.locals[t.TID] = w.runtimes.Locals(whole, &stack)
		}
		if why := w.walker.Idle(t, &stack); why != "" {
			w.idle[t.TID] = why
		}
		w.keep(t.TID, stack)
		w.loops.look(snap, t)
	}
	gomaps.Copy(w.facts, w.runtimes.ThreadFacts(snap))
}

// keep keeps the stack of a thread, and its memory for the next.
func (w *Walk) keep(tid int, s unwind.Stack) {
	forgetPlaces(&s, false)
	if w.frames = s.Frames; len(s.Frames) > maxReused {
		w.frames = nil
	}
	s.Frames = w.book.keep(s.Frames)
	w.stacks[tid] = s
}

// walkFibers walks the fibers that the first batch shows.
func (w *Walk) walkFibers(snap *snapshot.Snapshot) {
	w.fibers.walk(snap, &w.book, func(to *unwind.Stack, f *snapshot.Fiber, memory mem.Reader) {
		opt := unwind.Options{Mode: w.opt.Mode, MaxFrames: w.left.limit(w.opt.MaxFrames), Called: !f.Interrupted,
			Stack: f.Stack}
		w.walker.WalkInto(to, &f.Thread, memory, opt)
		to.Unsettle(snap.Changed)
	}, func(kept *unwind.Stack) { w.left.take(kept) })
}

// begin makes what takes the mappings of the first batch.
func (w *Walk) begin(snap *snapshot.Snapshot) {
	w.table, w.left = snap.Maps, maxFrames
	w.set.Update(snap.Maps)
	w.runtimes.Scan(w.set)
	w.names = resolve.New(w.set, w.opt.Names)
	w.walker = unwind.NewWalker(w.set, w.names)
	w.walker.Use(w.runtimes)
	w.facts = map[int]profile.RuntimeThread{}
	w.locals = map[int]map[int][]profile.Variable{}
	w.stacks, w.idle = make(map[int]unwind.Stack, len(snap.Threads)), map[int]string{}
}

// Dump names all that was walked. whole is the batches together, at least one.
func (w *Walk) Dump(whole *snapshot.Snapshot) *profile.Dump {
	d := w.names.Dump(whole, w.walked(whole))
	if problem := w.runtimes.Err(); problem != nil {
		d.Problems = append(d.Problems, strings.Split(problem.Error(), "\n")...)
	}
	for _, unanswered := range w.set.Unanswered() {
		d.Problems = append(d.Problems, unanswered.Error())
	}
	d.Notes = append(d.Notes, vm.Notes(w.set.All())...)
	w.fibers.report(d)
	nameWaits(d)
	addBuildIDs(d, whole.Files)
	w.loops.report(d, whole)
	for i := range w.fibers.locals {
		d.Fibers[i].Locals = w.fibers.locals[i]
	}
	for i := range d.Threads {
		d.Threads[i].Locals = w.locals[d.Threads[i].TID]
		if f, ok := w.facts[d.Threads[i].TID]; ok && (f.Name != "" || f.ID != 0 || len(f.Facts) > 0) {
			d.Threads[i].Runtime = &f
		}
	}
	d.NameCalls()
	return d
}

// addBuildIDs gives the modules whose files are not here the build ids of those that were.
func addBuildIDs(d *profile.Dump, files []snapshot.File) {
	ids := make(map[string]string, len(files))
	for _, f := range files {
		ids[f.Path] = f.BuildID
	}
	for i := range d.Modules {
		m := &d.Modules[i]
		m.BuildID = cmp.Or(m.BuildID, ids[m.Path])
	}
}

// walked lists the stacks of all threads, in their order, and those of fibers.
func (w *Walk) walked(whole *snapshot.Snapshot) resolve.Walked {
	all := w.fibers.walked
	all.Threads, all.Idle = make([]unwind.Stack, len(whole.Threads)), make([]string, len(whole.Threads))
	for i := range whole.Threads {
		tid := whole.Threads[i].TID
		var walked bool
		if all.Threads[i], walked = w.stacks[tid]; !walked {
			all.Threads[i].Stop = unwind.NoContext
		}
		all.Idle[i] = w.idle[tid]
	}
	return all
}

// Locks lists what the runtimes know of locks of their own, for which threads of s wait.
func (w *Walk) Locks(s *snapshot.Snapshot) []waits.Lock {
	return w.runtimes.Locks(s, func(tid int) *unwind.Stack {
		if stack, ok := w.stacks[tid]; ok {
			return &stack
		}
		return nil
	})
}

// Close releases the modules. What was returned stays.
func (w *Walk) Close() error {
	w.runtimes.Close()
	return w.set.Close()
}
