package coreclr

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/mem"
)

// section is memory with managed code, as the runtime keeps it in its map of ranges.
type section struct {
	start, end mem.Addr
	flags      uint64
	module     mem.Addr // of precompiled code; 0 otherwise
	// heap is the part of the section that holds code which was compiled, and its nibble map.
	heap struct{ start, end, base, nibbles mem.Addr }
}

// Flags of a RangeSection. Source: RangeSectionFlags in src/coreclr/vm/codeman.h.
const (
	collectible = 1
	codeHeap    = 2
	rangeList   = 4
	interpreted = 8
)

// sections are those of one process at one moment, ascending. It is not changed after it was made, so that goroutines
// may share it.
type sections struct {
	list      []section
	low, high mem.Addr
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

// Bounds of the map of ranges: hundreds of assemblies and heaps make some hundred sections.
const (
	mapLevels   = 5
	mapFanout   = 256
	maxNodes    = 1 << 12
	maxSections = 1 << 14
	// maxFragments bounds those of all entries: a section of 1 GB has 8,192, one for each 128 KB.
	maxFragments = 1 << 17
	maxChain     = 1 << 12 // fragments of one entry
	tag          = 1       // in pointers of the map: to what may be collected
)

// rangeMap reads the map of ranges: a tree of five levels, of which the lowest leads to lists of fragments. Each of
// these lists a section, which may have several.
// Source: class RangeSectionMap in src/coreclr/vm/codeman.h.
type rangeMap struct {
	memory mem.Reader
	layout *layout
	nodes  int
	met    int // fragments
	seen   map[mem.Addr]bool
	list   []section
	err    error // the first read that failed
}

// readSections reads the map at a. What could be read is returned together with the error that cut it short.
func readSections(m mem.Reader, l *layout, a mem.Addr) (*sections, error) {
	r := &rangeMap{memory: m, layout: l, seen: map[mem.Addr]bool{}}
	r.node(a, mapLevels)
	slices.SortFunc(r.list, func(a, b section) int { return cmp.Compare(a.start, b.start) })
	s := &sections{}
	for _, x := range r.list {
		if n := len(s.list); n > 0 && x.start < s.list[n-1].end {
			continue // they do not overlap: it changes while it is read
		}
		s.list = append(s.list, x)
	}
	if n := len(s.list); n > 0 {
		s.low, s.high = s.list[0].start, s.list[n-1].end
	}
	return s, r.err
}

func (r *rangeMap) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("read the map of code ranges: %w", err)
	}
}

// node reads a node of a level, 1 being the lowest.
func (r *rangeMap) node(a mem.Addr, level int) {
	if r.nodes++; r.nodes > maxNodes {
		r.fail(errBounds)
		return
	}
	var b [mapFanout * wordSize]byte
	if _, err := r.memory.ReadMem(b[:], a); err != nil {
		r.fail(err)
		return
	}
	for i := range mapFanout {
		switch next := mem.Addr(order.Uint64(b[i*wordSize:])) &^ tag; {
		case next == 0:
		case level > 1:
			r.node(next, level-1)
		default:
			r.fragments(next)
		}
	}
}

// fragments reads a list of fragments.
func (r *rangeMap) fragments(a mem.Addr) {
	for range maxChain {
		if a == 0 {
			return
		}
		if r.met++; r.met > maxFragments {
			r.fail(errBounds)
			return
		}
		f := fields{m: r.memory, at: a}
		at := mem.Addr(f.word(r.layout.fragmentSection))
		a = mem.Addr(f.word(r.layout.fragmentNext)) &^ tag
		if f.err != nil {
			r.fail(f.err)
			return
		}
		if !r.seen[at] && len(r.list) < maxSections {
			r.seen[at] = true
			r.section(at)
		}
	}
}

// section reads a RangeSection.
func (r *rangeMap) section(at mem.Addr) {
	l, f := r.layout, fields{m: r.memory, at: at}
	x := section{start: mem.Addr(f.word(l.sectionBegin)), end: mem.Addr(f.word(l.sectionEnd)),
		flags: f.word(l.sectionFlags) & 0xffffffff, module: mem.Addr(f.word(l.sectionModule))}
	heap, deleted := mem.Addr(f.word(l.sectionHeap)), f.word(l.sectionDeleted)
	if f.err == nil && x.flags&codeHeap != 0 {
		h := fields{m: r.memory, at: heap}
		x.heap.start, x.heap.end = mem.Addr(h.word(l.heapStart)), mem.Addr(h.word(l.heapEnd))
		x.heap.base, x.heap.nibbles = mem.Addr(h.word(l.heapBase)), mem.Addr(h.word(l.heapMap))
		f.err = h.err
	}
	switch {
	case f.err != nil:
		r.fail(f.err)
	case deleted != 0 || x.start >= x.end:
	default:
		r.list = append(r.list, x)
	}
}

const wordSize = 8

// fields reads fields of a structure, until one cannot be read: then all are 0 and err says why.
type fields struct {
	m   mem.Reader
	at  mem.Addr
	err error
}

func (f *fields) uint(offset int64, size int) uint64 {
	if f.err != nil {
		return 0
	}
	var v uint64
	v, f.err = mem.Uint(f.m, f.at+mem.Addr(offset), size, order)
	return v
}

func (f *fields) word(offset int64) uint64 { return f.uint(offset, wordSize) }
