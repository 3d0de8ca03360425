package cpython

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// A Lock of asyncio does not record which task has it. A task inside of `async with lock:` is known by its frame: its
// values have what leaves the block until it ends, bound to the lock up to 3.13, and from 3.14 on the function with the
// lock behind it. A task that still waits for the lock has that too, and awaits what enters the block.
//
// Source: BEFORE_ASYNC_WITH in Python/bytecodes.c, codegen_async_with_inner in Python/codegen.c of 3.14; PyMethodObject
// in Include/cpython/classobject.h, PyFunctionObject in Include/cpython/funcobject.h; Lib/asyncio/locks.py.
const (
	asyncExitName  = "__aexit__"
	asyncEnterName = "__aenter__"
	boundType      = "method"
	functionType   = "function"
	blockValues    = 48 // words of each frame
	maxBlocks      = 8  // of one task
)

// lockFiles are where classes Lock are that tasks wait for in a method acquire: of asyncio, and of AnyIO above it.
var lockFiles = []string{"/asyncio/locks.py", "/anyio/_backends/_asyncio.py", "/anyio/_core/_synchronization.py"}

// timeLimits are classes by whose blocks a time ends what is awaited inside, with the attribute that has it: None or
// infinite where there is none. Source: Lib/asyncio/timeouts.py, anyio/_backends/_asyncio.py.
var timeLimits = map[string]string{"Timeout": "_when", "CancelScope": "_deadline"}

// taskLocks are the locks that tasks wait for, as they were met, with what tells them.
type taskLocks struct {
	waited map[mem.Addr]bool
	roles  map[mem.Addr]codeRole // by the code object
	exits  map[mem.Addr]bool     // functions: whether they leave a block
}

// codeRole is what a function has to do with locks of tasks.
type codeRole uint8

const (
	roleNone codeRole = iota
	roleAcquire
	roleEnter
	roleLimit // what it awaits ends after a time
)

func newTaskLocks() *taskLocks {
	return &taskLocks{map[mem.Addr]bool{}, map[mem.Addr]codeRole{}, map[mem.Addr]bool{}}
}

// blocks is what the frames of a task tell of locks.
type blocks struct {
	waits  mem.Addr   // the lock that it waits for, 0 for none
	inside []mem.Addr // those of waited of whose blocks it is inside
	timed  bool       // what it awaits ends after a time
	unread bool       // something that tells it could not be read
}

// roleOf is that of the function that f runs; false if that could not be read.
func (r *Runtime) roleOf(locks *taskLocks, m *view.View, f *object.Frame) (codeRole, bool) {
	role, known := locks.roles[f.Code]
	if known {
		return role, true
	}
	name, file, ok := r.functionOf(f, m)
	if !ok {
		return roleNone, false
	}
	switch {
	case name == asyncEnterName:
		role = roleEnter
	case name == "acquire" && slices.ContainsFunc(lockFiles, func(l string) bool { return strings.HasSuffix(file, l) }):
		role = roleAcquire
	case name == "wait_for" && strings.HasSuffix(file, "/asyncio/tasks.py"):
		role = roleLimit
	}
	locks.roles[f.Code] = role
	return role, true
}

// waitedBy is the lock that t waits for, 0 if it waits for none; false if that could not be read. It becomes one of
// locks.
func (r *Runtime) waitedBy(locks *taskLocks, m *view.View, t *taskRead) (mem.Addr, bool) {
	n := len(t.chain)
	if n == 0 || t.Awaits == 0 || t.awaitDone || t.chain[n-1].State != object.GenAwaiting {
		return 0, true
	}
	if role, ok := r.roleOf(locks, m, &t.chain[n-1].Frame); role != roleAcquire {
		return 0, ok
	}
	lock := r.selfOf(&t.chain[n-1].Frame, m)
	class, ok := r.layout.TypeOf(m, lock)
	if !ok || class.Name != "Lock" {
		return 0, ok
	}
	locks.waited[lock] = true
	return lock, true
}

// blocks reads of which blocks t is inside.
func (r *Runtime) blocks(a *asyncio, locks *taskLocks, m *view.View, t *taskRead) blocks {
	var b blocks
	lock, ok := r.waitedBy(locks, m, t)
	b.waits, b.unread = lock, !ok || t.broken
	for i := range t.chain {
		g := &t.chain[i]
		if g.State != object.GenAwaiting && g.State != object.GenYielded {
			break
		}
		role, ok := r.roleOf(locks, m, &g.Frame)
		b.timed, b.unread = b.timed || role == roleLimit, b.unread || !ok
		entering := mem.Addr(0)
		if i+1 < len(t.chain) {
			inner := &t.chain[i+1].Frame
			if role, _ := r.roleOf(locks, m, inner); role == roleEnter {
				entering = r.selfOf(inner, m)
				b.unread = b.unread || entering == 0
			}
		}
		whole := r.exits(a, locks, m, &g.Frame, func(of mem.Addr) {
			kind, class := r.kindAt(a, m, of)
			b.unread = b.unread || kind == kindUnread
			switch {
			case of == entering:
				entering = 0 // it may be inside of another block of that
			case !locks.waited[of] || slices.Contains(b.inside, of):
			case len(b.inside) == maxBlocks:
				b.unread = true
			default:
				b.inside = append(b.inside, of)
			}
			b.timed = b.timed || r.isLimit(a, m, of, class)
		})
		b.unread = b.unread || !whole
	}
	return b
}

// isLimit reports whether the object at a, of that class, may end what is awaited inside of its block after a time.
func (r *Runtime) isLimit(tasks *asyncio, m *view.View, a mem.Addr, class string) bool {
	attribute, ok := timeLimits[class]
	if !ok {
		return false
	}
	if value, ok := r.layout.Attribute(m, a, attribute); ok {
		if _, class := r.kindAt(tasks, m, value); class == "NoneType" {
			return false
		}
		infinite, ok := r.infinite(tasks, m, value)
		return !ok || !infinite
	}
	t, ok := r.layout.TypeOf(m, a)
	if !ok {
		return true
	}
	const most = 512
	words, ok := m.Bytes(a, min(t.Size(), most))
	if !ok {
		return true
	}
	limit := true // where it has slots: the time is the one number of these
	for words = slices.Clone(words); len(words) >= wordSize; words = words[wordSize:] {
		if infinite, ok := r.infinite(tasks, m, mem.Addr(order.Uint64(words))); ok && !infinite {
			return true
		} else if ok {
			limit = false
		}
	}
	return limit
}

// infinite reports whether the float at a is; ok is false if it is no float, or could not be read.
func (r *Runtime) infinite(tasks *asyncio, m *view.View, a mem.Addr) (is, ok bool) {
	if _, class := r.kindAt(tasks, m, a); class != "float" {
		return false, false
	}
	bits, ok := object.Pointer(m, a+mem.Addr(r.layout.Header))
	return math.IsInf(math.Float64frombits(uint64(bits)), 1), ok
}

// exits gives yield the objects of whose blocks f is inside, or that it begins a block of. It reports whether all that
// tells them could be read.
func (r *Runtime) exits(a *asyncio, locks *taskLocks, m *view.View, f *object.Frame, yield func(of mem.Addr)) bool {
	const (
		tags   = 7 // low bits say how a value is counted
		number = 3 // or that it is one
	)
	begins := f.Addr + mem.Addr(r.layout.Frame.Locals)
	for _, offset := range r.layout.Code.Variables {
		names, ok := object.Pointer(m, f.Code+mem.Addr(offset))
		count, ok2 := object.Pointer(m, names+mem.Addr(r.layout.Header))
		if !ok || !ok2 || count > 1<<16 {
			return false
		}
		begins += wordSize * count
	}
	if f.Top <= begins || f.Top%wordSize != 0 {
		return f.Top == begins
	}
	values := (f.Top - begins) / wordSize
	words, ok := m.Bytes(begins, wordSize*int(min(blockValues, values)))
	if !ok {
		return false
	}
	whole := values <= blockValues
	for words = slices.Clone(words); len(words) >= wordSize; words = words[wordSize:] {
		value := mem.Addr(order.Uint64(words))
		if value&number == number || value&^tags == 0 {
			continue
		}
		function, of, ok := r.bound(a, m, value&^tags, words)
		if whole = whole && ok; of == 0 {
			continue
		}
		leaves, ok := r.leaves(locks, m, function)
		if whole = whole && ok; leaves {
			yield(of &^ tags)
		}
	}
	return whole
}

// bound is the function that the object at value is, and the object that it is called for: that which it is bound to,
// or the second of words. of is 0 for others. It is false if that could not be read.
func (r *Runtime) bound(a *asyncio, m *view.View, value mem.Addr, words []byte) (function, of mem.Addr, ok bool) {
	switch kind, class := r.kindAt(a, m, value); {
	case kind == kindUnread:
		return 0, 0, false
	case class == boundType:
		b, ok := m.Bytes(value+mem.Addr(r.layout.Header), 2*wordSize)
		if !ok {
			return 0, 0, false
		}
		return mem.Addr(order.Uint64(b)), mem.Addr(order.Uint64(b[wordSize:])), true
	case class == functionType && len(words) >= 2*wordSize && r.layout.Version.Minor > lastBound:
		return value, mem.Addr(order.Uint64(words[wordSize:])), true
	}
	return 0, 0, true
}

// leaves reports whether the function at a is one that leaves a block; ok is false if that could not be read.
func (r *Runtime) leaves(locks *taskLocks, m *view.View, a mem.Addr) (exits, ok bool) {
	if exits, ok = locks.exits[a]; ok {
		return exits, true
	}
	offset := 32 // func_code
	if r.layout.Version.Minor < 10 {
		offset = 0
	}
	code, ok := object.Pointer(m, a+mem.Addr(r.layout.Header+offset))
	at, ok2 := object.Pointer(m, code+mem.Addr(r.layout.Code.Name))
	if !ok || !ok2 {
		return false, false
	}
	name, ok := r.layout.StringAt(m, at)
	if ok {
		exits = name == asyncExitName || name == exitName
		locks.exits[a] = exits
	}
	return exits, ok
}

// copyBlocks copies what tells which of the tasks at all are inside of blocks of locks.
func (r *Runtime) copyBlocks(m *rounds, all []mem.Addr, locks *taskLocks) {
	for ; len(all) > 0 && !m.spent; all = all[min(block, len(all)):] {
		part := all[:min(block, len(all))]
		reads := newTaskCopies(part)
		inRounds(m, part, func(at mem.Addr) {
			reads.more(r, m, at)
			if t := &reads.list[reads.at[at]]; t.Pending && !m.missed {
				r.blocks(r.asyncio, locks, &m.view, &t.taskRead)
			}
		})
	}
}

// readLocks reads which tasks wait for locks, and which have them: those that are inside of a block of it, where that
// is one alone, and all tasks could be read.
func (l *taskList) readLocks(whole bool) {
	locks := newTaskLocks()
	for i := range l.tasks {
		_, ok := l.r.waitedBy(locks, l.m, &l.tasks[i])
		whole = whole && ok
	}
	if len(locks.waited) == 0 {
		l.unheld = !whole
		return
	}
	l.blocks, l.holders = make([]blocks, len(l.tasks)), map[mem.Addr][]int{}
	for i := range l.tasks {
		b := l.r.blocks(l.a, locks, l.m, &l.tasks[i])
		l.blocks[i] = b
		whole = whole && !b.unread
		for _, lock := range b.inside {
			l.holders[lock] = append(l.holders[lock], i)
		}
	}
	whole = whole && l.edges <= maxEdges && l.live.Refused() == nil // else a limit may be missed
	if l.unheld = !whole; l.unheld {
		clear(l.holders)
	}
	for lock, who := range l.holders {
		if len(who) != 1 {
			delete(l.holders, lock)
		}
	}
	l.limit()
}

// limit says of the tasks that those wait for whose waits end after a time that theirs may, too: what ends them ends
// these.
func (l *taskList) limit() {
	awaits := map[mem.Addr][]int{}
	var timed []int
	for i := range l.tasks {
		for _, by := range l.tasks[i].awaitedBy {
			awaits[by] = append(awaits[by], i)
		}
		if l.blocks[i].timed {
			timed = append(timed, i)
		}
	}
	for len(timed) > 0 {
		by := l.tasks[timed[len(timed)-1]].Addr
		timed = timed[:len(timed)-1]
		for _, i := range awaits[by] {
			if !l.blocks[i].timed {
				l.blocks[i].timed = true
				timed = append(timed, i)
			}
		}
	}
}

// locked completes f, task i, by the lock that it waits for.
func (l *taskList) locked(f *snapshot.Fiber, i int) {
	if l.blocks == nil {
		return
	}
	f.Timed = l.blocks[i].timed
	lock := l.blocks[i].waits
	if lock == 0 {
		return
	}
	f.Wait, f.Object, f.State = snapshot.FiberLock, uint64(lock), "waits for a Lock"
	for _, who := range l.holders[lock] {
		holder := &l.tasks[who]
		f.HeldBy = append(f.HeldBy, uint64(holder.Addr))
		switch {
		case who == i:
			f.State += " held by itself"
		case holder.name != "":
			f.State += fmt.Sprintf(" held by task %q", holder.name)
		default:
			f.State += " held by a task"
		}
	}
}
