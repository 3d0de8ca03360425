package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of a list.
const (
	maxListed = 1 << 21  // places where a method may begin
	maxHeap   = 1 << 32  // bytes of code in one heap
	mapPiece  = 16 << 10 // bytes of a nibble map that are read at once
)

var errTooMany = errors.New("it has more methods than are listed")

// Functions lists the methods that are compiled now, and those precompiled ones that have been called or prepared, with
// the names that frames have: see vm.FunctionLister. Each funclet of a method is listed by itself.
func (r *Runtime) Functions(yield func(start, end mem.Addr, name string) bool) error {
	live := r.live
	r.live = newPages(live, r.budget)
	defer func() {
		r.live = live
		r.begin(nil)
	}()
	r.begin(nil)
	r.walk = view.Over(nil, r.live, r.budget) // without the bound of one stack
	r.readSections()
	l := &lister{r: r, yield: yield}
	l.keep(r.sections.Load().err)
	for i := range r.sections.Load().list {
		s := &r.sections.Load().list[i]
		switch {
		case l.done:
		case s.flags&codeHeap != 0:
			l.keep(l.heap(s))
		case s.flags&(rangeList|interpreted) == 0 && s.module != 0:
			l.keep(l.image(s))
		}
	}
	return l.err
}

// lister gives methods to yield until that has enough.
type lister struct {
	r     *Runtime
	yield func(start, end mem.Addr, name string) bool
	met   int // places where a method may begin
	done  bool
	err   error // the first
}

func (l *lister) keep(err error) {
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("list methods of %v: %w", l.r, err)
	}
}

// heap lists the methods of a heap, by its nibble map.
func (l *lister) heap(s *section) error {
	h := &s.heap
	if h.end <= h.base || h.end-h.base > maxHeap {
		return errBounds
	}
	units := uint64(h.end-h.base+unitBytes-1) / unitBytes
	b := make([]byte, mapPiece)
	for first := uint64(0); first < units && !l.done; first += mapPiece / unitSize {
		b = b[:min(mapPiece, (units-first)*unitSize)]
		if _, err := l.r.walk.ReadMem(b, h.nibbles+mem.Addr(first*unitSize)); err != nil {
			return err
		}
		for i := uint64(0); i < uint64(len(b))/unitSize && !l.done; i++ {
			l.unit(s, first+i, order.Uint32(b[i*unitSize:]))
		}
	}
	return nil
}

// unit lists the methods that begin in the code of unit number i.
func (l *lister) unit(s *section, i uint64, unit uint32) {
	if _, inside := pointedTo(unit, l.r.layout.constantMap); inside || unit == 0 {
		return
	}
	for k := range uint64(unitNibbles) {
		if n := nibbleOf(unit, k); n != 0 && !l.done {
			l.method(s, s.heap.base+mem.Addr((i*unitNibbles+k)*bucketBytes+(n-1)*stepBytes))
		}
	}
}

// method lists the method that begins at start, if one does: it may be gone again.
func (l *lister) method(s *section, start mem.Addr) {
	if !l.another() {
		return
	}
	c, err := l.r.codeAt(&l.r.walk, s, start)
	if err == nil && c.kind != StubCode && c.start == start {
		l.list(c)
	}
	l.keep(l.r.walk.Refused())
}

// image lists the methods of an image that the runtime knows by their place.
func (l *lister) image(s *section) error {
	im := l.r.imageOf(s)
	if im.err != nil {
		return im.err
	}
	b := make([]byte, im.count*im.port.functionSize)
	if !l.r.budget.Hold(int64(len(b))) {
		return l.r.budget.Refusal()
	}
	defer l.r.budget.Release(int64(len(b)))
	v := &l.r.lasting
	if _, err := v.ReadMem(b, im.functions); err != nil {
		return err
	}
	for ; len(b) > 0 && l.another(); b = b[im.port.functionSize:] {
		f := im.port.function(b)
		desc, found, err := mapped(v, im.entries, l.r.layout.hashMask, uint64(s.start)+uint64(f.Begin))
		if err != nil {
			return err
		}
		if found {
			if err := im.port.end(v, s.start, &f); err != nil {
				return err
			}
			c := &code{section: *s, kind: R2RCode, base: s.start, start: s.start + mem.Addr(f.Begin), function: f,
				desc: mem.Addr(desc)}
			if c.class, err = l.r.classOf(v, c.desc); err != nil {
				return err
			}
			l.list(c)
		}
	}
	return nil
}

// another counts what is looked at, and reports whether there may be more.
func (l *lister) another() bool {
	if l.met++; l.met > maxListed {
		l.keep(errTooMany)
		l.done = true
	}
	return !l.done
}

// list gives c to yield.
func (l *lister) list(c *code) {
	m, err := l.r.methodOf(c, &l.r.walk)
	if err != nil {
		return
	}
	start, end := c.span()
	f, _ := l.r.names.frame(m)
	l.done = !l.yield(start, end, f.Func)
}
