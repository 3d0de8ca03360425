package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// joinTree completes who waits for whom. From 3.14 on each task says that. Before, it is found from both ends: a task
// waits for another itself, or for a future that something the other calls when it is done knows: gather, shield and
// wait keep it in variables of that function, a TaskGroup of asyncio or AnyIO in itself. Those are read when the
// process runs again; what they lead to must be a task, or what a task was waiting for in the stop.
func (l *taskList) joinTree() {
	waiting := map[mem.Addr]mem.Addr{} // tasks by the future that they wait for
	for i := range l.tasks {
		t := &l.tasks[i]
		if t.Awaits == 0 {
			continue
		}
		waiting[t.Awaits] = t.Addr
		if k, ok := l.byAddr[t.Awaits]; ok {
			l.awaited(&l.tasks[k], t.Addr)
		}
	}
	if l.a.layout.AwaitedBy != 0 || l.r.live == nil {
		return
	}
	c := callbacks{r: l.r, m: l.live, found: func(o mem.Addr, t *taskRead) {
		if by, ok := waiting[o]; ok && by != t.Addr {
			l.awaited(t, by)
		} else if i, ok := l.byAddr[o]; ok && l.tasks[i].Addr != t.Addr {
			l.awaited(t, o)
		}
	}}
	for i := range l.tasks {
		c.of(&l.tasks[i])
	}
}

// callbacks looks into what is called when a task is done.
type callbacks struct {
	r     *Runtime
	m     *view.View
	found func(o mem.Addr, t *taskRead) // hears of each object that such a function knows
}

const maxCallbacks = 16

// of looks at the callbacks of t.
func (c *callbacks) of(t *taskRead) {
	if t.Callback != 0 {
		c.call(t.Callback, t)
	}
	n := 0
	if t.Callbacks == 0 {
		return
	}
	c.r.layout.Elements(c.m, t.Callbacks, true, func(pair mem.Addr) bool {
		c.r.layout.Elements(c.m, pair, false, func(function mem.Addr) bool {
			c.call(function, t)
			return false // behind it is its context
		})
		n++
		return n < maxCallbacks
	})
}

// call looks into one function: variables of a closure, arguments of a functools.partial, the object of a method.
// Source: PyFunctionObject in Include/cpython/funcobject.h, partialobject in Modules/_functoolsmodule.c,
// PyMethodObject in Include/cpython/classobject.h.
func (c *callbacks) call(function mem.Addr, t *taskRead) {
	l := c.r.layout
	kind, ok := l.TypeOf(c.m, function)
	if !ok {
		return
	}
	field := func(offset int) mem.Addr {
		a, _ := object.Pointer(c.m, function+mem.Addr(l.Header+offset))
		return a
	}
	each := func(item mem.Addr) bool {
		c.found(item, t)
		return true
	}
	switch kind.Name {
	case "function":
		offset := 56 // func_closure
		if l.Version.Minor < 10 {
			offset = 32
		}
		l.Elements(c.m, field(offset), false, func(cell mem.Addr) bool {
			if content, ok := object.Pointer(c.m, cell+mem.Addr(l.Header)); ok {
				c.found(content, t)
				// By that future the end of a group of AnyIO is awaited. Source: anyio/_backends/_asyncio.py.
				if future, ok := l.Attribute(c.m, content, "_on_completed_fut"); ok {
					c.found(future, t)
				}
			}
			return true
		})
	case "functools.partial":
		l.Elements(c.m, field(8), false, each)
	case "method":
		if parent, ok := l.Attribute(c.m, field(8), "_parent_task"); ok {
			c.found(parent, t)
		}
	}
}
