package tokio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/work"
)

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return profile.AsyncTask }

// OpenFibers implements vm.FiberLister: it finds which types of tasks the program has.
func (r *Runtime) OpenFibers() (present bool, err error) {
	if r.image.Search == nil {
		return false, nil
	}
	r.vtables, err = r.findVtables()
	r.takes = map[mem.Addr]bool{}
	for i := range r.vtables {
		r.takes[r.vtables[i].take] = true
	}
	return len(r.vtables) > 0, err
}

// Fibers implements vm.FiberLister: the tasks that have not ended, in the order in which they were made. They are of a
// moment after the stop.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.budget.Release(r.held)
	r.stacks, r.held = map[uint64]unwind.Stack{}, 0
	l := r.find()
	r.openNames()
	runs, err := r.runAll(l.tasks, s)
	w := listing{r: r, runs: runs, tasks: l.tasks, has: map[mem.Addr][]uint64{}}
	w.all()
	return w.out, errors.Join(l.problem(), err, r.closeNames())
}

// ran is what the dry run of a task has shown.
type ran struct {
	way
	why   error // why there is none
	chain []waiting
	drop  way        // what dropping the task has shown
	moved bool       // what that has read was not the same
	held  []mem.Addr // what the task has, that others wait for
	set   []mem.Addr // tasks that it has in a set
	// unwoken says that it may have more futures in a set than were woken.
	unwoken bool
}

// wait is one thing that a task waits for.
type wait struct {
	*waiting
	object mem.Addr // where it lies, 0 if that is not known
}

// maxBranches bounds the things that one task is said to wait for.
const maxBranches = 64

// waits are the things that a task waits for, and whether there are more. At one place those of a kind are one, unless
// it is known that they lie in different places: of those it may be that a function is told from itself.
func (r *ran) waits() (out []wait, more bool) {
	type kind struct {
		at     *node
		awaits awaited
	}
	last := map[kind]int{} // in out
	for i := range r.chain {
		c := &r.chain[i]
		objects := c.objects(r.touched)
		if len(objects) == 0 {
			objects = []mem.Addr{0}
		}
		for _, object := range objects {
			k := kind{c.at, c.awaits}
			had, ok := last[k]
			switch {
			case ok && (object == 0 || slices.ContainsFunc(out, func(w wait) bool {
				return w.object == object && w.at == c.at && w.awaits == c.awaits
			})):
				continue
			case ok && out[had].object == 0:
				out[had] = wait{c, object}
				continue
			case len(out) == maxBranches:
				return out, true
			}
			last[k], out = len(out), append(out, wait{c, object})
		}
	}
	return out, false
}

// awaited are the tasks that it waits for: all of a set, if it waits for one of that.
func (r *ran) awaited() (out []mem.Addr) {
	asks := false
	for _, t := range r.touched {
		if t.takes && !slices.Contains(out, t.at) {
			out = append(out, t.at)
		}
	}
	for i := range r.chain {
		asks = asks || r.chain[i].awaits == awaitedTask
	}
	isOfSet := func(at mem.Addr) bool { return slices.Contains(r.set, at) }
	if len(r.set) == 0 || !asks || len(out) > 0 && !slices.ContainsFunc(out, isOfSet) {
		return out
	}
	return append(slices.DeleteFunc(out, isOfSet), r.set...)
}

// nowhere is a task of which no run has shown anything.
func nowhere(why error) ran { return ran{way: way{trace: -1}, drop: way{trace: -1}, why: why} }

var (
	errMany    = fmt.Errorf("of no more than %d tasks it is looked for", maxRuns)
	errChanged = errors.New("the task goes on")
	errThread  = errors.New("no thread of the runtime is known")
	errDeep    = fmt.Errorf("no more than %d functions of a chain are shown", maxFrames)
	errWays    = fmt.Errorf("of no more than %d ways it is told where they lead", maxTraces)
)

const (
	// batch is how many tasks are run before it is looked whether what they have read is still the same.
	batch = 256
	// maxPasses bounds how often a task is run that went on meanwhile.
	maxPasses = 3
)

// runAll runs all tasks that wait.
func (r *Runtime) runAll(tasks []task, s *snapshot.Snapshot) ([]ran, error) {
	out := make([]ran, len(tasks))
	var left []int
	for i := range out {
		out[i] = nowhere(nil)
		switch {
		case tasks[i].state&stateRunning != 0:
		case len(left) == maxRuns:
			out[i].why = errMany
		default:
			out[i].why = errThread
			left = append(left, i)
		}
	}
	d := r.dryOn(s, tasks)
	if d == nil {
		return out, nil
	}
	defer d.release()
	var err error
	for range maxPasses {
		var again []int
		for part := range slices.Chunk(left, batch) {
			err = errors.Join(err, d.runBatch(tasks, part, out))
			for _, i := range part {
				if (out[i].why == errChanged || out[i].moved) && r.renew(&tasks[i]) {
					again = append(again, i)
				}
			}
		}
		if len(again) > batch { // what a busy program has is not worth that
			again = slices.DeleteFunc(again, func(i int) bool { return out[i].why != errChanged })
		}
		left = again
	}
	all := make([]int, len(out))
	for i := range out {
		all[i] = i
	}
	c := chains{b: r.newBook(), known: map[chainKey][]waiting{}, gives: map[int][]given{}}
	c.find(d.traces, tasks, all, out)
	err = errors.Join(err, d.runAgain(&c, tasks, out))
	if c.b.err != nil {
		err = errors.Join(err, fmt.Errorf("name where tasks of tokio wait: %w", c.b.err))
	}
	return out, err
}

// renew reads the state of a task again, and reports whether it waits.
func (r *Runtime) renew(t *task) bool {
	now, ok := r.read(t.at, t.vtable)
	if !ok || now.id != t.id {
		return false
	}
	t.state = now.state
	return t.state&stateRunning == 0
}

func (r *Runtime) isMapped(a mem.Addr) bool {
	m := r.table.Find(a)
	return m != nil && m.Perm&maps.Read != 0
}

// chains are those of traces, and what dropping gives back: of one trace they are the same.
type chains struct {
	b     *book
	known map[chainKey][]waiting
	gives map[int][]given
}

type chainKey struct {
	trace int
	ready bool
}

// find finds the chains of those tasks.
func (c *chains) find(traces []trace, tasks []task, which []int, out []ran) {
	c.b.name(traces)
	for _, i := range which {
		if n := out[i].drop.trace; n >= 0 {
			if _, ok := c.gives[n]; !ok {
				c.gives[n] = c.b.gives(&traces[n])
			}
			out[i].held, out[i].set = held(c.gives[n], out[i].drop.touched)
		}
		if out[i].trace < 0 {
			continue
		}
		k := chainKey{out[i].trace, tasks[i].state&stateNotified != 0}
		if _, ok := c.known[k]; !ok {
			c.known[k] = c.b.waits(&traces[k.trace], k.ready)
		}
		out[i].chain = c.known[k]
	}
}

// maxThreads bounds the threads in whose place a task is tried.
const maxThreads = 8

// dryOn makes what runs tasks in the place of a thread: the first in which most of several kinds of tasks come to their
// end. In one that no runtime has, as the first of a program that has loaded a library, those do that need nothing of
// the runtime's own. It is nil if there is no thread.
func (r *Runtime) dryOn(s *snapshot.Snapshot, tasks []task) *dry {
	m := moment.New(r.scratch, r.isMapped, r.budget)
	defer m.Close()
	var threads []*snapshot.Thread
	for i := range s.Threads {
		if t := &s.Threads[i]; t.HasTP && t.TP != 0 {
			threads = append(threads, t)
		}
	}
	slices.SortStableFunc(threads, func(a, b *snapshot.Thread) int { return cmp.Compare(rank(a), rank(b)) })
	var best *dry
	tried, most := ofEachKind(tasks), -1
	for _, t := range threads[:min(len(threads), maxThreads)] {
		d := r.newDry(t)
		d.moment = m
		ended := 0
		for _, t := range tried {
			if _, err := d.poll(t); err == nil {
				ended++
			}
		}
		if ended > most {
			best, most = d, ended
		}
		if ended == len(tried) {
			break
		}
	}
	return best
}

// ofEachKind are some tasks that wait, each of another kind.
func ofEachKind(tasks []task) (out []*task) {
	const maxKinds = 16
	for i := range tasks {
		t := &tasks[i]
		had := func(other *task) bool { return other.vtable == t.vtable }
		if t.state&(stateRunning|stateNotified) == 0 && len(out) < maxKinds && !slices.ContainsFunc(out, had) {
			out = append(out, t)
		}
	}
	return out
}

// rank orders threads: those that wait in the kernel, workers before others.
func rank(t *snapshot.Thread) int {
	n := 0
	if t.Syscall == nil {
		n += 2
	}
	if len(t.Comm) < 5 || t.Comm[:5] != "tokio" {
		n++
	}
	return n
}

// listing makes fibers of tasks.
type listing struct {
	r     *Runtime
	tasks []task
	runs  []ran
	has   map[mem.Addr][]uint64 // the ids of tasks that have an object, by that
	out   []snapshot.Fiber
	more  uint64 // the last id of branches
}

func (w *listing) all() {
	number := map[mem.Addr]int{}
	for i := range w.tasks {
		number[w.tasks[i].at] = i
		w.more = max(w.more, w.tasks[i].id)
	}
	awaitedBy := make([][]uint64, len(w.tasks))
	for i := range w.runs {
		for _, header := range w.runs[i].awaited() {
			if k, ok := number[header]; ok && k != i {
				awaitedBy[k] = append(awaitedBy[k], w.tasks[i].id)
			}
		}
		for _, object := range w.runs[i].held {
			w.has[object] = append(w.has[object], w.tasks[i].id)
		}
	}
	for i := range w.tasks {
		w.task(&w.tasks[i], &w.runs[i], awaitedBy[i])
	}
}

// task adds the fiber of t.
func (w *listing) task(t *task, run *ran, awaitedBy []uint64) {
	f := snapshot.Fiber{Kind: profile.AsyncTask, ID: t.id, AwaitedBy: awaitedBy}
	switch {
	case t.state&stateRunning != 0:
		f.State, f.Wait, f.Missing = "runs", snapshot.FiberRuns, "its stack is that of the thread which runs it"
		w.out = append(w.out, f)
		return
	case len(run.chain) == 0:
		w.nameless(t, run, f)
		return
	}
	all, more := run.waits()
	shared := common(all)
	if w.waits(&f, &all[0], t.id); all[0].frames[0].Line == 0 {
		f.State = "where it waits is not known: there are no line tables"
	}
	if len(all) > 1 {
		f.State, f.Wait, f.Object, f.HeldBy, f.Timed = "awaits other async calls", snapshot.FiberFuture, 0, nil, false
	}
	if more {
		f.State += fmt.Sprintf(", of which %d are shown", len(all))
	}
	if run.unwoken {
		f.State += ", and perhaps others of a set of futures"
	}
	if t.state&stateNotified != 0 {
		f.State, f.Wait = "ready to run", snapshot.FiberRuns
	}
	outer := slices.Clone(all[0].frames[len(all[0].frames)-shared:])
	cut, future := len(all) == 1 && all[0].cut, profile.Frame{Func: w.r.future(t.vtable)}
	switch n := len(outer); {
	case n == 0:
		outer = append(outer, future)
	case strings.HasPrefix(outer[n-1].Func, "{") && !cut && !all[0].within && !isLibrary(&future):
		outer[n-1].Func = future.Func // inlined: the name of the future is that of its outermost function
	}
	w.r.stacks[t.id] = w.stack(outer, cut)
	w.out = append(w.out, f)
	if len(all) > 1 {
		for i := range all {
			w.branch(t, &all[i], shared)
		}
	}
}

// branch adds one of several things that t waits for, without what the chains share: each waits by itself.
func (w *listing) branch(t *task, c *wait, shared int) {
	w.more++
	w.r.stacks[w.more] = w.stack(c.frames[:len(c.frames)-shared], c.cut)
	f := snapshot.Fiber{Kind: profile.AsyncCall, ID: w.more, AwaitedBy: []uint64{t.id}}
	w.waits(&f, c, t.id)
	w.out = append(w.out, f)
}

// nameless adds a task of which it is not known where it waits.
func (w *listing) nameless(t *task, run *ran, f snapshot.Fiber) {
	f.State = "where it waits is not known"
	if run.why != nil {
		f.State += ": " + run.why.Error()
	}
	if t.state&stateNotified != 0 {
		f.State, f.Wait = "ready to run", snapshot.FiberRuns
	}
	if name := w.r.future(t.vtable); name != "" {
		w.r.stacks[t.id] = w.stack([]profile.Frame{{Func: name}}, false)
	} else {
		w.r.stacks[t.id] = unwind.Stack{Frames: []unwind.Frame{{PC: t.vtable.poll, Interrupted: true, Module: w.r.m,
			Origin: unwind.ByRuntime}}}
	}
	w.out = append(w.out, f)
}

// frameSize is what a frame of a stack that is kept takes, bytes.
const frameSize = 96

// stack is that of those functions, innermost first; cut says that the outer ones are missing.
func (w *listing) stack(all []profile.Frame, cut bool) unwind.Stack {
	size := int64(len(all)) * frameSize
	if !w.r.budget.Hold(size) {
		return unwind.Stack{Stop: unwind.DepthLimit, Err: work.ErrMemory}
	}
	w.r.held += size
	s := unwind.Stack{Frames: make([]unwind.Frame, len(all))}
	for i := range all {
		s.Frames[i] = w.r.frame(all[i])
	}
	if cut {
		s.Stop, s.Err = unwind.DepthLimit, errDeep
	}
	return s
}

// common is how many functions all chains have in common, counted from the outermost: of several not the innermost of
// one, which is where that waits.
func common(all []wait) (n int) {
	if len(all) == 1 {
		return len(all[0].frames)
	}
	if slices.ContainsFunc(all, func(w wait) bool { return w.cut }) {
		return 0
	}
	at := func(w *wait, n int) *profile.Frame { return &w.frames[len(w.frames)-1-n] }
	for ; ; n++ {
		for i := range all {
			if n >= len(all[i].frames)-1 || *at(&all[i], n) != *at(&all[0], n) {
				return n
			}
		}
	}
}

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) {
	s := r.stacks[id]
	to.Frames, to.Stop, to.Err = append(to.Frames, s.Frames...), s.Stop, s.Err
}
