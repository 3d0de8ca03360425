// Package waiting joins what the processes of a dump wait for with their stacks: facts that were read before a stop,
// what the stop showed of them, locks that runtimes keep, and the names on the stacks, in the order in which they come.
//
// It begins at [New], for a core at [AtRest]. A [Processes] is for one goroutine. Who waits for whom package waits
// works out, not this one.
package waiting

import (
	"context"
	"slices"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/waits/live"
	"github.com/fpstack/fpstack/waits/still"
)

// Processes is who waits for whom in the processes of a dump: read before they are stopped, as a stop changes it.
type Processes struct {
	Source *live.Reader
	Facts  *waits.Facts
	Graph  *waits.Graph // nil if it could not be made
}

// New reads those processes. One that cannot be inspected is not in the graph: the dump says why. near is
// [waits.Facts.Near].
func New(ctx context.Context, pids []int, near bool) *Processes {
	w := &Processes{Source: live.New()}
	w.Facts, _ = w.Source.Begin(ctx, pids)
	w.Facts.Near = near
	w.Graph, _ = waits.Examine(ctx, w.Source, w.Facts)
	return w
}

// Close gives back what reads the facts.
func (w *Processes) Close() { w.Source.Close() }

// Known tells what was read of the threads of process pid that sleep; nil if nothing was.
func (w *Processes) Known(pid int) func(tid int) (tracer.Known, bool) {
	if w == nil {
		return nil
	}
	return func(tid int) (tracer.Known, bool) {
		t := w.Facts.Thread(tid)
		if t == nil || t.Process.PID != pid || !t.First.Known || !t.First.Blocked {
			return tracer.Known{}, false
		}
		return tracer.Known{Comm: t.Comm, State: t.State, Call: t.First.Call, Counters: t.First.Counters}, true
	}
}

// names says what descriptors of process pid are.
func (w *Processes) names(pid int, fds []int) map[int]string {
	source := live.New()
	if w != nil {
		source = w.Source
	}
	return source.Names(pid, fds)
}

// DescribeFDs describes the files that threads of a batch wait for, and others.
func (w *Processes) DescribeFDs(p *tracer.Process, batch *snapshot.Snapshot, others []int) {
	wanted := append(resolve.Descriptors(batch), others...)
	batch.FDs = w.names(p.PID(), wanted)
	if len(wanted) > 0 && len(batch.FDs) == 0 && p.FilesDenied() {
		batch.Problems = append(batch.Problems, "its open files may not be read: that takes CAP_DAC_READ_SEARCH or "+
			"its user")
	}
}

// Copiers are what is to be copied in the stop of process pid, so that its deadlocks can be confirmed.
func (w *Processes) Copiers(pid int) []snapshot.Copier {
	if w == nil || w.Graph == nil {
		return nil
	}
	if holds := w.Graph.Holds(pid); len(holds) > 0 {
		return []snapshot.Copier{holdCopier(holds)}
	}
	return nil
}

// holdCopier copies the words that deadlocks rest on.
type holdCopier []waits.Hold

func (c holdCopier) String() string { return "owners of locks" }

func (c holdCopier) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	for i := range c {
		if c[i].TID == t.TID {
			f.Fetch(snapshot.Want{Addr: c[i].Word, Len: waits.HoldSize})
		}
	}
}

// Writes reports whether a thread of process pid waits for room in a pipe or a socket. A stop ends its call with what
// it has written by then: a program that does not go on with the rest loses that, and its hang ends. Source: write(2),
// signal(7).
func (w *Processes) Writes(pid int) bool {
	if w == nil || w.Graph == nil || w.Facts.Process(pid) == nil {
		return false
	}
	return slices.ContainsFunc(w.Facts.Process(pid).Threads, func(t *waits.Thread) bool {
		of := w.Graph.Of(t.TID)
		return of != nil && (of.Object.Kind.Sort == profile.SortPipeRoom ||
			of.Object.Kind.Sort == profile.SortSocketRoom)
	})
}

// Learn takes what the stop of process pid showed in a batch: whether deadlocks are as they were, and the locks of
// runtimes.
func (w *Processes) Learn(pid int, walk *dump.Walk, batch *snapshot.Snapshot) {
	if w == nil || w.Graph == nil {
		return
	}
	for i := range batch.Threads {
		t := &batch.Threads[i]
		w.Facts.AtStop(t.TID, (*procfs.Syscall)(t.Syscall), t.Stack)
	}
	for _, h := range w.Graph.Holds(pid) {
		i := slices.IndexFunc(batch.Threads, func(t snapshot.Thread) bool { return t.TID == h.TID })
		if i < 0 || batch.Threads[i].Registers == nil {
			continue
		}
		t := &batch.Threads[i]
		owner, err := mem.Uint(batch.Reader(t, nil), h.Word, waits.HoldSize, t.Arch.Order)
		pc, _ := t.Registers.PC()
		sp, _ := t.Registers.SP()
		if err == nil {
			w.Facts.Confirm(h, uint32(owner) == h.Owner && waits.InCall(t.Arch.Name, h.PC, pc) && sp == h.SP)
		}
	}
	if p := w.Facts.Process(pid); p != nil {
		locks := walk.Locks(batch)
		w.confirmLocks(locks, batch)
		p.Locks = append(p.Locks, locks...)
	}
}

// confirmLocks notes of the locks of runtimes which waiters were still in their call in the stop that the owners were
// read in. Where not all threads were stopped at one instant the locks are not of one either.
func (w *Processes) confirmLocks(locks []waits.Lock, batch *snapshot.Snapshot) {
	for i := range locks {
		l := &locks[i]
		l.Instant = l.Instant && !batch.Rolling && batch.Late == 0 && len(batch.Left) == 0
		if !l.Instant {
			continue
		}
		for k := range batch.Threads {
			t := &batch.Threads[k]
			if t.Registers == nil || !slices.Contains(l.Waiters, t.TID) {
				continue
			}
			pc, _ := t.Registers.PC()
			sp, _ := t.Registers.SP()
			w.Facts.ConfirmCall(t.TID, sp, pc)
		}
	}
}

// Add puts what the threads of d wait for into it. Their names tell what the words of locks leave open.
func (w *Processes) Add(d *profile.Dump) {
	if w == nil || w.Graph == nil {
		return
	}
	w.name(d.Threads)
	w.Graph = waits.Join(w.Facts)
	for i := range d.Threads {
		t := &d.Threads[i]
		if of := w.Facts.Thread(t.TID); of != nil && of.Process.PID == d.Process.PID && !of.Moved {
			t.Wait = w.Graph.Shown(t.TID)
		}
	}
	d.Waits = w.Graph.Show()
	d.Waits.Threads, d.Waits.Processes = nil, nil
	if len(w.Facts.Processes) > 1 {
		concern(d)
	}
}

// AtRest puts into d, the dump of core c, who waits for whom: of whole, its threads, and the locks of its
// runtimes.
func AtRest(ctx context.Context, c *core.Core, whole *snapshot.Snapshot, locks []waits.Lock, d *profile.Dump) {
	source, facts := still.New(whole, c)
	w := &Processes{Facts: facts}
	w.confirmLocks(locks, whole)
	facts.Process(whole.Process.PID).Locks = locks
	w.name(d.Threads)
	w.Graph, _ = waits.Examine(ctx, source, facts)
	w.Add(d)
}

// concern leaves in d the cycles and roots that threads of d are part of, or wait for: the others are of other
// processes.
func concern(d *profile.Dump) {
	none := func(lists ...[]int) bool {
		return !slices.ContainsFunc(slices.Concat(lists...), func(tid int) bool {
			return slices.ContainsFunc(d.Threads, func(t profile.Thread) bool { return t.TID == tid })
		})
	}
	d.Waits.Cycles = slices.DeleteFunc(d.Waits.Cycles, func(c profile.WaitCycle) bool {
		return none(c.Threads, c.Behind)
	})
	d.Waits.Roots = slices.DeleteFunc(d.Waits.Roots, func(r profile.WaitRoot) bool {
		return none(r.Behind, []int{r.TID})
	})
}

// name gives the facts the functions that were found on the stacks. Stacks that share their frames share these.
func (w *Processes) name(threads []profile.Thread) {
	named := map[*profile.Frame][]string{}
	for i := range threads {
		t := &threads[i]
		of := w.Facts.Thread(t.TID)
		if of == nil {
			continue
		}
		if t.Runtime != nil {
			of.Name = t.Runtime.Name
		}
		if len(t.Stack.Frames) == 0 {
			continue
		}
		first := &t.Stack.Frames[0]
		if len(named[first]) != len(t.Stack.Frames) {
			named[first] = functions(t.Stack.Frames)
		}
		of.Idle, of.Stack = t.Idle, named[first]
	}
}

// functions lists the functions of a stack as the facts have them.
func functions(frames []profile.Frame) []string {
	names := make([]string, 0, len(frames))
	for i := range frames {
		switch f := &frames[i]; {
		case f.Kind == profile.Signal:
			names = append(names, waits.SignalFrame)
		case !f.Waits():
			names = append(names, f.Func)
		}
	}
	return names
}
