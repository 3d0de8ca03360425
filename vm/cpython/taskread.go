package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// taskKind is what a type has to do with tasks.
type taskKind uint8

const (
	kindOther  taskKind = iota
	kindUnread          // what it is could not be read
	kindText
	kindNumber
	kindTask       // of C, and what is derived from it
	kindFuture     // of C
	kindPythonTask // asyncio.tasks.Task where it is written in Python
	kindGenerator
	kindWrapper // it has what it stands for right behind its header
)

type namedKind struct {
	kind taskKind
	name string // of the type
}

// taskRead is a task as it was read.
type taskRead struct {
	object.Task
	kind      taskKind
	name      string
	chain     []object.Generator // outermost first
	links     int                // how many of them were read whole
	next      mem.Addr           // what the last of those awaits, 0 for none
	broken    bool               // the chain goes on, and what follows could not be read
	full      bool               // it goes on, and there is no room for more frames
	awaits    string             // the type of the future that it waits for
	awaitDone bool               // that is done, so that the task goes on soon
	awaitedBy []mem.Addr
}

// maxAwaits bounds a chain of awaits.
const maxAwaits = 256

// wrappers are types of objects that stand for another: an awaitable for its coroutine or generator, an iterator for
// its future.
var wrappers = map[string]bool{"coroutine_wrapper": true, "async_generator_asend": true,
	"async_generator_athrow": true, "anext_awaitable": true, "_asyncio.FutureIter": true}

// kindOf is what the type at a has to do with tasks.
func (r *Runtime) kindOf(a *asyncio, m *view.View, typ mem.Addr) (taskKind, string) {
	if k, known := a.kinds[typ]; known {
		return k.kind, k.name
	}
	t, ok := r.layout.TypeAt(m, typ)
	if !ok {
		return kindUnread, ""
	}
	k := kindOther
	const maxBases = 16
	base := t
	for n := 0; ok && n < maxBases && k == kindOther; n++ {
		switch {
		case base.Name == "_asyncio.Task":
			k = kindTask
		case base.Name == "_asyncio.Future":
			k = kindFuture
		case base.Name == "Task" && t.Flags&object.FlagHeap != 0:
			k = kindPythonTask
		case object.Generates(base.Name):
			k = kindGenerator
		case wrappers[base.Name]:
			k = kindWrapper
		case t.Flags&object.FlagStr != 0:
			k = kindText
		case t.Flags&object.FlagInt != 0:
			k = kindNumber
		}
		if base.Base == 0 {
			break
		}
		base, ok = r.layout.TypeAt(m, base.Base)
	}
	switch {
	case ok:
		a.kinds[typ] = namedKind{k, t.Name}
	case k == kindOther:
		k = kindUnread
	}
	return k, t.Name
}

// kindAt is what the object at o has to do with tasks, with the name of its type.
func (r *Runtime) kindAt(a *asyncio, m *view.View, o mem.Addr) (taskKind, string) {
	typ, ok := object.Pointer(m, o+mem.Addr(r.layout.Header-8))
	switch {
	case o == 0:
		return kindOther, ""
	case !ok:
		return kindUnread, ""
	}
	return r.kindOf(a, m, typ)
}

// readFields reads the fields of the task at a into t. It reports whether there is one.
func (r *Runtime) readFields(a *asyncio, m *view.View, at mem.Addr, t *taskRead) bool {
	switch t.kind, _ = r.kindAt(a, m, at); t.kind {
	case kindTask:
		b, ok := m.Bytes(at, a.layout.Size)
		if ok {
			t.Task = a.layout.TaskOf(at, b)
		}
		return ok
	case kindPythonTask:
		return r.readPythonTask(m, at, t)
	}
	return false
}

// nameOf is the name of the task at a, "" if there is none.
func (r *Runtime) nameOf(a *asyncio, m *view.View, at mem.Addr) string {
	var t taskRead
	if !r.readFields(a, m, at, &t) {
		return ""
	}
	name, _ := r.taskName(a, m, t.Name)
	return name
}

// readHead reads the task at a into t, without what its coroutine awaits. It reports whether there is one.
func (r *Runtime) readHead(a *asyncio, m *view.View, at mem.Addr, t *taskRead) bool {
	*t = taskRead{chain: t.chain[:0], awaitedBy: t.awaitedBy[:0]}
	if !r.readFields(a, m, at, t) {
		return false
	}
	t.name, _ = r.taskName(a, m, t.Name)
	if t.Awaits != 0 {
		var k taskKind
		if k, t.awaits = r.kindAt(a, m, t.Awaits); k == kindTask || k == kindFuture {
			pending, ok := a.layout.PendingAt(m, t.Awaits)
			t.awaitDone = ok && !pending
		}
	}
	if t.AwaitedBySet {
		r.layout.Items(m, t.AwaitedBy, func(item mem.Addr) bool {
			t.awaitedBy = append(t.awaitedBy, item)
			return len(t.awaitedBy) < maxAwaits
		})
	} else if t.AwaitedBy != 0 {
		t.awaitedBy = append(t.awaitedBy, t.AwaitedBy)
	}
	t.next = t.Coro
	return true
}

// maxTaskName bounds the characters of the name of a task that are kept.
const maxTaskName = 128

// taskName is the name of a task: a str, or from 3.12 on an int for one that the program did not name.
func (r *Runtime) taskName(a *asyncio, m *view.View, at mem.Addr) (string, bool) {
	switch k, _ := r.kindAt(a, m, at); k {
	case kindText:
		name, length, ok := r.layout.StringStart(m, at, maxTaskName)
		if length > maxTaskName {
			name += "…"
		}
		return name, ok
	case kindNumber:
		n, ok := r.layout.IntAt(m, at)
		return fmt.Sprintf("Task-%d", n), ok
	}
	return "", false
}

// readChain follows what the coroutine of t awaits, for so many frames. Where something could not be read it goes on
// from there when it is called again.
func (r *Runtime) readChain(a *asyncio, m *view.View, t *taskRead, most int) {
	t.chain = t.chain[:t.links]
	for n := 0; t.next != 0 && n < maxAwaits && t.links < most; n++ {
		switch k, _ := r.kindAt(a, m, t.next); k {
		case kindGenerator:
			g, ok := r.layout.GeneratorAt(m, t.next)
			if g.State != object.GenUnknown {
				t.chain = append(t.chain, g)
			}
			if t.broken = !ok; !ok {
				return
			}
			t.links, t.next = len(t.chain), g.Awaits
			if g.State != object.GenAwaiting {
				t.next = 0
			}
		case kindWrapper:
			next, ok := object.Pointer(m, t.next+mem.Addr(r.layout.Header))
			if t.broken = !ok; !ok {
				return
			}
			t.next = next
		case kindUnread:
			t.broken = true
			return
		default:
			return
		}
	}
	t.broken = t.next != 0
	t.full = t.broken && most < maxAwaits && t.links >= most
}

// readPythonTask reads a task of the class that is written in Python.
func (r *Runtime) readPythonTask(m *view.View, at mem.Addr, t *taskRead) bool {
	t.Task = object.Task{Addr: at}
	var state string
	ok := r.layout.Attributes(m, at, func(key, value mem.Addr) bool {
		switch name, _ := r.layout.StringAt(m, key); name {
		case "_coro":
			t.Coro = value
		case "_name":
			t.Name = value
		case "_loop":
			t.Loop = value
		case "_fut_waiter":
			t.Awaits = value
		case "_state":
			state, _ = r.layout.StringAt(m, value)
		case "_callbacks":
			t.Callbacks = value
		}
		return true
	})
	t.Pending = state != "FINISHED" && state != "CANCELLED" // a class attribute while it is pending
	return ok && t.Coro != 0
}
