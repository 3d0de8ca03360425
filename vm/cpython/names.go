package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// threadNames reads the names that the threading module has for threads, by pthread_self. The process runs meanwhile:
// what does not fit is left out.
func (r *Runtime) threadNames() map[mem.Addr]string {
	names := map[mem.Addr]string{}
	l, m := r.layout, &bounded{liveMemory{r.live}, maxLiveSteps}
	active, ok := r.activeThreads(m)
	if !ok {
		return names
	}
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
func (r *Runtime) activeThreads(m object.Memory) (mem.Addr, bool) {
	if r.live == nil {
		return 0, false
	}
	dict, ok := r.moduleDict(m, "threading")
	if !ok {
		return 0, false
	}
	return r.layout.Item(m, dict, "_active")
}
