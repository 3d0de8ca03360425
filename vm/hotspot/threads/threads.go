// Package threads reads the threads of Java in a HotSpot JVM as the JVM lists them, and what they wait for.
//
// The caller provides the JVM's own tables and a View. Objects are the heap's matter.
//
// Source: src/hotspot/share/runtime: javaThread.hpp, threadSMR.hpp, objectMonitor.hpp, lockStack.hpp.
package threads

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/view"
)

// Layout is where fields are.
type Layout struct {
	list           mem.Addr // ThreadsSMRSupport::_java_thread_list
	length, array  vmstructs.Place
	first          mem.Addr // Threads::_thread_list of JDK 8 and 11
	next           vmstructs.Place
	osthread, id   vmstructs.Place
	object         vmstructs.Place
	handles        bool // what object and virtual hold are addresses of slots
	virtual        vmstructs.Place
	base, size     vmstructs.Place
	pending, waits vmstructs.Place
	ownerID, state vmstructs.Place
	states         map[int64]State
	lockStack      vmstructs.Place
	lockTop        vmstructs.Place
	lockBase       vmstructs.Place

	monitorObject, monitorOwner, stackLocker vmstructs.Place
	// OwnerIDs says that a monitor names its owner by the number of a thread of Java.
	OwnerIDs bool
	// Bytes is how much of a thread is read.
	Bytes int
}

// ReadLayout takes the layout from the JVM's tables, and fails if something is missing without which threads are not
// known.
func ReadLayout(t *vmstructs.Table) (*Layout, error) {
	p := t.Pick()
	j, thread, m := "JavaThread", "Thread", "ObjectMonitor"
	l := &Layout{list: p.Static("_java_thread_list", "ThreadsSMRSupport"), length: p.Maybe("_length", "ThreadsList"),
		array: p.Maybe("_threads", "ThreadsList"), first: p.Static("_thread_list", "Threads"),
		next: p.Maybe("_next", j), osthread: p.Need("_osthread", j, thread), id: p.Need("_thread_id", "OSThread"),
		object:  p.Need("_threadObj", j),
		virtual: p.Maybe("_vthread", j), base: p.Maybe("_stack_base", j, thread),
		size: p.Maybe("_stack_size", j, thread), pending: p.Maybe("_current_pending_monitor", j, thread),
		waits: p.Maybe("_current_waiting_monitor", j, thread), ownerID: p.Maybe("_monitor_owner_id", j),
		state:     p.Maybe("_thread_state", j),
		lockStack: p.Maybe("_lock_stack", j), lockTop: p.Maybe("_top", "LockStack"),
		lockBase: p.Maybe("_base[0]", "LockStack"), monitorObject: p.Maybe("_object", m),
		monitorOwner: p.Maybe("_owner", m), stackLocker: p.Maybe("_stack_locker", m)}
	l.states = states(t)
	if f, ok := t.Lookup("_threadObj", j); ok {
		l.handles = f.Type == "OopHandle"
	}
	if f, ok := t.Lookup("_owner", m); ok {
		l.OwnerIDs = f.Type == "int64_t"
	}
	if l.list == 0 || !l.array.OK() {
		l.list = 0
		p.NeedStatic("_thread_list", "Threads")
		p.Need("_next", j)
	}
	most := int64(0)
	for _, f := range []vmstructs.Place{l.next, l.osthread, l.object, l.virtual, l.base, l.size, l.pending,
		l.waits, l.ownerID, l.state} {
		most = max(most, f.End())
	}
	if l.lockStack.OK() {
		most = max(most, l.lockStack.Offset+l.lockBase.Offset+lockStackEntries*wordSize)
	}
	l.Bytes = int(most)
	return l, p.Err()
}

const (
	wordSize         = 8
	maxThreads       = 1 << 16
	lockStackEntries = 8
)

// Thread is a thread of Java.
type Thread struct {
	At      mem.Addr // the JavaThread
	OS      mem.Addr // its OSThread
	Object  mem.Addr // where its object, or the address of that, is
	Virtual mem.Addr // the same of what it runs as a carrier; 0 if there are no virtual threads
	Stack   mem.Span[mem.Addr]
	Pending mem.Addr // the monitor that it wants to enter, 0 for none
	Waits   mem.Addr // the monitor that it waits on, 0 for none
	OwnerID int64    // by which monitors name it, 0 if they do not
	State   State
	Locks   []mem.Addr
}

// State is what the JVM knows of what a thread does.
type State int

// The states.
const (
	Unknown State = iota
	InNative
	InVM
	InJava
	Blocked
	Changing // on its way from one to the next, up to JDK 27
)

var stateNames = [...]string{"", "in native code", "in the JVM", "in Java", "blocked", "in the JVM"}

// String is the state in words, "" for one that is not known.
func (s State) String() string { return stateNames[s] }

// Touches reports whether a thread in that state touches objects of Java: at a safepoint it must be waited for.
func (s State) Touches() bool { return s == InVM || s == InJava || s == Changing }

// states are the numbers of the states in a JVM. Source: JavaThreadState in utilities/globalDefinitions.hpp.
func states(t *vmstructs.Table) map[int64]State {
	all := map[int64]State{}
	for name, s := range map[string]State{"in_native": InNative, "in_vm": InVM, "in_Java": InJava, "blocked": Blocked} {
		if n, ok := t.Constant("_thread_" + name); ok {
			all[n] = s
		}
		if n, ok := t.Constant("_thread_" + name + "_trans"); ok {
			all[n] = Changing
		}
	}
	return all
}

// List lists where the threads are. An error comes with those before the first that cannot be read.
func (l *Layout) List(v *view.View) ([]mem.Addr, error) {
	if l.list == 0 {
		return l.chain(v)
	}
	at, err := v.Word(l.list)
	if err != nil || at == 0 {
		return nil, err
	}
	f := v.Fields(mem.Addr(at))
	n, array := l.length.Of(&f), l.array.Addr(&f)
	if f.Err != nil {
		return nil, f.Err
	}
	if n < 0 || n > maxThreads {
		return nil, fmt.Errorf("the JVM has %d threads", n)
	}
	words, err := v.Words(array, int(n))
	if err != nil {
		return nil, err
	}
	out := make([]mem.Addr, n)
	for i, w := range words {
		out[i] = mem.Addr(w)
	}
	return out, nil
}

// chain is List up to JDK 11.
func (l *Layout) chain(v *view.View) ([]mem.Addr, error) {
	at, err := v.Word(l.first)
	var out []mem.Addr
	for err == nil && at != 0 {
		if len(out) == maxThreads {
			return out, fmt.Errorf("the JVM has more than %d threads", maxThreads)
		}
		out = append(out, mem.Addr(at))
		f := v.Fields(mem.Addr(at))
		at, err = uint64(l.next.Of(&f)), f.Err
	}
	return out, err
}

// Read reads the thread at an address.
func (l *Layout) Read(v *view.View, at mem.Addr) (Thread, error) {
	b, ok := v.Bytes(at, l.Bytes)
	if !ok {
		return Thread{}, v.Fault()
	}
	own := view.Copied(nil, mem.Range{Start: at, Data: b})
	f := own.Fields(at)
	t := Thread{At: at, OS: l.osthread.Addr(&f), Pending: l.pending.Addr(&f),
		Waits: l.waits.Addr(&f), OwnerID: l.ownerID.Of(&f), State: l.states[l.state.Of(&f)]}
	t.Stack.End = l.base.Addr(&f)
	t.Stack.Start = t.Stack.End - mem.Addr(l.size.Of(&f))
	t.Object, t.Virtual = l.slot(l.object, &f), l.slot(l.virtual, &f)
	if l.lockStack.OK() {
		top, base := f.Uint(l.lockStack.Offset+l.lockTop.Offset, 4), l.lockStack.Offset+l.lockBase.Offset
		for i := int64(0); i < lockStackEntries && base+i*wordSize < int64(top); i++ {
			t.Locks = append(t.Locks, f.Addr(base+i*wordSize))
		}
	}
	return t, f.Err
}

// slot is where the object is that a field leads to: the field itself, or what it has.
func (l *Layout) slot(p vmstructs.Place, f *view.Fields) mem.Addr {
	switch {
	case !p.OK():
		return 0
	case l.handles:
		return p.Addr(f)
	}
	return f.At + mem.Addr(p.Offset)
}

// ID is the number that the kernel gave t, in the pid namespace of the process.
func (l *Layout) ID(v *view.View, t *Thread) (int, error) {
	f := v.Fields(t.OS)
	id := l.id.Of(&f)
	return int(id), f.Err
}

// IDAt is where ID reads the number of t, and how much, bytes.
func (l *Layout) IDAt(t *Thread) (mem.Addr, int) { return t.OS + mem.Addr(l.id.Offset), l.id.Size }

// IDOf is ID of the thread at an address, which may be one of the JVM's own.
func (l *Layout) IDOf(v *view.View, at mem.Addr) (int, error) {
	f := v.Fields(at)
	t := Thread{OS: l.osthread.Addr(&f)}
	if f.Err != nil {
		return 0, f.Err
	}
	return l.ID(v, &t)
}

// Monitor is a lock of an object.
type Monitor struct {
	At     mem.Addr
	Object mem.Addr // where its object is
	// Owner is the address of a thread, one in the stack of a thread, or a number: see OwnerIDs. 0 for nobody.
	Owner  uint64
	Locker mem.Addr // in the stack of the owner, where Owner does not say it
}

// Anonymous is the Owner of a monitor that is on the list of locks of its owner.
const Anonymous = 1

// Monitor reads the monitor at an address.
func (l *Layout) Monitor(v *view.View, at mem.Addr) (Monitor, error) {
	f := v.Fields(at)
	m := Monitor{At: at, Owner: uint64(l.monitorOwner.Of(&f)), Locker: l.stackLocker.Addr(&f)}
	if m.Object = at + mem.Addr(l.monitorObject.Offset); l.handles {
		m.Object = l.monitorObject.Addr(&f)
	}
	return m, f.Err
}
