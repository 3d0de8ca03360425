package resolve

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Walked is the stacks of one process.
type Walked struct {
	Threads []unwind.Stack // of the threads of the snapshot, in their order
	Idle    []string       // why the stack of each says nothing: see [profile.Thread]; nil for none
	Fibers  []snapshot.Fiber
	// StackOf is the index in FiberStacks of each of Fibers.
	StackOf     []int
	FiberStacks []FiberStack
}

// FiberStack is a stack that several fibers may have, and the return address of the call that created them, 0 if
// unknown.
type FiberStack struct {
	Stack     unwind.Stack
	CreatedBy mem.Addr
}

// fibers puts the fibers of w into the terms of a person.
func (n *Names) fibers(d *profile.Dump, w *Walked, shared sharedFrames) {
	creators := make([]unwind.Frame, len(w.FiberStacks))
	for i := range w.FiberStacks {
		if pc := w.FiberStacks[i].CreatedBy; pc != 0 {
			creators[i] = unwind.Frame{PC: pc, Module: n.set.Find(pc - 1)}
		}
	}
	named := n.Frames(creators)
	d.FiberStacks = make([]profile.FiberStack, len(w.FiberStacks))
	for i := range w.FiberStacks {
		d.FiberStacks[i].Stack = shared.stack(&w.FiberStacks[i].Stack)
		if creators[i].PC != 0 {
			d.FiberStacks[i].CreatedBy = named[i]
		}
	}
	threads := make(map[int]*profile.Thread, len(d.Threads))
	for i := range d.Threads {
		threads[d.Threads[i].TID] = &d.Threads[i]
	}
	d.Fibers = make([]profile.Fiber, len(w.Fibers))
	for i := range w.Fibers {
		f := &w.Fibers[i]
		d.Fibers[i] = profile.Fiber{Kind: f.Kind, ID: f.ID, Name: f.Name, State: f.State, Waits: f.Waits,
			Locked: f.Locked, System: f.System, TID: f.TID, Stack: w.StackOf[i], Missing: f.Missing, Creator: f.Creator,
			AwaitedBy: f.AwaitedBy, HeldBy: f.HeldBy, Timed: f.Timed, LoopTID: f.LoopTID,
			Wait: profile.FiberWait(f.Wait), Object: f.Object, Test: f.Test}
		if t := threads[f.TID]; t != nil {
			t.Fiber = &profile.FiberID{Kind: f.Kind, ID: f.ID, Name: f.Name}
		}
	}
}
