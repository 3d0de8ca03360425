package coreclr

import (
	"fmt"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
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

// copyMonitor copies the words of what may be the lock that t waits for, so that its owner is that of the stop.
func (r *Runtime) copyMonitor(t *snapshot.Thread, f *snapshot.Fetcher) {
	domain := mem.Addr(r.domain.Load())
	if domain == 0 {
		return
	}
	var room [maxItems]mem.Addr
	for _, at := range lockItems(t, domain, &room) {
		f.Fetch(snapshot.Want{Addr: at, Len: lockBytes})
	}
}

// lockItems are the addresses of locks in what may be items on the stack of t, innermost first. They are in room.
func lockItems(t *snapshot.Thread, domain mem.Addr, room *[maxItems]mem.Addr) []mem.Addr {
	data := t.Stack.Data
	if t.Registers != nil {
		if sp, ok := t.Registers.SP(); ok && sp > t.Stack.Start && uint64(sp-t.Stack.Start) < uint64(len(data)) {
			data = data[sp-t.Stack.Start:] // what is below is left over
		}
	}
	n := 0
	for ; len(data) >= itemBytes && n < maxItems; data = data[wordSize:] {
		if mem.Addr(order.Uint64(data[wordSize:])) != domain || order.Uint32(data[itemKind:]) != kindEnter {
			continue
		}
		if at := mem.Addr(order.Uint64(data)); at != 0 && at%wordSize == 0 {
			room[n] = at
			n++
		}
	}
	return room[:n]
}

// Locks lists the monitors that threads of s wait to enter: see vm.LockLister.
func (r *Runtime) Locks(s *snapshot.Snapshot, memory mem.Reader) []waits.Lock {
	domain, ok := r.variable(r.layout.domain)
	table, ok2 := r.variable(r.layout.syncTable)
	if !ok || !ok2 {
		return nil
	}
	m := &monitors{r: r, memory: memory, domain: domain, table: table, byLock: map[mem.Addr]int{}}
	ids := map[uint64]int{}
	for i := range s.Threads {
		ids[uint64(s.Threads[i].InnerTID())] = s.Threads[i].TID
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if at, ok := m.waitsFor(t); ok {
			m.add(at, t, ids, s.Rolling)
		}
	}
	return m.list
}

// monitors gathers those of one process that threads wait for.
type monitors struct {
	r             *Runtime
	memory        mem.Reader
	domain, table mem.Addr
	byLock        map[mem.Addr]int // of list
	list          []waits.Lock
}

// waitsFor finds the lock of the innermost item on the stack of t.
func (m *monitors) waitsFor(t *snapshot.Thread) (mem.Addr, bool) {
	var room [maxItems]mem.Addr
	for _, at := range lockItems(t, m.domain, &room) {
		if m.object(at) != 0 {
			return at, true
		}
	}
	return 0, false
}

// object is the object whose sync block is at a, 0 if no sync block is there.
func (m *monitors) object(a mem.Addr) mem.Addr {
	f := fields{m: m.memory, at: a}
	index := f.uint(lockIndex, 4) & indexMask
	entry := fields{m: m.memory, at: m.table + mem.Addr(index*tableEntry), err: f.err}
	block, object := mem.Addr(entry.word(0)), mem.Addr(entry.word(wordSize))
	if entry.err != nil || index == 0 || block != a {
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
	memory := m.memory
	if copied := mem.NewOverlay(m.memory, t.Copied...); copied.Holds(a, lockBytes) {
		memory, l.Instant = copied, t.Registers != nil && !rolling
	}
	f := fields{m: memory, at: a}
	state, holder, thread := f.uint(0, 4), f.word(lockHolder), f.word(lockThread)
	if f.err == nil && state&lockTaken != 0 && holder != 0 && ids[thread] != 0 {
		l.Owner = ids[thread]
		l.Evidence = fmt.Sprintf("sync block %#x is held by thread %d", uint64(a), l.Owner)
	}
	m.byLock[a] = len(m.list)
	m.list = append(m.list, l)
}

// typeName names the type of an object.
func (m *monitors) typeName(object mem.Addr) string {
	f := fields{m: m.memory, at: object}
	table := mem.Addr(f.word(0)) &^ tableMarks
	if f.err != nil {
		return "an object"
	}
	t := m.r.typeOf(m.memory, table, maxTypeDepth)
	return m.r.names.text(&t).Shown
}
