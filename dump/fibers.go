package dump

import (
	"cmp"
	"errors"
	gomaps "maps"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/waits"
)

// Fibers says whether a dump lists what runtimes schedule by themselves, as goroutines.
type Fibers int

const (
	NoFibers    Fibers = iota
	AllFibers          // where there are any
	AskedFibers        // and it is a problem where there are none of any kind, or where some cannot be listed
)

// fiberWalk walks the stacks of fibers, and keeps each stack that several have once.
type fiberWalk struct {
	mode    Fibers
	listers []vm.FiberLister
	notes   []string         // what may be missing
	refused map[string]error // why those of a kind are not listed
	fibers  []snapshot.Fiber
	ends    []int // of listers: behind the last of fibers that each listed
	walked  resolve.Walked

	book   *frameBook
	stacks map[fiberStack]int // where it is in walked.FiberStacks
	stack  unwind.Stack       // of the fiber at hand
	kept   func(*unwind.Stack)
	// localsOf reads the local variables of the stack of a fiber, by number of the frame; nil: nobody wants them.
	localsOf func(*unwind.Stack) map[int][]profile.Variable
	locals   []map[int][]profile.Variable // of each fiber, by number of the frame
}

// fiberStack is what a stack of fibers is known by.
type fiberStack struct {
	first     *unwind.Frame // as kept by the book, nil for none
	frames    int
	stop      unwind.Stop
	whole     bool // there is no error
	createdBy mem.Addr
}

// open learns where the fibers of the process are, before it is stopped.
func (w *fiberWalk) open(runtimes *vm.Process, opt *Options) {
	w.mode, w.refused = opt.Fibers, map[string]error{}
	if w.mode == NoFibers {
		return
	}
	runtimes.MeetLibraries(w.mode == AskedFibers)
	for _, l := range runtimes.FiberListers() {
		kind := l.FiberKind()
		if _, copies := l.(snapshot.ProcessCopier); copies && opt.Uncopied {
			continue
		}
		switch present, err := l.OpenFibers(); {
		case err != nil:
			w.refused[kind] = errors.Join(w.refused[kind], err)
		case present:
			w.listers = append(w.listers, l)
		}
	}
}

// list lists the fibers that snap shows. What is missing is added to the problems of snap. It returns the stacks of
// those that threads run, by thread.
func (w *fiberWalk) list(snap *snapshot.Snapshot) map[int]mem.Span[mem.Addr] {
	for _, l := range w.listers {
		fibers, err := l.Fibers(snap)
		switch {
		case errors.Is(err, vm.ErrChanged) && w.mode != AskedFibers:
			w.notes = append(w.notes, err.Error())
		case err != nil:
			snap.Problems = append(snap.Problems, err.Error())
		}
		w.fibers = append(w.fibers, fibers...)
		w.ends = append(w.ends, len(w.fibers))
	}
	stacks := map[int]mem.Span[mem.Addr]{}
	for i := range w.fibers {
		if f := &w.fibers[i]; f.TID != 0 {
			stacks[f.TID] = f.Stack
		}
	}
	return stacks
}

// Fibers lists the fibers of the process that snap shows, without their stacks, in the place of [Walk.Batch]. has is
// false where no runtime of the process has any. An error says which may be missing.
func (w *Walk) Fibers(snap *snapshot.Snapshot) (fibers []snapshot.Fiber, has bool, err error) {
	w.begin(snap)
	before := len(snap.Problems)
	w.fibers.list(snap)
	errs := []error{w.runtimes.Err()}
	for _, missing := range slices.Concat(w.fibers.notes, snap.Problems[before:]) {
		errs = append(errs, errors.New(missing))
	}
	for _, kind := range slices.Sorted(gomaps.Keys(w.fibers.refused)) {
		errs = append(errs, w.fibers.refused[kind])
	}
	return w.fibers.fibers, len(w.fibers.listers)+len(w.fibers.refused) > 0, errors.Join(errs...)
}

// walk walks the stacks of the fibers that were listed: walk one of them, kept hears of each that is kept, with its
// frames in book.
func (w *fiberWalk) walk(snap *snapshot.Snapshot, book *frameBook,
	walk func(to *unwind.Stack, f *snapshot.Fiber, memory mem.Reader), kept func(*unwind.Stack)) {
	if len(w.fibers) == 0 {
		return
	}
	w.book, w.kept = book, kept
	w.stacks = map[fiberStack]int{}
	memory := stoppedMemory(snap)
	w.walked.Fibers = w.fibers
	of := 0 // the lister
	for i := range w.fibers {
		for i >= w.ends[of] {
			of++
		}
		f := &w.fibers[i]
		w.stack = unwind.Stack{Frames: w.stack.Frames[:0]}
		if f.Thread.Registers != nil {
			walk(&w.stack, f, memory)
		} else if s, ok := w.listers[of].(vm.FiberStacker); ok {
			s.FiberStack(f.ID, &w.stack)
		}
		if w.localsOf != nil {
			w.locals = append(w.locals, w.localsOf(&w.stack))
		}
		f.Thread = snapshot.Thread{} // the copied stack may be dropped
		w.walked.StackOf = append(w.walked.StackOf, w.keep(f.CreatedBy))
	}
}

// stoppedMemory is what was copied of the process and of its threads while they were stopped: a fiber may go on on the
// stack of the thread that it is locked to.
func stoppedMemory(snap *snapshot.Snapshot) *mem.Overlay {
	ranges := slices.Clone(snap.Whole)
	for i := range snap.Threads {
		if t := &snap.Threads[i]; t.Registers != nil {
			ranges = append(append(ranges, t.Stack), t.Copied...)
		}
	}
	slices.SortStableFunc(ranges, func(a, b mem.Range) int { return cmp.Compare(a.Start, b.Start) }) // quick to lay out
	return mem.NewOverlay(nil, ranges...)
}

// keep returns the number of the stack at hand among those that are kept.
func (w *fiberWalk) keep(createdBy mem.Addr) int {
	kept := w.stack
	forgetPlaces(&kept, true)
	if kept.Frames = w.book.keep(kept.Frames); len(kept.Frames) > maxReused {
		w.stack.Frames = nil
	}
	key := fiberStack{frames: len(kept.Frames), stop: kept.Stop, whole: kept.Err == nil, createdBy: createdBy}
	if len(kept.Frames) > 0 {
		key.first = &kept.Frames[0]
	}
	at, known := w.stacks[key]
	if !known {
		at = len(w.walked.FiberStacks)
		w.stacks[key] = at
		w.kept(&kept)
		w.walked.FiberStacks = append(w.walked.FiberStacks, resolve.FiberStack{Stack: kept, CreatedBy: createdBy})
	}
	return at
}

// report says in d why fibers are not listed: as a problem where they were asked for, else as a note.
func (w *fiberWalk) report(d *profile.Dump) {
	d.Notes = append(d.Notes, w.notes...)
	asked := w.mode == AskedFibers
	for _, kind := range slices.Sorted(gomaps.Keys(w.refused)) {
		if asked {
			d.Problems = append(d.Problems, w.refused[kind].Error())
		} else {
			d.Notes = append(d.Notes, w.refused[kind].Error())
		}
	}
	if asked && len(w.listers) == 0 && len(w.refused) == 0 {
		d.Problems = append(d.Problems, "no goroutines, tasks, greenlets, virtual threads or async calls: no "+
			"runtime that has them, or none that can be read")
	}
}

// nameWaits adds to the states of fibers of Java that are parked what for, as the methods say in which they are. Which
// lock it is the runtime has said where that is known.
func nameWaits(d *profile.Dump) {
	said := map[int]string{} // by stack
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.Wait != "" || f.Object != 0 || f.Missing != "" || f.Stack < 0 || f.Stack >= len(d.FiberStacks) {
			continue
		}
		what, known := said[f.Stack]
		if !known {
			what = waitOf(d.FiberStacks[f.Stack].Stack.Frames)
			said[f.Stack] = what
		}
		f.State += what
	}
}

// waitOf is what the methods of a stack of Java say that it waits for, as a state goes on; "" for nothing.
func waitOf(frames []profile.Frame) string {
	if len(frames) == 0 || frames[0].Kind != profile.Java {
		return ""
	}
	names := make([]string, len(frames))
	for i := range frames {
		names[i] = frames[i].Func
	}
	switch noun, sort := waits.ByMethods(names); {
	case sort == profile.SortTime:
		return ", sleeps"
	case noun != "":
		return ", for " + noun
	}
	return ""
}
