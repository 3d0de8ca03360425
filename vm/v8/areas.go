package v8

import (
	"sort"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// area is executable memory that is V8's.
type area struct {
	start, end mem.Addr
	// bias is what is added to the link address of a builtin there. made says that there are none, but code that was
	// made while the program runs.
	bias uint64
	made bool
	// mixed says that other code is there too, which has unwind tables: the object is stripped.
	mixed bool
}

// areas are those of one process at one moment, ascending. It is not changed after it was made, so that goroutines may
// share it.
type areas struct {
	list      []area
	heap      maps.Spans // memory without a file that is no code: objects are there, among others
	low, high mem.Addr
}

// find returns the area that holds a, nil if none does.
func (s *areas) find(a mem.Addr) *area {
	if a < s.low || a >= s.high {
		return nil
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].start > a }) - 1
	if i < 0 || a >= s.list[i].end {
		return nil
	}
	return &s.list[i]
}

// Mapped says which mappings the process has now. Executable memory without a file is taken for V8's own code. The
// builtins are mapped a second time, from V8 11 on, into the middle of that; running code uses those.
func (r *Runtime) Mapped(set *module.Set) {
	s := &areas{}
	all := set.Table().All()
	for i := range all {
		m := &all[i]
		switch {
		case m.Perm&maps.Exec == 0 && m.Perm&maps.Write != 0 && (m.Path == "" || strings.HasPrefix(m.Path, "[anon")):
			s.heap = append(s.heap, maps.Span{Start: m.Start, End: m.End})
		case isReserved(all, i):
			s.add(area{start: m.Start, end: m.End, made: true})
		case m.Perm&maps.Exec == 0:
		case m.IsFile():
			s.add(r.builtinsIn(m, set))
		case m.Path == "" || strings.HasPrefix(m.Path, "[anon"):
			s.add(area{start: m.Start, end: m.End, made: true})
		}
	}
	if n := len(s.list); n > 0 {
		s.low, s.high = s.list[0].start, s.list[n-1].end
	}
	r.areas.Store(s)
}

// isReserved reports whether mapping i is memory that V8 has reserved for code, and not made executable yet: it lies
// beside some that is. A thread may execute there before the mappings are read again.
func isReserved(all []maps.Mapping, i int) bool {
	isCode := func(k int) bool {
		return k >= 0 && k < len(all) && all[k].Path == "" && all[k].Perm&maps.Exec != 0
	}
	m := &all[i]
	return m.Path == "" && m.Perm&(maps.Read|maps.Write|maps.Exec) == 0 &&
		(isCode(i-1) && all[i-1].End == m.Start || isCode(i+1) && all[i+1].Start == m.End)
}

func (s *areas) add(a area) {
	if a.start < a.end {
		s.list = append(s.list, a)
	}
}

// builtinsIn is the part of the mapping m that holds builtins. Of a stripped object that is not known: all code that
// has no unwind table may be one.
func (r *Runtime) builtinsIn(m *maps.Mapping, set *module.Set) area {
	if m.Path != r.m.Path {
		return area{}
	}
	found := set.Find(m.Start)
	if found == nil || found.Object() != r.m.Object() {
		return area{}
	}
	a := area{start: m.Start, end: m.End, bias: found.Base()}
	if b := r.builtins; b.end == 0 {
		a.mixed = true
	} else {
		a.start, a.end = max(a.start, found.Addr(b.start)), min(a.end, found.Addr(b.end))
	}
	return a
}

// builtinAt returns the builtin at pc in a, nil if it is not known.
func (r *Runtime) builtinAt(a *area, pc mem.Addr) *builtin {
	if a.made {
		return nil
	}
	return r.builtins.find(module.Vaddr(uint64(pc) - a.bias))
}
