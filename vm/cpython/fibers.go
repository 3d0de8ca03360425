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
)

// parked is what a task waits in.
type parked struct {
	frames []unwind.Frame
	why    error // why inner frames are missing; nil if none are
}

// wholeMemory is what was copied of the process in the stop.
type wholeMemory struct{ *mem.Overlay }

// Bytes implements object.Memory.
func (m wholeMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if b, ok := m.Overlay.Bytes(addr, n); ok {
		return b, true
	}
	if n <= 0 || n > object.MaxBytes {
		return nil, false
	}
	b := make([]byte, n) // it may lie in several ranges
	if got, err := m.ReadMem(b, addr); err != nil || got < n {
		return nil, false
	}
	return b, true
}

// Fibers implements vm.FiberLister: the tasks of asyncio that are not done, by their names. Which waits for which is
// read when the process runs again where the release does not keep it in the task, and believed where it fits.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	a := r.asyncio
	if a == nil {
		return nil, nil
	}
	m := wholeMemory{mem.NewOverlay(nil, s.Whole...)}
	l := taskList{r: r, a: a, m: m, snap: s, byAddr: map[mem.Addr]int{}, running: r.frameOwners(s)}
	missing := 0
	all := r.addresses(a, m, nil)
	for _, at := range all {
		t := taskRead{}
		if !r.readTask(a, m, at, &t) {
			missing++
			continue
		}
		if t.Pending {
			l.byAddr[at] = len(l.tasks)
			l.tasks = append(l.tasks, t)
		}
	}
	r.parked = map[uint64]parked{}
	l.joinTree()
	loops := l.loopThreads()
	fibers := make([]snapshot.Fiber, len(l.tasks))
	for i := range l.tasks {
		fibers[i] = l.fiber(&l.tasks[i])
		fibers[i].LoopTID = loops[l.tasks[i].Loop]
	}
	slices.SortStableFunc(fibers, byName)
	if len(all) == 0 && len(a.known) > 0 {
		return nil, errors.New("tasks were not copied while the process was stopped")
	}
	if missing > 0 {
		return fibers, fmt.Errorf("%d of %d tasks are left out: they were not copied within the time and the memory "+
			"for it", missing, len(all))
	}
	return fibers, nil
}

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) { r.parked[id].put(to) }

// put makes to the stack of p.
func (p parked) put(to *unwind.Stack) {
	to.Frames, to.Stop = append(to.Frames, p.frames...), unwind.Root
	if p.why != nil && len(to.Frames) > 0 {
		note(&to.Frames[0], p.why.Error())
	}
}

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

// frameOwners says which threads run which frames of Python, by their addresses.
func (r *Runtime) frameOwners(s *snapshot.Snapshot) map[mem.Addr]int {
	owners := map[mem.Addr]int{}
	for i := range s.Threads {
		t := &s.Threads[i]
		for _, c := range r.chainsOf(t) {
			for k := range c.frames {
				owners[c.frames[k].Addr] = t.TID
			}
		}
	}
	return owners
}

// taskList makes fibers of tasks.
type taskList struct {
	r       *Runtime
	a       *asyncio
	m       wholeMemory
	snap    *snapshot.Snapshot
	tasks   []taskRead
	byAddr  map[mem.Addr]int // in tasks
	running map[mem.Addr]int // threads by the frames that they run
}

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
	case len(t.chain) == 0:
		f.Missing = "what it runs was not copied, or is no coroutine of Python"
	default:
		l.r.parked[f.ID] = l.frames(t)
	}
	return f
}

// state says what t does, and which thread runs it.
func (l *taskList) state(t *taskRead) (state string, tid int) {
	if len(t.chain) == 0 {
		return "unknown", 0
	}
	switch first := &t.chain[0]; first.State {
	case object.GenExecuting:
		return "running", l.running[first.Frame.Addr]
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
	if waited := (taskRead{}); l.r.readTask(l.a, l.m, t.Awaits, &waited) && waited.name != "" {
		return `waits for task "` + waited.name + `"`, 0
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
		if f, ok := l.r.parkedFrame(l.m, &g.Frame); ok {
			p.frames = append(p.frames, f)
		}
	}
	if t.broken {
		p.why = errors.New("what it waits in further could not be read")
	}
	return p
}

// parkedFrame is f, which waits, as a stack has it; false if nobody wrote its code.
func (r *Runtime) parkedFrame(m object.Memory, f *object.Frame) (unwind.Frame, bool) {
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r, Kept: f.Addr}
	switch code := r.codeAt(f.Code, m); {
	case code == nil:
		out.Site, out.Note = r.sites.of(spot{function: unnamed}), noteCode
	case code.internal():
		return out, false
	default:
		out.Site = r.siteOf(code, r.offsetOf(code, false, f))
	}
	return out, true
}

// loopThreads says which threads the loops of the tasks run in, as their objects say.
func (l *taskList) loopThreads() map[mem.Addr]int {
	threads := map[mem.Addr]int{}
	live := liveMemory{l.r.live}
	for i := range l.tasks {
		loop := l.tasks[i].Loop
		if _, known := threads[loop]; known || loop == 0 {
			continue
		}
		threads[loop] = 0
		at, ok := l.r.layout.Attribute(live, loop, "_thread_id")
		if !ok {
			continue
		}
		ident, ok := l.r.layout.IntAt(live, at)
		if !ok {
			continue
		}
		for k := range l.snap.Threads {
			if own, has := l.r.roster.Load().identOf(&l.snap.Threads[k]); has && own == mem.Addr(ident) {
				threads[loop] = l.snap.Threads[k].TID
			}
		}
	}
	return threads
}
