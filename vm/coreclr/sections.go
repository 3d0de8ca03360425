package coreclr

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// section is memory with managed code, as the runtime keeps it in its map of ranges.
type section struct {
	at         mem.Addr // of the RangeSection itself
	start, end mem.Addr
	flags      uint64
	module     mem.Addr // of precompiled code; 0 otherwise
	list       mem.Addr // of its heap
	// heap is the part of the section that holds code which was compiled, and its nibble map.
	heap struct{ start, end, base, nibbles mem.Addr }
	id   uint64 // another one for another section, also at the same place
}

// Flags of a RangeSection. Source: RangeSectionFlags in src/coreclr/vm/codeman.h.
const (
	collectible = 1
	codeHeap    = 2
	rangeList   = 4
	interpreted = 8
)

// mayBeFreed reports whether the runtime may free the code of s.
func (s *section) mayBeFreed() bool { return s.flags&collectible != 0 }

// sections are those of one process at one moment, ascending. It is not changed after it was made, so that goroutines
// may share it.
type sections struct {
	list      []section
	low, high mem.Addr
	err       error // why not all are there
}

// find returns the section that holds a, nil if none does.
func (s *sections) find(a mem.Addr) *section {
	if a < s.low || a >= s.high {
		return nil
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].start > a }) - 1
	if i < 0 || a >= s.list[i].end {
		return nil
	}
	return &s.list[i]
}

// Bounds of the map of ranges: hundreds of assemblies and heaps make some hundred sections, which take some hundred
// reads of half a microsecond. It may be read each second.
const (
	mapLevels = 5
	mapFanout = 256
	entryBits = 17       // of code that one entry of the lowest level is for
	mapSteps  = 16 << 20 // of one pass
	maxChain  = 1 << 12  // fragments of one entry
	tag       = 1        // in pointers of the map: to what may be collected
)

// rangeMap reads the map of ranges: a tree of five levels, of which the lowest leads to lists of fragments. Each of
// these lists a section, which may have several.
// Source: class RangeSectionMap in src/coreclr/vm/codeman.h.
type rangeMap struct {
	view   view.View
	layout *layout
	seen   map[mem.Addr]bool
	list   []section
	// to is up to where code is known to be that of the section read last.
	to  mem.Addr
	err error // the first read that failed
}

// readSections reads the map at a. What could be read is returned together with the error that cut it short.
func readSections(v view.View, l *layout, a mem.Addr) *sections {
	r := &rangeMap{view: v, layout: l, seen: map[mem.Addr]bool{}}
	r.view.Within(mapSteps)
	r.node(a, mapLevels, 0)
	slices.SortFunc(r.list, func(a, b section) int { return cmp.Compare(a.start, b.start) })
	s := &sections{err: r.err}
	for _, x := range r.list {
		if n := len(s.list); n > 0 && x.start < s.list[n-1].end {
			continue // they do not overlap: it changes while it is read
		}
		s.list = append(s.list, x)
	}
	if n := len(s.list); n > 0 {
		s.low, s.high = s.list[0].start, s.list[n-1].end
	}
	return s
}

func (r *rangeMap) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("read the map of code ranges: %w", err)
	}
}

// node reads a node of a level, 1 being the lowest, whose first entry is for the code at first.
func (r *rangeMap) node(a mem.Addr, level int, first mem.Addr) {
	var b [mapFanout * wordSize]byte
	if _, err := r.view.ReadMem(b[:], a); err != nil {
		r.fail(err)
		return
	}
	each := mem.Addr(1) << (entryBits + 8*(level-1))
	for i := range mapFanout {
		code := first + mem.Addr(i)*each
		switch next := mem.Addr(order.Uint64(b[i*wordSize:])) &^ tag; {
		case r.view.Refused() != nil:
			return
		case next == 0:
		case level > 1:
			r.node(next, level-1, code)
		case code+each > r.to: // else it is all of the section before
			r.fragments(next, code)
		}
	}
}

// fragments reads a list of fragments, of the entry for the code at code.
func (r *rangeMap) fragments(a, code mem.Addr) {
	for range maxChain {
		if a == 0 {
			return
		}
		f := r.view.Fields(a)
		at := f.Addr(r.layout.fragmentSection)
		a = f.Addr(r.layout.fragmentNext) &^ tag
		if f.Err != nil {
			r.fail(f.Err)
			return
		}
		if !r.seen[at] {
			r.seen[at] = true
			r.section(at, code)
		}
	}
	r.fail(errBounds)
}

// section reads the RangeSection at a.
func (r *rangeMap) section(at, code mem.Addr) {
	x, deleted, err := readSection(&r.view, r.layout, at)
	if err == nil && x.flags&codeHeap != 0 {
		h := r.view.Fields(x.list)
		x.heap.start, x.heap.end = h.Addr(r.layout.heapStart), h.Addr(r.layout.heapEnd)
		x.heap.base, x.heap.nibbles = h.Addr(r.layout.heapBase), h.Addr(r.layout.heapMap)
		err = h.Err
	}
	switch {
	case err != nil:
		r.fail(err)
	case !deleted && x.start < x.end:
		r.list = append(r.list, x)
		if x.start <= code {
			r.to = x.end
		}
	}
}

// readSection reads the RangeSection at a, without what its heap says.
func readSection(v *view.View, l *layout, a mem.Addr) (x section, deleted bool, err error) {
	f := v.Fields(a)
	x = section{at: a, start: f.Addr(l.sectionBegin), end: f.Addr(l.sectionEnd),
		flags: f.Uint(l.sectionFlags, 4), module: f.Addr(l.sectionModule), list: f.Addr(l.sectionHeap)}
	return x, f.Word(l.sectionDeleted) != 0, f.Err
}

// stands reports whether v has s still as it was read; an error says that it is not known.
func (s *section) stands(v *view.View, l *layout) (bool, error) {
	x, deleted, err := readSection(v, l, s.at)
	x.heap, x.id = s.heap, s.id
	return err == nil && !deleted && x == *s, err
}

// sectionBytes is how much of a RangeSection is read.
func (l *layout) sectionBytes() int {
	return int(max(l.sectionBegin, l.sectionEnd, l.sectionFlags, l.sectionModule, l.sectionHeap, l.sectionDeleted)) +
		wordSize
}

const wordSize = 8
