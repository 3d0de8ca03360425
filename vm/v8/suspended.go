package v8

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/libuv"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// Suspended async functions are objects of the heap, of which V8 has no list. They are searched for in the memory of
// the process while it runs, read at one moment, and linked by the promises that they wait for.

const (
	maxSearched = 512 << 20 // bytes
	maxObjects  = 1 << 16   // of each kind
	maxShapes   = 1 << 12
	maxScans    = 3       // where the heap moves meanwhile
	maxRetried  = 1 << 13 // functions for which it is tried again
)

// scan is what was found of suspended functions at one moment.
type scan struct {
	r         *Runtime
	memory    search.Memory
	moment    *moment.Moment
	heap      heap.Heap
	view      view.View
	extent    search.Extent
	full      bool // there are more objects than are read
	shapes    *search.Words
	kinds     []heap.Suspendable // of each of shapes
	found     [2][]object        // functions, and promises
	frames    []heap.Frame
	parts     []moment.Part
	waiters   map[mem.Addr][]heap.Waiter // by promise
	of        map[mem.Addr]moment.Part   // of promises
	functions map[heap.Shared]bool
	same      []bool // of parts: they were the same
	moved     int    // objects that were not the same when they were read again
}

type object struct {
	at   mem.Addr
	kind heap.Suspendable
}

// image is what a Runtime searches.
type image struct {
	search  func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error
	scratch mem.Reader
	keep    func(mem.Range)
	table   *maps.Table
	// replayed says that it is a recording, which has what was of use.
	replayed bool
}

func (r *Runtime) newScan(s *snapshot.Snapshot) *scan {
	c := &scan{r: r, moment: moment.New(r.image.scratch, r.budget), shapes: search.NewWords(),
		waiters: map[mem.Addr][]heap.Waiter{}, of: map[mem.Addr]moment.Part{},
		functions: map[heap.Shared]bool{}}
	c.memory = search.Memory{Search: r.image.search, Table: r.image.table, Most: maxSearched, Budget: r.budget,
		Dead: r.deadStacks(s), Block: heapPage}
	c.view = view.From(c.moment)
	c.heap = r.heap(&c.view)
	return c
}

// deadStacks is what lies below the stack pointers of the threads: words that were used and are not any more. Of a
// thread that waits in an event loop it is what lies above, too: it runs no JavaScript, and most of the frame of that
// loop is room for events, which has what earlier calls have left there.
func (r *Runtime) deadStacks(s *snapshot.Snapshot) maps.Spans {
	var dead maps.Spans
	if s.Maps == nil {
		return nil
	}
	loops := libuv.NewFinder(r.live, r.budget)
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Registers == nil {
			continue
		}
		const (
			redZone = 128 // bytes; the System V ABI for AMD64, 3.2.2
			frames  = 64 << 10
		)
		sp, ok := t.Registers.SP()
		m := s.Maps.Find(mem.Addr(sp))
		if !ok || m == nil || mem.Addr(sp) < m.Start+redZone {
			continue
		}
		end := (mem.Addr(sp) - redZone) &^ (wordSize - 1)
		if _, idle := loops.Find(t, s.Maps); idle {
			end = max(end, min(stackTop(t, m), end+frames))
		}
		dead = append(dead, maps.Span{Start: m.Start, End: end})
	}
	return dead
}

// stackTop is where the stack of t in the mapping m ends at the latest, 0 where that is not known: of what lies behind
// it the kernel may have made one mapping with it. Libraries of threads put what the thread pointer leads to at the
// top.
func stackTop(t *snapshot.Thread, m *maps.Mapping) mem.Addr {
	switch {
	case m.Path == "[stack]":
		return m.End
	case t.HasTP && t.TP > m.Start && t.TP < m.End:
		return t.TP
	}
	return 0
}

// read finds all, and reads it twice. What was not the same is left out.
func (c *scan) read() error {
	if err := c.findShapes(); err != nil || c.shapes.Len() == 0 {
		return err
	}
	c.findObjects()
	for _, o := range c.found[0] {
		f, err := c.heap.FrameOf(o.at, o.kind)
		part := c.moment.Part()
		if err == nil && c.isFunction(f.Shared) {
			c.frames, c.parts = append(c.frames, f), append(c.parts, part)
		}
	}
	for _, o := range c.found[1] {
		waiters, pending, _ := c.heap.Waiters(o.at) // what is missing of it is a fault, or the object is none
		if part := c.moment.Part(); pending && len(waiters) > 0 {
			c.waiters[o.at], c.of[o.at] = waiters, part
		}
	}
	c.settle()
	return c.moment.Err()
}

// isFunction reports whether a function is there still: what is left of an object that died has one that may be not.
func (c *scan) isFunction(s heap.Shared) bool {
	is, ok := c.functions[s]
	if !ok {
		_, _, err := c.heap.Describe(s)
		_, _, err2 := c.heap.ScriptOf(s)
		is = err == nil && err2 == nil
		c.functions[s] = is
	}
	return is
}

// settle leaves out what was not the same when it was read again.
func (c *scan) settle() {
	same := c.moment.Settle()
	kept, parts := c.frames[:0], c.parts[:0]
	for i := range c.frames {
		if !same[c.parts[i]] {
			c.moved++
			continue
		}
		kept, parts = append(kept, c.frames[i]), append(parts, c.parts[i])
	}
	c.frames, c.parts = kept, parts
	for p, part := range c.of {
		if !same[part] {
			c.moved++
			delete(c.waiters, p)
			delete(c.of, p)
		}
	}
	c.same = same
}

// keep lets what was of use be saved.
func (c *scan) keep() {
	if c.r.image.keep == nil {
		return
	}
	kept := c.moment.Kept(func(p moment.Part) bool { return int(p) >= len(c.same) || c.same[p] })
	for _, r := range kept {
		c.r.image.keep(r)
	}
}

// findShapes finds the Maps of such objects.
func (c *scan) findShapes() error {
	l := c.r.layout
	var at []mem.Addr
	c.extent = c.memory.Each(func(start mem.Addr, b []byte) bool {
		for i := range mayBeMaps(l, b) {
			if len(at) == maxShapes {
				c.full = true
				return false
			}
			at = append(at, start+mem.Addr(i))
		}
		return true
	})
	for _, a := range at {
		if kind := c.heap.SuspendableMap(a); kind != heap.NotSuspendable {
			c.shapes.Add(uint64(heap.TagOf(a)), len(c.kinds))
			c.kinds = append(c.kinds, kind)
		}
	}
	c.moment.Part()
	return c.moment.Err()
}

// mayBeMaps is where in b, whole words, a Map may begin. Four pairs of words are looked at together: hardly any has what
// the second word of a Map has.
func mayBeMaps(l *heap.Layout, b []byte) iter.Seq[int] {
	const four = 4 * wordSize
	return func(yield func(int) bool) {
		for i := 0; i < len(b); i += four {
			if p := b[i:]; len(p) >= four+wordSize && !heap.MayBeFlags(order.Uint64(p[wordSize:])|
				order.Uint64(p[2*wordSize:])|order.Uint64(p[3*wordSize:])|order.Uint64(p[four:])) {
				continue
			}
			for k := i; k < i+four && k+2*wordSize <= len(b); k += wordSize {
				if w := order.Uint64(b[k:]); w&3 == 1 && l.MayBeMap(w, order.Uint64(b[k+wordSize:])) && !yield(k) {
					return
				}
			}
		}
	}
}

// findObjects finds what has those Maps.
func (c *scan) findObjects() {
	extent := c.memory.Each(func(start mem.Addr, b []byte) bool {
		return c.shapes.In(b, func(i, number int) bool {
			kind := c.kinds[number]
			if may, sure := heap.MaySuspend(kind, b[i:]); !may || !sure && c.r.image.replayed {
				return true // a recording has all of those that were found
			}
			to := &c.found[0]
			if kind == heap.PendingPromise {
				to = &c.found[1]
			}
			if len(*to) == maxObjects {
				c.full = true
				return true
			}
			*to = append(*to, object{start + mem.Addr(i), kind})
			return true
		})
	})
	if c.extent.Cut == nil {
		c.extent.Cut = extent.Cut
	}
}

// problem says what is missing, nil for nothing.
func (c *scan) problem() error {
	switch {
	case c.moment.Err() != nil:
		return fmt.Errorf("async functions may be missing: %w", why(c.moment.Err()))
	case c.full:
		return fmt.Errorf("async functions are missing: no more than %d objects of a kind are read", maxObjects)
	case c.extent.Cut != nil:
		return fmt.Errorf("async functions may be missing: %w", c.extent.Cut)
	case c.moved > 0:
		return fmt.Errorf("async functions may be missing that have just begun, or who waits for them: %d objects "+
			"changed while they were read: %w", c.moved, moment.ErrChanged)
	case c.unread():
		return errUnread
	}
	return nil
}

var errUnread = errors.New("async functions may be missing, or who waits for them: not all of their memory could be " +
	"read")

// unread reports whether memory could not be read that the process has.
func (c *scan) unread() bool { return c.faulted(0) }

// faulted reports it of the reads that failed from the nth such on.
func (c *scan) faulted(n int) bool {
	return slices.ContainsFunc(c.moment.Faults()[n:], c.isMapped)
}

func (c *scan) isMapped(a mem.Addr) bool {
	m := c.memory.Table.Find(a)
	return m != nil && m.Perm&maps.Read != 0
}

func why(err error) error {
	if errors.Is(err, work.ErrMemory) {
		return errors.New("reading them takes more memory than fpstack uses")
	}
	return err
}

// OpenFibers implements vm.FiberLister.
func (r *Runtime) OpenFibers() (bool, error) {
	if r.image.search == nil || r.layout.Types.Promise == 0 || r.layout.Types.AsyncFunction == 0 {
		return false, nil
	}
	return true, nil
}

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return asyncCall }

// asyncCall is an async function that waits, with those that wait for it.
const asyncCall = "async call"

// Searches makes r list suspended functions of the memory that i shows.
func (r *Runtime) searches(i module.Image) {
	r.image = image{search: i.Search, scratch: i.Scratch, keep: i.Keep, replayed: i.Replayed}
	if r.image.scratch == nil {
		r.image.scratch = i.Memory
	}
}
