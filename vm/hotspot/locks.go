package hotspot

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/threads"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// waiter is a thread of Java and what it waits for. Objects are addresses, as references had them when they were read.
type waiter struct {
	threads.Thread
	id      int
	object  mem.Addr // of the thread
	virtual mem.Addr // of the thread that it runs, which may be itself; 0 for none
	monitor threads.Monitor
	locked  mem.Addr // the object of the monitor that it wants to enter, or waits on
	blocker mem.Addr // what LockSupport.park was told that it waits for
	class   mem.Addr // of blocker
}

// look reads the thread at an address and what it waits for, by what v shows.
func (j *jvm) look(v *view.View, f *threadFields, at mem.Addr) (w waiter, err error) {
	if w.Thread, err = j.threads.Read(v, at); err != nil {
		return w, err
	}
	if w.id, err = j.threads.ID(v, &w.Thread); err != nil {
		return w, err
	}
	if w.object, err = j.heap.Root(v, w.Object); err != nil || w.object == 0 {
		return w, errors.Join(err, errClass)
	}
	if w.virtual = w.object; w.Virtual != 0 {
		if w.virtual, err = j.heap.Root(v, w.Virtual); err != nil {
			return w, err
		}
	}
	monitor := w.Pending
	if monitor == 0 {
		monitor = w.Waits
	}
	if monitor != 0 {
		if w.monitor, err = j.threads.Monitor(v, monitor); err != nil {
			return w, err
		}
		w.locked, err = j.heap.Root(v, w.monitor.Object)
		return w, err
	}
	if f.blocker < 0 || w.virtual == 0 {
		return w, nil
	}
	if w.blocker, err = j.heap.Reference(v, w.virtual+mem.Addr(f.blocker)); err != nil || w.blocker == 0 {
		return w, err
	}
	w.class, err = j.heap.Class(v, w.blocker)
	v.Bytes(w.blocker, blockerBytes) // with its owner: a field that any class may have elsewhere
	return w, err
}

const (
	// blockerBytes is how much of an object that a thread is parked for is copied: that its class may declare more
	// fields before the owner is not so in the JDK.
	blockerBytes = 64
	lookSpan     = 64
)

// waitCopier copies what threads wait for, for a dump.
type waitCopier struct{ r *Runtime }

// DumpCopier implements vm.DumpCopier.
func (r *Runtime) DumpCopier() snapshot.Copier {
	r.innerParts()
	return waitCopier{r}
}

func (c waitCopier) String() string { return "what threads of Java wait for" }

// Copy implements [snapshot.Copier].
func (c waitCopier) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	j, known := c.r.jvm.Load(), c.r.roster.Load()
	if j == nil || j.threads == nil || known.fields == nil {
		return
	}
	listed, ok := known.byID[t.InnerTID()]
	if !ok {
		return
	}
	f.Fetch(listed.parts[:]...)
	v := view.Stopped(f, lookSpan)
	// What cannot be read is missing later too, and said then.
	w, err := j.look(&v, known.fields, listed.at)
	in := c.r.inner.Load()
	if in != nil && in.state != 0 {
		_, _ = v.Uint(in.state, stateBytes)
	}
	if w.virtual != w.object {
		_, _, _ = j.nameOf(&v, known.fields, w.virtual)
	}
	if err == nil {
		j.lookAtClasses(f, t, &w, in)
	}
}

// graph is who waits for what in a snapshot.
type graph struct {
	r       *Runtime
	j       *jvm
	all     []waiter
	views   []view.View // of each of all
	instant []bool      // all of it was read in the stop
	threads []*snapshot.Thread
	stacks  []*unwind.Stack // nil for none
	tids    []int           // ours
	list    []waits.Lock
	byLock  map[uint64]int
	classes map[mem.Addr]lockClass
	has     map[unwind.Site][]string // functions of the frames of Java that were looked at
}

// Locks implements vm.LockLister: for which monitors, locks of java.util.concurrent and ends of threads those of s
// wait.
func (r *Runtime) Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock {
	j, known := r.jvm.Load(), r.roster.Load()
	if j == nil || j.threads == nil || known.fields == nil {
		return nil
	}
	g := r.waiters(j, s)
	for _, t := range g.threads {
		g.stacks = append(g.stacks, stack(t.TID))
	}
	for i := range g.all {
		g.edge(i, g.threads[i], g.stacks[i])
	}
	g.safepoint(s, stack)
	return g.list
}

// waiters is the threads of Java of s, as they were when it was taken, as far as that was copied.
func (r *Runtime) waiters(j *jvm, s *snapshot.Snapshot) *graph {
	g := &graph{r: r, j: j, byLock: map[uint64]int{}, has: map[unwind.Site][]string{}}
	known := r.roster.Load()
	for i := range s.Threads {
		t := &s.Threads[i]
		listed, ok := known.byID[t.InnerTID()]
		if !ok {
			continue
		}
		v := view.Over(s.Reader(t, r.live), r.live, r.budget)
		v.Within(rosterSteps)
		w, err := j.look(&v, known.fields, listed.at)
		if err != nil || w.id != t.InnerTID() {
			continue
		}
		g.threads = append(g.threads, t)
		g.instant = append(g.instant, !v.TakeLate() && t.Registers != nil && !s.Rolling)
		g.all, g.views, g.tids = append(g.all, w), append(g.views, v), append(g.tids, t.TID)
	}
	return g
}

// edge adds what thread number i waits for.
func (g *graph) edge(i int, t *snapshot.Thread, s *unwind.Stack) {
	w, v := &g.all[i], &g.views[i]
	switch {
	case w.Pending != 0:
		owner, how := g.ownerOf(&w.monitor)
		l := waits.Lock{Name: "the monitor of " + g.describe(v, w.locked), Number: uint64(w.Pending),
			Retries: true} // one of its waiters looks again now and then
		if owner >= 0 {
			l.Owner, l.Evidence = g.tids[owner], fmt.Sprintf("ObjectMonitor %#x %s thread %d", uint64(w.Pending), how,
				g.tids[owner])
			l.Instant = g.instant[i] && g.instant[owner]
		} else {
			l.Note = how
		}
		g.add(g.tids[i], l)
	case g.child(i, s):
	case w.Waits != 0 && g.r.partOf(s) != initialising:
		if other := g.threadAt(w.locked); other >= 0 && other != i && g.in(s, "java.lang.Thread.join") {
			g.add(g.tids[i], waits.Lock{Name: fmt.Sprintf("the end of thread %d", g.tids[other]),
				Number: uint64(w.Waits),
				Owner:  g.tids[other], Ends: true, Evidence: "it waits on the object of that thread, in Thread.join"})
		}
	case w.blocker != 0 && (g.in(s, "jdk.internal.misc.Unsafe.park") || g.in(s, "sun.misc.Unsafe.park")):
		g.parked(i, w, v)
	default:
		g.initialisation(i, t, s)
	}
}

// parked adds the lock that thread number i is parked for, if its owner is known.
func (g *graph) parked(i int, w *waiter, v *view.View) {
	if g.future(i, w, v) || g.completable(i, g.stacks[i]) {
		return
	}
	class := g.classAt(w.class)
	if class.err != nil {
		return // it has no owner: a Condition, a latch
	}
	v.TakeLate()
	holder, err := g.j.heap.Reference(v, w.blocker+mem.Addr(class.owner))
	if err != nil || holder == 0 {
		return // nobody has it alone: a Semaphore, readers
	}
	late := v.TakeLate()
	l := waits.Lock{Name: "the lock " + g.describe(v, w.blocker), Number: uint64(w.blocker)}
	if owner := g.threadAt(holder); owner >= 0 {
		l.Owner = g.tids[owner]
		l.Evidence = fmt.Sprintf("%s of %#x is thread %d", ownerField, uint64(w.blocker), l.Owner)
		l.Instant = !late && g.instant[i] && g.instant[owner]
	} else {
		l.Note = g.unmounted(v, w.blocker+mem.Addr(class.owner), holder)
	}
	g.add(g.tids[i], l)
}

// add adds l, for which the thread tid waits.
func (g *graph) add(tid int, l waits.Lock) {
	if at, ok := g.byLock[l.Number]; ok {
		had := &g.list[at]
		if had.Waiters = append(had.Waiters, tid); had.Owner != l.Owner {
			had.Instant = false // they were read at two moments
		}
		return
	}
	l.Waiters = []int{tid}
	g.byLock[l.Number] = len(g.list)
	g.list = append(g.list, l)
}

// threadAt is the number of the thread whose object is at an address, or that runs the virtual thread there; -1 for
// none.
func (g *graph) threadAt(object mem.Addr) int {
	for i := range g.all {
		if w := &g.all[i]; object != 0 && (w.object == object || w.virtual == object) {
			return i
		}
	}
	return -1
}

// ownerOf is the number of the thread that has a monitor, -1 if that is not known, and how it is known or why not.
func (g *graph) ownerOf(m *threads.Monitor) (owner int, how string) {
	if m.Owner == 0 {
		return -1, "nobody held it when it was looked at"
	}
	if m.Owner != threads.Anonymous {
		for i := range g.all {
			w := &g.all[i]
			at := mem.Addr(m.Owner)
			switch {
			case g.j.threads.OwnerIDs && w.OwnerID == int64(m.Owner), !g.j.threads.OwnerIDs && w.At == at:
				return i, "names"
			case !g.j.threads.OwnerIDs && w.Stack.Holds(at):
				return i, "has its lock on the stack of"
			}
		}
		if g.j.threads.OwnerIDs { // the number that Java gives threads
			return -1, fmt.Sprintf("virtual thread %d holds it, which no thread runs", m.Owner)
		}
		return -1, "who holds it is not running on a thread: a virtual thread"
	}
	object, err := g.objectOf(m)
	for i := range g.all {
		w := &g.all[i]
		if m.Locker != 0 && w.Stack.Holds(m.Locker) {
			return i, "has its lock on the stack of"
		}
		for _, l := range w.Locks {
			if err == nil && object != 0 && l == object {
				return i, "has its object among the locks of"
			}
		}
	}
	return -1, "who holds it is not known: a virtual thread may"
}

// unmounted says which thread of Java holds a lock, by its object, that none of the process is, or runs. The lock names
// it at field: there it must still be when it was read, as objects move.
func (g *graph) unmounted(v *view.View, field, holder mem.Addr) string {
	const unknown = "who holds it is not running on a thread: a virtual thread, or one that has ended"
	if _, err := g.j.classNamed(v, holder, virtualClass); err != nil {
		return unknown
	}
	name, id, err := g.j.nameOf(v, g.r.roster.Load().fields, holder)
	if again, e := g.j.heap.Reference(v, field); err != nil || e != nil || again != holder {
		return unknown
	}
	if name == "" {
		return fmt.Sprintf("virtual thread %d holds it, which no thread runs", id)
	}
	return fmt.Sprintf("virtual thread %d %q holds it, which no thread runs", id, name)
}

// objectOf is the object of a monitor that a thread was seen to wait for.
func (g *graph) objectOf(m *threads.Monitor) (mem.Addr, error) {
	for i := range g.all {
		if g.all[i].monitor.At == m.At {
			return g.all[i].locked, nil
		}
	}
	return 0, errClass
}

// describe says what an object is.
func (g *graph) describe(v *view.View, object mem.Addr) string {
	class, err := g.j.heap.Class(v, object)
	if err != nil {
		return "an object"
	}
	name := g.classAt(class).name
	if name == "" {
		return "an object"
	}
	return fmt.Sprintf("%s %#x", name, uint64(object))
}

// in reports whether a method is on a stack.
func (g *graph) in(s *unwind.Stack, method string) bool {
	if s == nil {
		return false
	}
	for i := range s.Frames {
		if s.Frames[i].Runtime == unwind.Runtime(g.r) && slices.Contains(g.functions(s.Frames[i].Site), method) {
			return true
		}
	}
	return false
}

// functions are those of a frame of Java.
func (g *graph) functions(site unwind.Site) []string {
	all, ok := g.has[site]
	if !ok {
		for _, f := range g.r.list(site) {
			all = append(all, f.Func)
		}
		g.has[site] = all
	}
	return all
}
