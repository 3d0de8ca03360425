package cpython

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// Fibers implements vm.FiberLister: the tasks of asyncio that are not done, by their names. Which waits for which is
// read when the process runs again where the release does not keep it in the task, and believed where it fits.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	a := r.asyncio
	if a == nil {
		return nil, nil
	}
	l := taskList{r: r, a: a, m: r.whole(s), live: r.running(), snap: s, byAddr: map[mem.Addr]int{},
		running: r.ownersIn(s).frames}
	all, whole := r.addresses(a, l.m, nil)
	l.cut = a.cut
	if !whole {
		l.cut = errLists
	}
	r.parked = newWaiting()
	missing := l.read(all)
	l.joinTree()
	l.readLocks(whole && missing == 0)
	loops := l.loopThreads()
	fibers := make([]snapshot.Fiber, len(l.tasks))
	for i := range l.tasks {
		fibers[i] = l.fiber(&l.tasks[i])
		l.locked(&fibers[i], i)
		fibers[i].LoopTID = loops[l.tasks[i].Loop]
	}
	slices.SortStableFunc(fibers, byName)
	if len(all) == 0 && len(a.known) > 0 {
		return nil, errors.New("tasks were not copied while the process was stopped")
	}
	return fibers, l.missing(missing, len(all))
}

// read reads the tasks at all, as far as they are pending, and returns how many could not be.
func (l *taskList) read(all []mem.Addr) (missing int) {
	room := l.r.frameRoom()
	for _, at := range all {
		t := taskRead{}
		if !l.r.readHead(l.a, l.m, at, &t) {
			missing++
			continue
		}
		if !t.Pending {
			continue
		}
		l.r.readChain(l.a, l.m, &t, min(room, maxAwaits))
		room = max(1, room-len(t.chain))
		l.byAddr[at] = len(l.tasks)
		by := t.awaitedBy
		t.awaitedBy = nil
		for _, a := range by {
			l.awaited(&t, a)
		}
		l.tasks = append(l.tasks, t)
	}
	return missing
}

// awaited notes that the task by waits for t.
func (l *taskList) awaited(t *taskRead, by mem.Addr) {
	if l.edges++; l.edges <= maxEdges {
		t.awaitedBy = append(t.awaitedBy, by)
	}
}

// missing says what is missing of tasks, of which so many could not be read.
func (l *taskList) missing(tasks, all int) error {
	switch {
	case l.m.Refused() != nil:
		return errors.New("tasks or frames of them are left out: " + tooMuch)
	case tasks > 0:
		return fmt.Errorf("%d of %d tasks are left out: they were not copied within the time and the memory for it",
			tasks, all)
	case l.r.parked.short > 0:
		return l.r.parked.shortOf("tasks")
	case l.cut != nil:
		return l.cut
	case l.unheld:
		return errors.New("which task has a Lock is not known: what tells it could not be read")
	case l.edges > maxEdges, l.live.Refused() != nil:
		return errors.New("which tasks wait for which is known in part: " + tooMuch)
	}
	return nil
}

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) { r.parked.stacks[id].put(to) }

// byName orders tasks as a person would: "Task-9" before "Task-10".
func byName(a, b snapshot.Fiber) int {
	aText, aNumber := numbered(a.Name)
	bText, bNumber := numbered(b.Name)
	return cmp.Or(cmp.Compare(aText, bText), cmp.Compare(aNumber, bNumber), cmp.Compare(a.ID, b.ID))
}

func numbered(name string) (text string, number uint64) {
	text = strings.TrimRight(name, "0123456789")
	number, _ = strconv.ParseUint(name[len(text):], 10, 64)
	return text, number
}

// taskList makes fibers of tasks.
type taskList struct {
	r       *Runtime
	a       *asyncio
	m       *view.View // what was copied
	live    *view.View // the memory of the process, which runs
	cut     error      // why tasks may be missing from the list
	snap    *snapshot.Snapshot
	tasks   []taskRead
	byAddr  map[mem.Addr]int // in tasks
	running map[mem.Addr]int // threads by the frames that they run
	edges   int              // how many wait for another, as far as met
	blocks  []blocks         // of each of tasks; nil where none waits for a lock
	holders map[mem.Addr][]int
	unheld  bool // of no lock it is known who has it: what tells that could not be read
}

// maxEdges bounds how much is kept of who waits for whom.
const maxEdges = 1 << 20

// fiber makes one of t.
func (l *taskList) fiber(t *taskRead) snapshot.Fiber {
	f := snapshot.Fiber{Kind: l.r.FiberKind(), ID: uint64(t.Addr), Name: t.name}
	for _, by := range t.awaitedBy {
		if i, ok := l.byAddr[by]; ok {
			f.AwaitedBy = append(f.AwaitedBy, uint64(l.tasks[i].Addr))
		}
	}
	slices.Sort(f.AwaitedBy)
	f.AwaitedBy = slices.Compact(f.AwaitedBy)
	f.State, f.TID = l.state(t)
	switch {
	case f.TID != 0: // it is on the stack of that thread
	case f.State == stateRunning:
		f.Missing = "the thread that runs it is not known"
	case len(t.chain) == 0:
		f.Missing = "what it runs was not copied, or is no coroutine of Python"
	default:
		l.r.parked.add(f.ID, l.frames(t))
	}
	return f
}

// stateRunning is the state of a task that a thread runs.
const stateRunning = "running"

// state says what t does, and which thread runs it.
func (l *taskList) state(t *taskRead) (state string, tid int) {
	if len(t.chain) == 0 {
		return "unknown", 0
	}
	switch first := &t.chain[0]; first.State {
	case object.GenExecuting:
		return stateRunning, l.running[first.Frame.Addr]
	case object.GenCreated:
		return "not started", 0
	}
	switch {
	case t.Awaits == 0 || t.awaitDone:
		return "ready", 0
	case t.awaits == "":
		return "waits", 0
	}
	if i, ok := l.byAddr[t.Awaits]; ok {
		if name := l.tasks[i].name; name != "" {
			return `waits for task "` + name + `"`, 0
		}
		return "waits for a task", 0
	}
	if name := l.r.nameOf(l.a, l.m, t.Awaits); name != "" {
		return `waits for task "` + name + `"`, 0
	}
	name := t.awaits[strings.LastIndexByte(t.awaits, '.')+1:]
	switch name {
	case "Future":
		return "waits for a future", 0
	case "_GatheringFuture":
		return "waits for gather", 0
	}
	return "waits for " + name, 0
}

// frames are the functions that t waits in, innermost first.
func (l *taskList) frames(t *taskRead) parked {
	var p parked
	for i := len(t.chain) - 1; i >= 0; i-- {
		g := &t.chain[i]
		if g.State == object.GenEnded {
			continue
		}
		if f, ok := l.r.pythonFrame(l.m, &g.Frame); ok {
			p.frames = append(p.frames, f)
		}
	}
	switch {
	case t.full:
		p.why = errNoRoom
	case t.broken:
		p.why = errors.New("what it waits in further could not be read")
	}
	return p
}

// loopThreads says which threads the loops of the tasks run in, as their objects say.
func (l *taskList) loopThreads() map[mem.Addr]int {
	threads, known := l.r.threadsByIdent(l.snap), map[mem.Addr]int{}
	for i := range l.tasks {
		loop := l.tasks[i].Loop
		if _, has := known[loop]; has || loop == 0 {
			continue
		}
		known[loop] = 0
		at, ok := l.r.layout.Attribute(l.live, loop, "_thread_id")
		if !ok {
			continue
		}
		if ident, ok := l.r.layout.IntAt(l.live, at); ok {
			known[loop] = threads[mem.Addr(ident)]
		}
	}
	return known
}

// threadsByIdent are the threads of s that have a state, by their pthread_self.
func (r *Runtime) threadsByIdent(s *snapshot.Snapshot) map[mem.Addr]int {
	o, threads := r.roster.Load(), map[mem.Addr]int{}
	for i := range s.Threads {
		if ident, ok := o.identFor(&s.Threads[i]); ok {
			threads[ident] = s.Threads[i].TID
		}
	}
	return threads
}
