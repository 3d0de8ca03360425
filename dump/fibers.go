package dump

import (
	"cmp"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// Fibers says whether a dump lists the fibers of runtimes that schedule by themselves, as goroutines.
type Fibers int

const (
	NoFibers    Fibers = iota
	AllFibers          // where there are any
	AskedFibers        // and it is a problem where there are none, or where they cannot be listed
)

// fiberWalk walks the stacks of fibers, and keeps each stack that several have once.
type fiberWalk struct {
	listers []vm.FiberLister
	refused error // why some runtime's are not listed
	fibers  []snapshot.Fiber
	walked  resolve.Walked

	stacks map[uint64]int // by hash, the first of that hash
	seed   maphash.Seed
	stack  unwind.Stack // of the fiber at hand
	kept   func(*unwind.Stack)
}

// open learns where the fibers of the process are, before it is stopped.
func (w *fiberWalk) open(runtimes *vm.Process) {
	var errs []error
	for _, l := range runtimes.FiberListers() {
		if err := l.OpenFibers(); err != nil {
			errs = append(errs, err)
			continue
		}
		w.listers = append(w.listers, l)
	}
	w.refused = errors.Join(errs...)
}

// list lists the fibers that snap shows. What is missing is added to the problems of snap. It returns the stacks of
// those that threads run, by thread.
func (w *fiberWalk) list(snap *snapshot.Snapshot) map[int]mem.Span[mem.Addr] {
	for _, l := range w.listers {
		fibers, err := l.Fibers(snap)
		if err != nil {
			snap.Problems = append(snap.Problems, err.Error())
		}
		w.fibers = append(w.fibers, fibers...)
	}
	stacks := map[int]mem.Span[mem.Addr]{}
	for i := range w.fibers {
		if f := &w.fibers[i]; f.TID != 0 {
			stacks[f.TID] = f.Stack
		}
	}
	return stacks
}

// walk walks the stacks of the fibers that were listed: walk one of them, kept hears of each that is kept.
func (w *fiberWalk) walk(snap *snapshot.Snapshot, walk func(to *unwind.Stack, f *snapshot.Fiber, memory mem.Reader),
	kept func(*unwind.Stack)) {
	w.kept = kept
	w.stacks, w.seed = map[uint64]int{}, maphash.MakeSeed()
	memory := stoppedMemory(snap)
	w.walked.Fibers = w.fibers
	for i := range w.fibers {
		f := &w.fibers[i]
		w.stack = unwind.Stack{Frames: w.stack.Frames[:0]}
		if f.Thread.Registers != nil {
			walk(&w.stack, f, memory)
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
	all := &w.walked.FiberStacks
	var h maphash.Hash
	h.SetSeed(w.seed)
	maphash.WriteComparable(&h, createdBy)
	for i := range w.stack.Frames {
		maphash.WriteComparable(&h, w.stack.Frames[i].PC)
	}
	for key := h.Sum64(); ; key++ {
		at, known := w.stacks[key]
		if !known {
			at = len(*all)
			w.stacks[key] = at
			kept := w.stack
			kept.Frames = slices.Clone(kept.Frames)
			w.kept(&kept)
			*all = append(*all, resolve.FiberStack{Stack: kept, CreatedBy: createdBy})
			return at
		}
		if sameStack(&(*all)[at].Stack, &w.stack) && (*all)[at].CreatedBy == createdBy {
			return at
		}
	}
}

// sameStack reports whether two stacks are shown alike.
func sameStack(a, b *unwind.Stack) bool {
	if len(a.Frames) != len(b.Frames) || a.Stop != b.Stop || (a.Err == nil) != (b.Err == nil) {
		return false
	}
	for i := range a.Frames {
		f, g := &a.Frames[i], &b.Frames[i]
		if f.PC != g.PC || f.Interrupted != g.Interrupted || f.Note != g.Note || f.Origin != g.Origin {
			return false
		}
	}
	return true
}

// report says in d why fibers are not listed: as a problem where they were asked for, else as a note.
func (w *fiberWalk) report(d *profile.Dump, mode Fibers) {
	asked := mode == AskedFibers
	switch {
	case w.refused == nil && len(w.listers) == 0 && asked:
		d.Problems = append(d.Problems, "no goroutines: it is no Go program")
	case w.refused == nil:
	case asked:
		d.Problems = append(d.Problems, w.refused.Error())
	default:
		d.Notes = append(d.Notes, w.refused.Error())
	}
}
