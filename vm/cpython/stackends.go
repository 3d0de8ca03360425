package cpython

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// stackEnds says which thread an address of a stack belongs to. Several stacks may be one mapping, as glibc 2.42 makes
// no mapping between them: each ends at the pthread_self of its thread.
type stackEnds struct {
	table *maps.Table
	ends  []stackEnd // ascending
	main  int        // the thread whose stack is the mapping [stack]
}

type stackEnd struct {
	end mem.Addr
	tid int
}

func (r *Runtime) stackEnds(s *snapshot.Snapshot) *stackEnds {
	o, out := r.roster.Load(), &stackEnds{table: s.Maps}
	for i := range s.Threads {
		t := &s.Threads[i]
		sp, ok := t.SP()
		if !ok || s.Maps == nil {
			continue
		}
		if m := s.Maps.Find(sp); m != nil && m.Path == mainStack {
			out.main = t.TID
		} else if ident, ok := o.identFor(t); ok {
			out.ends = append(out.ends, stackEnd{ident, t.TID})
		}
	}
	slices.SortFunc(out.ends, func(a, b stackEnd) int { return cmp.Compare(a.end, b.end) })
	return out
}

// mainStack is the path of the mapping that holds the stack of the main thread.
const mainStack = "[stack]"

// at is the thread whose stack holds a, 0 if none is known to.
func (e *stackEnds) at(a mem.Addr) (tid int) {
	if a == 0 || e.table == nil {
		return 0
	}
	m := e.table.Find(a)
	if m == nil {
		return 0
	}
	if m.Path == mainStack {
		return e.main
	}
	i, _ := slices.BinarySearchFunc(e.ends, a, func(s stackEnd, a mem.Addr) int { return cmp.Compare(s.end, a) })
	if i < len(e.ends) && m.Contains(e.ends[i].end) {
		return e.ends[i].tid
	}
	return 0
}
