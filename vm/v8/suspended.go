package v8

import (
	"errors"
	"iter"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/libuv"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// Suspended async functions are objects of the heap, of which V8 has no list. They are searched for in the memory of
// the process while it runs, read at one moment, and linked by the promises that they wait for.

const maxShapes = 1 << 12

// scan is what was found of suspended functions at one moment.
type scan struct {
	suspended.Scan
	r         *Runtime
	heap      heap.Heap
	shapes    *search.Words
	kinds     []heap.Suspendable // of each of shapes
	found     [2][]object        // functions, and promises
	frames    []heap.Frame
	parts     []moment.Part
	waiters   map[mem.Addr][]heap.Waiter // by promise
	of        map[mem.Addr]moment.Part   // of promises
	functions map[heap.Shared]bool
	links     *links // when they were followed
}

type object struct {
	at   mem.Addr
	kind heap.Suspendable
}

func (r *Runtime) newScan(s *snapshot.Snapshot) *scan {
	c := &scan{r: r, shapes: search.NewWords(), waiters: map[mem.Addr][]heap.Waiter{},
		of: map[mem.Addr]moment.Part{}, functions: map[heap.Shared]bool{}}
	c.Scan = r.searched.Scan(search.Memory{Table: r.table, Budget: r.budget, Dead: r.deadStacks(s), Block: heapPage})
	c.heap = r.heap(&c.View)
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

// Read implements suspended.Finder: it reads all twice, and leaves out what was not the same.
func (c *scan) Read() (found int, err error) {
	if err := c.findShapes(); err != nil || c.shapes.Len() == 0 {
		return 0, err
	}
	c.findObjects()
	for _, o := range c.found[0] {
		f, err := c.heap.FrameOf(o.at, o.kind)
		part := c.Moment.Part()
		switch {
		case err == nil && c.isFunction(f.Shared):
			c.frames, c.parts = append(c.frames, f), append(c.parts, part)
		case err != nil && c.isForwarded(f.Closure):
			c.Change()
		}
	}
	for _, o := range c.found[1] {
		waiters, pending, err := c.heap.Waiters(o.at) // what is missing of it is a fault, or the object is none
		c.Full = c.Full || errors.Is(err, heap.ErrMany)
		if part := c.Moment.Part(); pending && len(waiters) > 0 {
			c.waiters[o.at], c.of[o.at] = waiters, part
		}
	}
	c.settle()
	found = len(c.frames) - c.Moved()
	c.torn()
	return found, c.Moment.Err()
}

// torn counts links that lead nowhere: of a heap that a collector moved while it was searched an object may be found in
// neither place, or in both, though all that was read is as it was. An async function waits for one promise, and who
// waits for a promise is there.
func (c *scan) torn() {
	l := c.link()
	there := make(map[mem.Addr]bool, len(c.frames))
	for i := range c.frames {
		f := &c.frames[i]
		there[f.Addr] = true
		context, isContext := f.Context.Object()
		registers, isObject := f.Registers.Object()
		if f.Promise != 0 && !c.IsMapped(f.Promise) || isContext && !c.IsMapped(context) ||
			isObject && !c.IsMapped(registers) {
			c.Change() // the heap has grown since the mappings were listed, and other objects may be there, too
		}
	}
	for i := range l.frames {
		if l.frames[i].Kind == heap.AsyncFunction && !l.linked[i] {
			c.Change()
		}
	}
	for _, waiters := range c.waiters {
		for _, w := range waiters {
			if w.Frame != 0 && !there[w.Frame] {
				c.Change()
			}
		}
	}
}

// isFunction reports whether a function is there still: what is left of an object that died has one that may be not.
func (c *scan) isFunction(s heap.Shared) bool {
	is, ok := c.functions[s]
	if !ok {
		_, _, err := c.heap.Describe(s)
		_, _, err2 := c.heap.ScriptOf(s)
		is = err == nil && err2 == nil
		c.functions[s] = is
		if script, ok := s.Script.Object(); !is && (c.isForwarded(s.Addr) || ok && c.isForwarded(script)) {
			c.Change()
		}
	}
	return is
}

// isForwarded reports whether a collector is moving the object at a: its first word is then where it goes, without the
// tag that leads to a Map. Source: MapWord::ToForwardingAddress in src/objects/objects-inl.h.
func (c *scan) isForwarded(a mem.Addr) bool {
	w, ok := c.Moment.Peek(a)
	return a != 0 && ok && w != 0 && w%wordSize == 0 && c.IsMapped(mem.Addr(w))
}

// settle leaves out what was not the same when it was read again.
func (c *scan) settle() {
	c.Settle()
	c.frames = suspended.Stayed(&c.Scan, c.frames, c.parts)
	for p, part := range c.of {
		if !c.Stayed(part) {
			delete(c.waiters, p)
		}
	}
}

// findShapes finds the Maps of such objects.
func (c *scan) findShapes() error {
	l := c.r.layout
	var at []mem.Addr
	c.Each(func(start mem.Addr, b []byte) bool {
		for i := range mayBeMaps(l, b) {
			if len(at) == maxShapes {
				c.Full = true
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
	c.Moment.Part()
	return c.Moment.Err()
}

// mayBeMaps is where in b, whole words, a Map may begin. Four pairs of words are looked at together: hardly any has
// what the second word of a Map has.
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
	c.Each(func(start mem.Addr, b []byte) bool {
		return c.shapes.In(b, func(i, number int) bool {
			kind := c.kinds[number]
			if may, sure := heap.MaySuspend(kind, b[i:]); !may || !sure && c.r.searched.Replayed {
				return true // a recording has all of those that were found
			}
			to := &c.found[0]
			if kind == heap.PendingPromise {
				to = &c.found[1]
			}
			if len(*to) == suspended.MaxObjects {
				c.Full = true
				return true
			}
			*to = append(*to, object{start + mem.Addr(i), kind})
			return true
		})
	})
}
