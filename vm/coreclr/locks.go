package coreclr

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// A thread that waits in Monitor.Enter has on its stack an item for the debugger, with the address of the lock and that
// of the application domain. The lock begins the object's sync block, and the table of these says at its number
// which object that is: so a word that is there by chance is no lock.
//
// Source: struct DebugBlockingItem in src/coreclr/vm/threads.h; class AwareLock, class SyncBlock and struct
// SyncTableEntry in src/coreclr/vm/syncblk.h. Seen in 8.0.30 and 9.0.5; 10.0 has the sizes of 9.0.
const (
	itemBytes   = 32 // AwareLock*, AppDomain*, u32 what for, u32 milliseconds, next
	itemKind    = 16
	kindEnter   = 0 // DebugBlock_MonitorCriticalSection
	lockBytes   = 32
	lockHolder  = 8  // Thread*
	lockThread  = 16 // id of the kernel's thread
	lockIndex   = 28 // in the table, with flags above
	indexMask   = 0x03ffffff
	lockTaken   = 1
	tableEntry  = 16 // SyncBlock*, Object*
	maxMonitors = 1 << 12
	maxItems    = 64 // on one stack, of which one alone is true
	tableMarks  = 7  // of a garbage collection, in the address of an object's MethodTable
)

// lockOf is the lock in what may be an item, 0 if it is none.
func lockOf(item []byte) mem.Addr {
	if len(item) < itemBytes || order.Uint32(item[itemKind:]) != kindEnter {
		return 0
	}
	if at := mem.Addr(order.Uint64(item)); at%wordSize == 0 {
		return at
	}
	return 0
}

// locksOf lists the monitors that threads of s wait to enter, and the locks of ownedTypes, as their stacks prove.
func (r *Runtime) locksOf(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock {
	m := &monitors{r: r, view: view.Over(s.Reader(nil, r.live), r.live, r.budget), byLock: map[mem.Addr]int{}}
	m.view.Within(stackSteps)
	ids := map[uint64]int{}
	for i := range s.Threads {
		ids[uint64(s.Threads[i].InnerTID())] = s.Threads[i].TID
	}
	m.ownedOf(s, stack, ids)
	var err, err2 error
	m.domain, err = r.variable(r.layout.domain)
	m.table, err2 = r.variable(r.layout.syncTable)
	if err != nil || err2 != nil {
		return m.list
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if at, ok := m.waitsFor(t, stack(t.TID)); ok {
			m.add(at, t, ids, s.Rolling)
		}
	}
	return m.list
}

// monitors gathers the locks of one process that threads wait for.
type monitors struct {
	r             *Runtime
	view          view.View
	domain, table mem.Addr
	byLock        map[mem.Addr]int // of list
	list          []waits.Lock
}

// waitsFor finds the lock of the innermost item on the stack of t which lies where the runtime's frames below the
// innermost method do: what lies elsewhere is left over.
func (m *monitors) waitsFor(t *snapshot.Thread, s *unwind.Stack) (mem.Addr, bool) {
	high, ok := m.r.entering(s)
	low, known := t.SP()
	if !ok || !known || low < t.Stack.Start || high < low || high-low > maxEnter {
		return 0, false
	}
	b, ok := t.Stack.Bytes(low, int(high-low))
	for ; ok && len(b) >= itemBytes; b = b[wordSize:] {
		if mem.Addr(order.Uint64(b[wordSize:])) != m.domain {
			continue
		}
		if at := lockOf(b); at != 0 && m.object(at) != 0 {
			return at, true
		}
	}
	return 0, false
}

// maxEnter bounds the frames of the runtime below Monitor.Enter, bytes.
const maxEnter = 64 << 10

// entering is where the frames of the runtime's own begin on a stack whose innermost method is one that enters a
// monitor: of Monitor, or any that has it inlined and called the runtime itself.
func (r *Runtime) entering(s *unwind.Stack) (high mem.Addr, ok bool) {
	if s == nil {
		return 0, false
	}
	runtime := false
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime == nil {
			runtime = f.Module != nil && r.o.m != nil && f.Module.Object() == r.o.m.Object()
			continue
		}
		shown := r.Frames(f.Site)
		if f.Runtime != unwind.Runtime(r) || len(shown) == 0 || shown[0].Stub {
			return 0, false // what called the runtime is not known, or is no method
		}
		other := strings.HasPrefix(shown[0].Func, threading) && !strings.HasPrefix(shown[0].Func, threading+"Monitor.")
		return f.SP, runtime && !other
	}
	return 0, false
}

const threading = "System.Threading."

// object is the object whose sync block is at a, 0 if no sync block is there.
func (m *monitors) object(a mem.Addr) mem.Addr {
	f := m.view.Fields(a)
	index := f.Uint(lockIndex, 4) & indexMask
	entry := view.Fields{View: &m.view, At: m.table + mem.Addr(index*tableEntry), Err: f.Err}
	block, object := entry.Addr(0), entry.Addr(wordSize)
	if entry.Err != nil || index == 0 || block != a {
		return 0
	}
	return object
}

// add notes that t waits for the lock at a. ids are our ids of threads, by those that they have themselves. What was
// copied in the stop says who has it, where the threads were not stopped one after the other.
func (m *monitors) add(a mem.Addr, t *snapshot.Thread, ids map[uint64]int, rolling bool) {
	if i, ok := m.byLock[a]; ok {
		m.list[i].Waiters = append(m.list[i].Waiters, t.TID)
		return
	}
	if len(m.list) >= maxMonitors {
		return
	}
	object := m.object(a)
	l := waits.Lock{Name: fmt.Sprintf("the monitor of %s %#x", m.typeName(object), uint64(object)), Number: uint64(a),
		Waiters: []int{t.TID}}
	v := &m.view
	if copied := view.Copied(m.r.budget, t.Copied...); copied.Held(a, lockBytes) {
		v, l.Instant = &copied, t.Registers != nil && !rolling
	}
	f := v.Fields(a)
	state, holder, thread := f.Uint(0, 4), f.Word(lockHolder), f.Word(lockThread)
	if f.Err == nil && state&lockTaken != 0 && holder != 0 && ids[thread] != 0 {
		l.Owner = ids[thread]
		l.Evidence = fmt.Sprintf("sync block %#x is held by thread %d", uint64(a), l.Owner)
	}
	m.byLock[a] = len(m.list)
	m.list = append(m.list, l)
}

// typeName names the type of an object.
func (m *monitors) typeName(object mem.Addr) string {
	f := m.view.Fields(object)
	table := f.Addr(0) &^ tableMarks
	if f.Err != nil {
		return "an object"
	}
	m.r.types = 0
	t := m.r.typeOf(&m.view, table, maxTypeDepth)
	return m.r.names.text(&t).Shown
}
