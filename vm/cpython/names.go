package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// threadNames reads the names that the threading module has for threads, by pthread_self. The process runs meanwhile:
// what does not fit is left out.
func (r *Runtime) threadNames() map[mem.Addr]string {
	names := map[mem.Addr]string{}
	active, ok := r.activeThreads()
	if !ok {
		return names
	}
	l, m := r.layout, liveMemory{r.live}
	l.Entries(m, active, func(key, value mem.Addr) bool {
		ident, ok := l.IntAt(m, key)
		at, ok2 := l.Attribute(m, value, "_name")
		if name, ok3 := l.StringAt(m, at); ok && ok2 && ok3 {
			names[mem.Addr(ident)] = name
		}
		return len(names) < maxThreads
	})
	return names
}

// activeThreads is where threading._active is, which has each Thread by its ident.
func (r *Runtime) activeThreads() (mem.Addr, bool) {
	o := r.roster.Load()
	if r.live == nil || len(o.interps) == 0 {
		return 0, false
	}
	l, m := r.layout, liveMemory{r.live}
	main := o.interps[len(o.interps)-1].addr
	modules, ok := object.Pointer(m, main+mem.Addr(l.Interp.Modules))
	if !ok {
		return 0, false
	}
	threading, ok := l.Item(m, modules, "threading")
	if !ok {
		return 0, false
	}
	dict, ok := l.DictOfModule(m, threading)
	if !ok {
		return 0, false
	}
	return l.Item(m, dict, "_active")
}
