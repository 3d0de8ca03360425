package v8

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

const (
	// listBlock is how much is read at once of memory that is searched, bytes.
	listBlock = 1 << 20
	// maxListed bounds the code that is searched, and the heap that is searched for functions, bytes each.
	maxListed = 4 << 30
	// maxListedCodes bounds the functions that are listed.
	maxListedCodes = 1 << 18
	// maxNoMaps bounds the words that are remembered not to be maps.
	maxNoMaps = 1 << 16
	// heapPage is the unit of V8's heap: maps of V8's own objects lie on one. Source: src/common/globals.h.
	heapPage = 256 << 10
)

// yielder takes one function of a list; false: no more.
type yielder = func(start, end mem.Addr, name string) bool

// Functions implements vm.FunctionLister: code of functions is named as V8's own --perf-basic-prof does, "JS:*walk
// /srv/robot.js:3:7", builtins as in V8's source. What V8 makes meanwhile may be missing.
func (r *Runtime) Functions(yield func(start, end mem.Addr, name string) bool) error {
	if r.live == nil {
		return errors.New("the process is gone")
	}
	areas := r.areas.Load()
	for i := range areas.list {
		if a := &areas.list[i]; !a.made && !r.listBuiltins(a, yield) {
			return nil
		}
	}
	l := listing{r: r, v: r.late(), noMaps: map[uint64]bool{}, baseline: map[heap.Tagged]*code{}}
	for i := range areas.list {
		if a := &areas.list[i]; a.made {
			l.search(a)
		}
	}
	for _, c := range l.codes {
		name := madeCode
		if c.Kind == heap.Maglev || c.Kind == heap.Turbofan {
			name = l.optimized(c)
		}
		if name != "" && !yield(c.Start, c.Start+mem.Addr(c.Size), name) {
			return nil
		}
	}
	l.nameBaseline(areas.heap, yield)
	l.unnamed += len(l.baseline)
	if l.unnamed > 0 {
		l.errs = append(l.errs, fmt.Errorf("%d functions of %d have no name", l.unnamed, len(l.codes)+l.all))
	}
	return errors.Join(l.errs...)
}

// listBuiltins lists those in a.
func (r *Runtime) listBuiltins(a *area, yield yielder) bool {
	all := r.builtins.all()
	for i := range all {
		b := &all[i]
		start := mem.Addr(uint64(b.start) + a.bias)
		if start >= a.start && start < a.end && !yield(start, start+mem.Addr(b.end-b.start), "Builtin:"+b.name) {
			return false
		}
	}
	return true
}

// listing is a search for all code.
type listing struct {
	r        *Runtime
	v        *view.View
	noMaps   map[uint64]bool
	stream   uint64 // the map of code, once it was met
	codes    []*code
	baseline map[heap.Tagged]*code // by Code, until the function is found
	all      int                   // baseline code
	unnamed  int
	searched int64 // bytes of code
	errs     []error
}

// search finds the code in a.
func (l *listing) search(a *area) {
	for at := a.start; at < a.end; {
		if l.searched += listBlock; l.searched > maxListed || l.all+len(l.codes) > maxListedCodes {
			l.errs = append(l.errs, fmt.Errorf("there is more code from %#x on", uint64(at)))
			return
		}
		if err := l.v.Refused(); err != nil {
			l.errs = append(l.errs, err)
			return
		}
		b := slices.Clone(l.v.UpTo(at, min(listBlock, int(a.end-at))))
		if len(b) < wordSize {
			at += listBlock
			continue
		}
		at = l.searchBlock(b[:len(b)&^(wordSize-1)], at)
	}
}

// searchBlock finds the code that begins in b, which lies at start, and returns where to go on.
func (l *listing) searchBlock(b []byte, start mem.Addr) mem.Addr {
	at := 0
	for at+wordSize <= len(b) {
		w := order.Uint64(b[at:])
		at += wordSize
		if !heap.MayRefer(w) || !l.isStream(w) {
			continue
		}
		c, err := l.r.readCode(start+mem.Addr(at-wordSize), l.v)
		if err != nil {
			continue
		}
		if c.Kind == heap.Baseline {
			l.baseline[heap.TagOf(c.Addr)] = c
			l.all++
		} else {
			l.codes = append(l.codes, c)
		}
		end := (c.Start + mem.Addr(c.Size)) &^ (wordSize - 1)
		at = max(at, int(end-start))
	}
	return start + mem.Addr(at)
}

// isStream reports whether w is the map of objects that hold instructions.
func (l *listing) isStream(w uint64) bool {
	if w == l.stream || l.noMaps[w] {
		return w == l.stream
	}
	if l.r.isStreamMap(w, l.v) {
		l.stream = w
		return true
	}
	if len(l.noMaps) < maxNoMaps {
		l.noMaps[w] = true
	}
	return false
}

// optimized is the name of c, "" if it is not found.
func (l *listing) optimized(c *code) string {
	mark := "*"
	if c.Kind == heap.Maglev {
		mark = "+"
	}
	shared, err := l.r.heap(l.v).CodeFunction(c.Code)
	if err != nil {
		l.unnamed++
		return ""
	}
	name, err := l.nameOf(shared, mark)
	if err != nil {
		l.unnamed++
	}
	return name
}

// nameOf is the name of a function with a mark for the compiler.
func (l *listing) nameOf(s heap.Shared, mark string) (string, error) {
	f, err := l.r.describe(s, l.v)
	if err != nil {
		return "", err
	}
	name := "JS:" + mark + f.shown()
	if f.script == nil {
		return name, nil
	}
	at := l.r.where(f.script, f.start, l.v)
	if at.line == 0 {
		return name, nil
	}
	return fmt.Sprintf("%s %s:%d:%d", name, at.file, at.line, at.column), nil
}

// nameBaseline lists baseline code. Nothing leads from it to its function: that is searched for in the heap, by the map
// of such objects.
func (l *listing) nameBaseline(spans maps.Spans, yield yielder) {
	if len(l.baseline) == 0 {
		return
	}
	shared, ok := l.sharedMap()
	if !ok {
		l.errs = append(l.errs, errors.New("the map of functions is not found"))
		return
	}
	left := mem.Addr(maxListed)
	for _, s := range spans {
		for at := s.Start; at < s.End && len(l.baseline) > 0; {
			if err := l.v.Refused(); err != nil || left < listBlock {
				l.errs = append(l.errs, fmt.Errorf("there is more heap from %#x on: %w", uint64(at),
					cmp.Or(err, work.ErrSpent)))
				return
			}
			left -= listBlock
			b := slices.Clone(l.v.UpTo(at, min(listBlock, int(s.End-at))))
			if !l.nameShared(b, at, shared, yield) {
				return
			}
			if at += mem.Addr(len(b)); len(b) < wordSize {
				at += listBlock
			}
		}
	}
}

// nameShared lists the baseline code of functions in b.
func (l *listing) nameShared(b []byte, start mem.Addr, shared uint64, yield yielder) bool {
	const compiled = 8 // function_data, and trusted_function_data from V8 12.8 on
	for at := 0; at+sharedHead <= len(b); at += wordSize {
		if order.Uint64(b[at:]) != shared {
			continue
		}
		key := heap.Tagged(order.Uint64(b[at+compiled:]))
		c := l.baseline[key]
		if c == nil {
			continue
		}
		f := &l.r.layout.Shared
		s := heap.Shared{Addr: start + mem.Addr(at),
			NameOrScope: heap.Tagged(order.Uint64(b[at+int(f.NameOrScope):])),
			Script:      heap.Tagged(order.Uint64(b[at+int(f.Script):]))}
		name, err := l.nameOf(s, "^")
		if err != nil {
			continue
		}
		delete(l.baseline, key)
		if !yield(c.Start, c.Start+mem.Addr(c.Size), name) {
			return false
		}
	}
	return true
}

// sharedMap is the map of SharedFunctionInfos, which lies on the page of that of code.
func (l *listing) sharedMap() (uint64, bool) {
	own, _, ok := readMap(l.r.layout, l.stream, l.v)
	if !ok {
		return 0, false
	}
	page := mem.Addr(l.stream) &^ (heapPage - 1)
	b := l.v.UpTo(page, heapPage)
	for at := 0; at+mapHead <= len(b); at += wordSize {
		if order.Uint64(b[at:]) != own || order.Uint16(b[at+int(l.r.layout.Map.InstanceType):]) !=
			l.r.layout.Types.Shared {
			continue
		}
		return uint64(heap.TagOf(page + mem.Addr(at))), true
	}
	return 0, false
}
