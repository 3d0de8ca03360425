package v8

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"time"

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

// Mapped says which mappings the process has now. Executable memory without a file may have V8's own code: see ours.
// The builtins are mapped a second time, from V8 11 on, into the middle of that; running code uses those. Node.js
// --use-largepages copies the text of the program into memory without a file: builtins are there at their own place.
func (r *Runtime) Mapped(set *module.Set) {
	s := &areas{}
	r.table = set.Table()
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
			if r.isText(m.Start) {
				s.add(r.builtinsBetween(m, r.m))
			} else if a, ok := r.copiedBuiltins(m); ok {
				s.add(a)
			} else {
				s.add(area{start: m.Start, end: m.End, made: true})
			}
		}
	}
	if n := len(s.list); n > 0 {
		s.low, s.high = s.list[0].start, s.list[n-1].end
	}
	proved := map[maps.Span]bool{}
	for _, a := range s.list {
		span := maps.Span{Start: a.start, End: a.end}
		if r.proved[span] {
			proved[span] = true // what was changed is to be proved again
		}
	}
	r.proved = proved
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
	path := r.m.Path // elsewhere, where its file is another machine's
	if own := r.table.Find(r.m.Start()); own != nil {
		path = own.Path
	}
	if m.Path != path {
		return area{}
	}
	found := set.Find(m.Start)
	if found == nil || found.Object() != r.m.Object() {
		return area{}
	}
	return r.builtinsBetween(m, found)
}

// copiedBuiltins is the mapping m, without a file, if it holds a copy of the builtins: V8 makes one where it cannot map
// their file again. Pieces of it are compared.
func (r *Runtime) copiedBuiltins(m *maps.Mapping) (area, bool) {
	const piece, pieces, slack = 64, 8, 2 << 20
	b := r.builtins
	size := mem.Addr(b.end - b.start)
	if r.live == nil || size < piece*pieces || m.End-m.Start < size || m.End-m.Start > size+slack {
		return area{}, false
	}
	code, _ := r.m.Text(b.start)
	v := r.late()
	for i := range mem.Addr(pieces) {
		at := size / pieces * i
		got, ok := v.Bytes(m.Start+at, piece)
		if !ok || int(at)+piece > len(code) || !bytes.Equal(got, code[at:at+piece]) {
			return area{}, false
		}
	}
	return area{start: m.Start, end: m.Start + size, bias: uint64(m.Start) - uint64(b.start)}, true
}

// isText reports whether the program's own code is linked to be at a.
func (r *Runtime) isText(a mem.Addr) bool {
	if r.m == nil {
		return false
	}
	code, ok := r.m.Text(module.Vaddr(uint64(a) - r.m.Base()))
	return ok && len(code) > 0
}

// builtinsBetween is the part of the mapping m that holds builtins of the object at found.
func (r *Runtime) builtinsBetween(m *maps.Mapping, found *module.Module) area {
	a := area{start: m.Start, end: m.End, bias: found.Base()}
	if b := r.builtins; b.end == 0 {
		a.mixed = true
	} else {
		a.start, a.end = max(a.start, found.Addr(b.start)), min(a.end, found.Addr(b.end))
	}
	return a
}

// ours reports whether a is known to be V8's: its own object, or memory in which a code object of V8 was found around
// some PC. Others make code in memory without a file too: libffi, PCRE2, and V8's own regular expressions have no such
// object, or one. Where the code cannot be read, as in a saved snapshot, nothing says that it is not.
func (r *Runtime) ours(a *area, pc mem.Addr) bool {
	span := maps.Span{Start: a.start, End: a.end}
	if !a.made || r.proved[span] || r.wasm.At(pc) != nil {
		return true
	}
	if since, ok := r.foreign.Get(pc); ok && time.Since(since) < recheck {
		return false
	}
	switch _, err := r.codeAt(a, pc, r.late()); {
	case err == nil:
		r.prove(a)
	case errors.Is(err, errNoCode):
		r.foreign.Keep(pc, time.Now(), 0)
		return false
	}
	return true
}

// prove says that code of V8 was met in a.
func (r *Runtime) prove(a *area) { r.proved[maps.Span{Start: a.start, End: a.end}] = true }

// builtinAt returns the builtin at pc in a, nil if it is not known.
func (r *Runtime) builtinAt(a *area, pc mem.Addr) *builtin {
	if a.made {
		return nil
	}
	at := module.Vaddr(uint64(pc) - a.bias)
	if b := r.builtins.find(at); b != nil || len(r.builtins.list) > 0 || r.port.entryHolding == nil {
		return b
	}
	return r.port.entryHolding(r, at)
}
