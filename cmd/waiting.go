package cmd

import (
	"context"
	"slices"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/waits/live"
	"github.com/fpstack/fpstack/waits/still"
)

// waiting is who waits for whom in the processes of a dump: read before they are stopped, as a stop changes it.
type waiting struct {
	source *live.Reader
	facts  *waits.Facts
	graph  *waits.Graph // nil if it could not be made
}

// newWaiting reads those processes. One that cannot be inspected is not in the graph: the dump says why. near is
// [waits.Facts.Near].
func newWaiting(ctx context.Context, pids []int, near bool) *waiting {
	w := &waiting{source: live.New()}
	w.facts, _ = w.source.Begin(ctx, pids)
	w.facts.Near = near
	w.graph, _ = waits.Examine(ctx, w.source, w.facts)
	return w
}

func (w *waiting) close() { w.source.Close() }

// known tells what was read of the threads of process pid that sleep; nil if nothing was.
func (w *waiting) known(pid int) func(tid int) (tracer.Known, bool) {
	if w == nil {
		return nil
	}
	return func(tid int) (tracer.Known, bool) {
		t := w.facts.Thread(tid)
		if t == nil || t.Process.PID != pid || !t.First.Known || !t.First.Blocked {
			return tracer.Known{}, false
		}
		return tracer.Known{Comm: t.Comm, State: t.State, Call: t.First.Call, Counters: t.First.Counters}, true
	}
}

// names says what descriptors of process pid are.
func (w *waiting) names(pid int, fds []int) map[int]string {
	source := live.New()
	if w != nil {
		source = w.source
	}
	return source.Names(pid, fds)
}

// copiers are what is to be copied in the stop of process pid, so that its deadlocks can be confirmed.
func (w *waiting) copiers(pid int) []snapshot.Copier {
	if w == nil || w.graph == nil {
		return nil
	}
	if holds := w.graph.Holds(pid); len(holds) > 0 {
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

// learn takes what the stop of process pid showed in a batch: whether deadlocks are as they were, and the locks of
// runtimes.
func (w *waiting) learn(pid int, walk *dump.Walk, batch *snapshot.Snapshot) {
	if w == nil || w.graph == nil {
		return
	}
	for i := range batch.Threads {
		t := &batch.Threads[i]
		w.facts.AtStop(t.TID, (*procfs.Syscall)(t.Syscall))
	}
	for _, h := range w.graph.Holds(pid) {
		i := slices.IndexFunc(batch.Threads, func(t snapshot.Thread) bool { return t.TID == h.TID })
		if i < 0 || batch.Threads[i].Registers == nil {
			continue
		}
		t := &batch.Threads[i]
		owner, err := mem.Uint(batch.Reader(t, nil), h.Word, waits.HoldSize, t.Arch.Order)
		pc, _ := t.Registers.PC()
		sp, _ := t.Registers.SP()
		if err == nil {
			w.facts.Confirm(h, uint32(owner) == h.Owner && pc == h.PC && sp == h.SP)
		}
	}
	if p := w.facts.Process(pid); p != nil {
		locks := walk.Locks(batch)
		w.confirmLocks(locks, batch)
		p.Locks = append(p.Locks, locks...)
	}
}

// confirmLocks notes of the locks of runtimes which waiters were still in their call in the stop that the owners were
// read in. Where not all threads were stopped at one instant the locks are not of one either.
func (w *waiting) confirmLocks(locks []waits.Lock, batch *snapshot.Snapshot) {
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
			w.facts.ConfirmCall(t.TID, sp, pc)
		}
	}
}

// add puts what the threads of d wait for into it. Their names tell what the words of locks leave open.
func (w *waiting) add(d *profile.Dump) {
	if w == nil || w.graph == nil {
		return
	}
	w.name(d.Threads)
	w.graph = waits.Join(w.facts)
	for i := range d.Threads {
		t := &d.Threads[i]
		if of := w.facts.Thread(t.TID); of != nil && of.Process.PID == d.Process.PID && !of.Moved {
			t.Wait = w.graph.Shown(t.TID)
		}
	}
	d.Waits = w.graph.Show()
	d.Waits.Threads, d.Waits.Processes = nil, nil
	if len(w.facts.Processes) > 1 {
		concern(d)
	}
}

// waitsAtRest puts into d, the dump of core c, who waits for whom: of whole, its threads, and the locks of its
// runtimes.
func waitsAtRest(ctx context.Context, c *core.Core, whole *snapshot.Snapshot, locks []waits.Lock, d *profile.Dump) {
	source, facts := still.New(whole, c)
	w := &waiting{facts: facts}
	w.confirmLocks(locks, whole)
	facts.Process(whole.Process.PID).Locks = locks
	w.name(d.Threads)
	w.graph, _ = waits.Examine(ctx, source, facts)
	w.add(d)
}

// concern leaves in d the cycles and roots that threads of d are part of, or wait for: the others are of other
// processes.
func concern(d *profile.Dump) {
	none := func(lists ...[]int) bool {
		return !slices.ContainsFunc(slices.Concat(lists...), func(tid int) bool { return hasThread(d, tid) })
	}
	d.Waits.Cycles = slices.DeleteFunc(d.Waits.Cycles, func(c profile.WaitCycle) bool {
		return none(c.Threads, c.Behind)
	})
	d.Waits.Roots = slices.DeleteFunc(d.Waits.Roots, func(r profile.WaitRoot) bool {
		return none(r.Behind, []int{r.TID})
	})
}

// name gives the facts the functions that were found on the stacks. Stacks that share their frames share these.
func (w *waiting) name(threads []profile.Thread) {
	named := map[*profile.Frame][]string{}
	for i := range threads {
		t := &threads[i]
		of := w.facts.Thread(t.TID)
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
