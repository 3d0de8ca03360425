package cpython

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// asyncio is where the process keeps its tasks, as it was before the stop: the objects that hold them stay.
type asyncio struct {
	layout *object.TaskLayout
	sets   []mem.Addr             // of tasks
	weak   []mem.Addr             // sets of weak references to tasks
	known  []mem.Addr             // the tasks in lists that there were
	cut    error                  // why some of these may be missing
	kinds  map[mem.Addr]namedKind // types that were met
}

const (
	asyncioFile    = "_asyncio."
	asyncioSection = ".AsyncioDebug"

	maxTasks = 1 << 17
	block    = 1 << 11 // how many tasks are copied before the next ones: the last are left out if not all can be
)

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return profile.LoopTask }

// OpenFibers implements vm.FiberLister: it learns whether the process uses asyncio, and where that keeps its tasks.
func (r *Runtime) OpenFibers() (present bool, err error) {
	r.asyncio, r.parked = nil, waiting{}
	if r.live == nil || len(r.roster.Load().interps) == 0 {
		return false, nil
	}
	m := r.running()
	dict, ok := r.moduleDict(m, "asyncio.tasks")
	if !ok {
		return false, unread("tasks", m)
	}
	a := &asyncio{kinds: map[mem.Addr]namedKind{}}
	if a.layout, err = r.taskLayout(); err != nil {
		return false, fmt.Errorf("tasks cannot be listed: %w", err)
	}
	whole := r.layout.Entries(m, dict, func(key, value mem.Addr) bool {
		switch name, _ := r.layout.StringAt(m, key); name {
		case "_all_tasks", "_scheduled_tasks":
			if data, ok := r.layout.Attribute(m, value, "data"); ok {
				a.weak = append(a.weak, data)
			}
		case "_eager_tasks":
			a.sets = append(a.sets, value)
		}
		return true
	})
	a.known, _ = r.listed(a, m)
	if a.cut = unread("tasks", m); a.cut == nil && !whole {
		a.cut = errLists
	}
	r.asyncio = a
	return true, nil
}

var errLists = errors.New("tasks may be missing: what lists them could not be read whole")

// unread says that kind cannot be listed, or not whole, if something was not read of m.
func unread(kind string, m *view.View) error {
	if err := m.Fault(); err != nil {
		return fmt.Errorf("%s may be missing: what lists them could not be read: %w", kind, err)
	}
	return nil
}

// taskLayout finds out how tasks of C look: by what their module says of itself, or by the release.
func (r *Runtime) taskLayout() (*object.TaskLayout, error) {
	if r.layout.Version.Minor < 14 {
		return r.layout.TaskLayout()
	}
	m := r.m
	if r.set != nil {
		for i := range r.set.Table().All() {
			mapping := &r.set.Table().All()[i]
			if strings.HasPrefix(path.Base(mapping.Path), asyncioFile) {
				m = r.set.Find(mapping.Start)
				break
			}
		}
	}
	switch {
	case m == nil:
		return nil, errNoMemory
	case m.Err != nil:
		return nil, m.Err
	}
	s, ok := m.Section(asyncioSection)
	if !ok || s.Addr == 0 {
		return nil, fmt.Errorf("%q has no section %s", m.Path, asyncioSection)
	}
	b, ok := r.lasting().Bytes(m.Addr(s.Addr), object.AsyncioDebugSize)
	if !ok {
		return nil, errNoMemory
	}
	return r.layout.DescribedTasks(b)
}

// Room implements [snapshot.ProcessCopier].
func (r *Runtime) Room() int {
	const usual = 1 << 10 // bytes of a task with what it waits for
	if r.asyncio == nil {
		return 0
	}
	return len(r.asyncio.known) * usual
}

// listed are the tasks that the interpreters and threads of the process have in lists, from 3.14 on. whole is false if
// there may be more.
func (r *Runtime) listed(a *asyncio, m *view.View) (all []mem.Addr, whole bool) {
	t := a.layout
	if t.Node == 0 {
		return nil, true
	}
	whole = true
	for _, head := range r.taskHeads(t) {
		at, ok := object.Pointer(m, head)
		for ok && at != head && at != 0 && len(all) < maxTasks {
			task := at - mem.Addr(t.Node)
			all = append(all, task)
			at, ok = object.Pointer(m, at)
		}
		whole = whole && ok && (at == head || at == 0)
	}
	return all, whole && !r.roster.Load().partial
}

// taskHeads are where the lists of tasks begin: those of threads, and those of interpreters, which have what threads
// that ended have left.
func (r *Runtime) taskHeads(t *object.TaskLayout) []mem.Addr {
	o := r.roster.Load()
	var heads []mem.Addr
	for _, state := range o.states() {
		heads = append(heads, state+mem.Addr(t.ThreadTasks))
	}
	for i := range o.interps {
		heads = append(heads, o.interps[i].addr+mem.Addr(t.InterpTasks))
	}
	return heads
}

// CopyProcess implements [snapshot.ProcessCopier]: it copies the tasks, what they await, and what names take.
func (r *Runtime) CopyProcess(g *snapshot.Gatherer) {
	a := r.asyncio
	if a == nil {
		return
	}
	m := newRounds(g.Gather)
	tasks, _ := r.addresses(a, &m.view, m)
	codes, locks := newExecutions(), newTaskLocks()
	r.copied = nil
	for all := tasks; len(all) > 0 && !m.spent; {
		n := min(block, len(all))
		reads := newTaskCopies(all[:n])
		inRounds(m, all[:n], func(at mem.Addr) {
			chain := reads.more(r, m, at)
			for i := range chain {
				r.copied.add(chain[i].Frame.Addr)
				codes.add(&chain[i].Frame)
			}
		})
		codes.read(r, m)
		inRounds(m, all[:n], func(at mem.Addr) {
			r.waitedBy(locks, &m.view, &reads.list[reads.at[at]].taskRead)
		})
		all = all[n:]
	}
	if len(locks.waited) > 0 {
		r.copyBlocks(m, tasks, locks)
	}
}

// taskCopies are tasks that are read in rounds: each round goes on where the last one of that task missed something.
type taskCopies struct {
	at   map[mem.Addr]int
	list []taskCopy
}

type taskCopy struct {
	taskRead
	head bool // all of it was there but the chain
}

func newTaskCopies(tasks []mem.Addr) *taskCopies {
	c := &taskCopies{at: make(map[mem.Addr]int, len(tasks)), list: make([]taskCopy, len(tasks))}
	for i, at := range tasks {
		c.at[at] = i
	}
	return c
}

// more reads more of the task at at, and returns what its chain has got.
func (c *taskCopies) more(r *Runtime, m *rounds, at mem.Addr) []object.Generator {
	t := &c.list[c.at[at]]
	if !t.head {
		r.readHead(r.asyncio, &m.view, at, &t.taskRead)
		t.head = !m.missed
	}
	had := t.links
	if t.Pending {
		r.readChain(r.asyncio, &m.view, &t.taskRead, maxAwaits)
	}
	return t.chain[had:]
}

// addresses are the tasks of the process, each once. ahead, where it is not nil, gets what is read next of many. whole
// is false if there may be more.
func (r *Runtime) addresses(a *asyncio, m *view.View, ahead *rounds) (tasks []mem.Addr, whole bool) {
	if ahead != nil && a.layout.Node != 0 {
		inRounds(ahead, a.known, func(at mem.Addr) {
			object.Pointer(m, at+mem.Addr(a.layout.Node))
			ahead.Bytes(at, a.layout.Size)
		})
	}
	if ahead != nil {
		ahead.once = true
		defer func() { ahead.once = false }()
	}
	all, whole := r.listed(a, m)
	var references []mem.Addr
	for _, set := range a.weak {
		whole = r.layout.Items(m, set, func(item mem.Addr) bool {
			references = append(references, item+mem.Addr(r.layout.Header))
			return len(references) < maxTasks
		}) && whole
	}
	if ahead != nil {
		ahead.once = false
		inRounds(ahead, references, func(at mem.Addr) { object.Pointer(m, at) })
		ahead.once = true
	}
	for _, at := range references {
		task, ok := object.Pointer(m, at)
		all, whole = append(all, task), whole && ok
	}
	for _, set := range a.sets {
		whole = r.layout.Items(m, set, func(item mem.Addr) bool {
			all = append(all, item)
			return len(all) < 2*maxTasks
		}) && whole
	}
	return each(all), whole && len(references) < maxTasks && len(all) < 2*maxTasks
}

// each leaves out what comes twice.
func each(all []mem.Addr) []mem.Addr {
	seen := make(map[mem.Addr]bool, len(all))
	out := all[:0]
	for _, a := range all {
		if !seen[a] && a != 0 {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// moduleDict returns the dictionary of a module of the main interpreter.
func (r *Runtime) moduleDict(m *view.View, name string) (mem.Addr, bool) {
	l, main := r.layout, r.roster.Load().main()
	if main == nil {
		return 0, false
	}
	modules, ok := object.Pointer(m, main.addr+mem.Addr(l.Interp.Modules))
	if !ok {
		return 0, false
	}
	at, ok := l.Item(m, modules, name)
	if !ok {
		return 0, false
	}
	return l.DictOfModule(m, at)
}
