package tokio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/work"
)

// task is a task that has not ended.
type task struct {
	at     mem.Addr // of its header
	state  uint64
	id     uint64
	vtable *vtable
}

// The state of a task: task/state.rs.
const (
	stateRunning  = 1
	stateComplete = 2
	stateNotified = 4
	stateRefs     = 6 // the bits in front of the number of references
	// maxRefs bounds the references of one task: each waker is one.
	maxRefs = 1 << 32

	headerState  = 0
	headerVtable = 16
	headerOwner  = 24

	trailerPrev = 0
	trailerNext = 8
)

const (
	maxSearched = 1 << 30 // bytes
	maxTasks    = 1 << 17
	// maxTries is how often neighbours are read that do not fit: tasks come and go.
	maxTries = 4
)

// list is what was found of tasks.
type list struct {
	tasks  []task
	extent search.Extent
	full   bool
}

// find finds the tasks that live.
func (r *Runtime) find() *list {
	l := &list{}
	words := search.NewWords()
	for i := range r.vtables {
		words.Add(uint64(r.vtables[i].at), i)
	}
	memory := search.Memory{Search: r.image.Search, Table: r.table, Most: maxSearched, Budget: r.budget}
	l.extent = memory.Each(func(at mem.Addr, b []byte) bool {
		return words.In(b, func(offset, number int) bool {
			header := at + mem.Addr(offset) - headerVtable
			if header%16 != 0 {
				return true
			}
			t, ok := r.read(header, &r.vtables[number])
			return !ok || r.add(l, &t)
		})
	})
	r.follow(l)
	slices.SortFunc(l.tasks, func(a, b task) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) })
	return l
}

// add adds t to l if it is in the list of a runtime, and reports whether there is room for more.
func (r *Runtime) add(l *list, t *task) bool {
	if len(l.tasks) == maxTasks {
		l.full = true
		return false
	}
	if r.listed(t) {
		l.tasks = append(l.tasks, *t)
		r.keep(t.at, headerSize)
		r.keep(t.at+mem.Addr(t.vtable.id), wordSize)
	}
	return true
}

// follow adds the neighbours that the search has passed by: those that came meanwhile, and whose own neighbours came.
func (r *Runtime) follow(l *list) {
	had := map[mem.Addr]bool{}
	for i := range l.tasks {
		had[l.tasks[i].at] = true
	}
	for i := 0; i < len(l.tasks); i++ {
		for _, offset := range [...]int64{trailerPrev, trailerNext} {
			next, ok := r.word(l.tasks[i].at + mem.Addr(l.tasks[i].vtable.trailer+offset))
			at := mem.Addr(next)
			if !ok || at == 0 || had[at] {
				continue
			}
			table, ok := r.word(at + headerVtable)
			of := r.vtableAt(mem.Addr(table))
			if !ok || of == nil {
				continue
			}
			had[at] = true
			if t, ok := r.read(at, of); ok && !r.add(l, &t) {
				return
			}
		}
	}
}

// read reads the task whose header is at a; false if it is none that lives and that a runtime has in its list.
func (r *Runtime) read(a mem.Addr, of *vtable) (task, bool) {
	var b [headerSize]byte
	if !r.budget.Spend(readCost) {
		return task{}, false
	}
	if _, err := r.scratch.ReadMem(b[:], a); err != nil {
		return task{}, false
	}
	t := task{at: a, vtable: of, state: order.Uint64(b[headerState:])}
	if mem.Addr(order.Uint64(b[headerVtable:])) != of.at || order.Uint64(b[headerOwner:]) == 0 || !t.lives() {
		return task{}, false
	}
	id, ok := r.word(a + mem.Addr(of.id))
	t.id = id
	return t, ok && id != 0
}

// lives reports whether the state is one of a task that has not ended.
func (t *task) lives() bool {
	refs := t.state >> stateRefs
	return t.state&stateComplete == 0 && refs > 0 && refs < maxRefs
}

// readCost is what reading a word costs in steps of the budget.
const readCost = 512

func (r *Runtime) word(a mem.Addr) (uint64, bool) {
	if !r.budget.Spend(readCost) {
		return 0, false
	}
	w, err := mem.Uint(r.scratch, a, wordSize, order)
	return w, err == nil
}

// listed reports whether the neighbours of t in the list of its runtime lead back to it: a task that was freed has none
// that do.
func (r *Runtime) listed(t *task) bool {
	for range maxTries {
		before, after := t.at+mem.Addr(t.vtable.trailer+trailerPrev), t.at+mem.Addr(t.vtable.trailer+trailerNext)
		prev, ok := r.word(before)
		next, ok2 := r.word(after)
		if !ok || !ok2 {
			return false
		}
		if r.leads(prev, trailerNext, t.at) && r.leads(next, trailerPrev, t.at) {
			r.keepWord(before, prev)
			r.keepWord(after, next)
			return true
		}
	}
	return false
}

// leads reports whether the task at neighbour, if there is one, has to as its neighbour at that offset of its trailer.
func (r *Runtime) leads(neighbour uint64, offset int64, to mem.Addr) bool {
	if neighbour == 0 {
		return true
	}
	header := mem.Addr(neighbour) + headerVtable
	at, ok := r.word(header)
	if !ok {
		return false
	}
	of := r.vtableAt(mem.Addr(at))
	if of == nil {
		return false
	}
	link := mem.Addr(neighbour) + mem.Addr(of.trailer+offset)
	back, ok := r.word(link)
	if !ok || mem.Addr(back) != to {
		return false
	}
	r.keepWord(header, at)
	r.keepWord(link, back)
	return true
}

// keepWord keeps a word with a snapshot as it was read: read again it may be another, and then the links that a task
// was found by lead nowhere in the snapshot.
func (r *Runtime) keepWord(a mem.Addr, word uint64) {
	if r.image.Keep != nil {
		r.image.Keep(mem.Range{Start: a, Data: order.AppendUint64(nil, word)})
	}
}

// keep keeps n bytes at a, as they are now.
func (r *Runtime) keep(a mem.Addr, n int) {
	if r.image.Keep == nil {
		return
	}
	b := make([]byte, n)
	if _, err := r.scratch.ReadMem(b, a); err == nil {
		r.image.Keep(mem.Range{Start: a, Data: b})
	}
}

// vtableAt is the table at a, nil if none is. They are in the order of their addresses.
func (r *Runtime) vtableAt(a mem.Addr) *vtable {
	i, ok := slices.BinarySearchFunc(r.vtables, a, func(t vtable, a mem.Addr) int { return cmp.Compare(t.at, a) })
	if !ok {
		return nil
	}
	return &r.vtables[i]
}

// problem says which tasks may be missing, nil for none.
func (l *list) problem() error {
	var errs []error
	if l.full {
		errs = append(errs, fmt.Errorf("no more than %d tasks of tokio are listed", maxTasks))
	}
	switch cut := l.extent.Cut; {
	case errors.Is(cut, module.ErrNoSearch):
		errs = append(errs, errors.New("tasks of tokio are not listed: the memory cannot be searched"))
	case errors.Is(cut, work.ErrMemory):
		errs = append(errs, errors.New("tasks of tokio may be missing: reading them takes more memory than fpstack "+
			"uses"))
	case cut != nil:
		errs = append(errs, fmt.Errorf("tasks of tokio may be missing: %w", cut))
	}
	return errors.Join(errs...)
}
