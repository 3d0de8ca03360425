package cpython

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// greenlet is a greenlet as it was read. Its stack is [start, stop): of a part, its first bytes, which others have the
// place of, there is a copy.
type greenlet struct {
	addr, typ   mem.Addr
	main        bool
	start, stop mem.Addr // stop is 0 before it has begun
	copied      mem.Addr
	size        uint64   // of the copy
	top         mem.Addr // its innermost frame object; 0 while it runs
	words       []byte   // of its implementation
}

// onStack is an address on the stack of its thread, 0 if none is known.
func (x *greenlet) onStack() mem.Addr {
	if !x.main {
		return x.stop
	}
	if x.start == isActive {
		return 0
	}
	return x.start
}

// Source: class Greenlet in src/greenlet/TGreenlet.hpp of greenlet 2.0 to 3.5: behind what differs come StackState
// (stack start, stop, copy, bytes saved, previous) and PythonState (context, top frame). The implementations of user
// greenlets and of the main greenlets of threads have different classes.
const (
	implementation = 16 // where a greenlet has the address of its implementation, behind its header
	greenletSize   = 320
	mainStop       = ^mem.Addr(0) // where the stack of a main greenlet ends
	isActive       = 1            // where it begins, before it was ever left

	firstStop, lastStop = 3, 20 // between which words of the implementation the end of the stack is

	// Behind the end of the stack, in words.
	wordCopy, wordSaved, wordTop = 1, 2, 5
)

// survey is greenlets as they are at one moment.
type survey struct {
	list  []greenlet // that have not ended
	runs  map[mem.Addr]bool
	ended int
}

// survey reads the greenlets among candidates. ahead, where it is not nil, fetches what is read of many.
func (g *greenlets) survey(table *maps.Table, m *view.View, ahead *rounds, candidates []mem.Addr) survey {
	s := survey{runs: map[mem.Addr]bool{}}
	seen := map[mem.Addr]bool{}
	var list []greenlet
	read := func(at mem.Addr) {
		x, ok := g.read(table, m, at)
		if ok && !seen[at] && len(list) < maxGreenlets {
			seen[at] = true
			list = append(list, x)
		}
	}
	each := func(items []mem.Addr, try func(mem.Addr)) {
		if ahead != nil {
			inRounds(ahead, items, try)
			return
		}
		for _, at := range items {
			try(at)
		}
	}
	each(candidates, read)
	stop := stopWord(list)
	byAddr := map[mem.Addr]*greenlet{}
	var mains []mem.Addr
	for i := range list {
		x := &list[i]
		if stop == 0 {
			continue
		}
		x.decode(stop)
		byAddr[x.addr] = x
		if x.main {
			mains = append(mains, x.addr)
		}
	}
	each(mains, func(at mem.Addr) {
		if current := currentOf(m, byAddr, byAddr[at], stop); current != 0 {
			s.runs[current] = true
		}
	})
	for i := range list {
		if x := &list[i]; stop != 0 && (x.stop == 0 || x.start != 0) {
			s.list = append(s.list, *x)
		} else {
			s.ended++
		}
	}
	return s
}

// read reads the greenlet at a: it has the type of one, and an implementation that is of the package's code and knows
// it.
func (g *greenlets) read(table *maps.Table, m *view.View, a mem.Addr) (greenlet, bool) {
	h := mem.Addr(g.r.layout.Header)
	b, ok := m.Bytes(a, int(h)+greenletBasic)
	if !ok {
		return greenlet{}, false
	}
	x := greenlet{addr: a, typ: mem.Addr(order.Uint64(b[h-wordSize:]))}
	at := mem.Addr(order.Uint64(b[h+implementation:]))
	if _, is := g.types[x.typ]; !is || at == 0 {
		return greenlet{}, false
	}
	words, ok := m.Bytes(at, greenletSize)
	if !ok || !isGreenletCode(table, mem.Addr(order.Uint64(words))) || !hasWord(words, a) {
		return greenlet{}, false
	}
	x.words = append([]byte(nil), words...)
	return x, true
}

func hasWord(b []byte, v mem.Addr) bool {
	for ; len(b) >= wordSize; b = b[wordSize:] {
		if mem.Addr(order.Uint64(b)) == v {
			return true
		}
	}
	return false
}

// word is word number i of the implementation.
func (x *greenlet) word(i int) mem.Addr { return mem.Addr(order.Uint64(x.words[i*wordSize:])) }

// stopWord is which word of implementations says where the stack ends: main greenlets show it. It is 0 if there is
// none: without a main greenlet nothing has begun.
func stopWord(list []greenlet) int {
	for i := range list {
		for at := firstStop; at <= lastStop; at++ {
			if list[i].word(at) == mainStop && list[i].word(at-1) != 0 {
				return at
			}
		}
	}
	return 0
}

// decode reads the fields, where word number stop is that of the end of the stack.
func (x *greenlet) decode(stop int) {
	x.start, x.stop, x.copied = x.word(stop-1), x.word(stop), x.word(stop+wordCopy)
	x.size, x.top = uint64(x.word(stop+wordSaved)), x.word(stop+wordTop)
	x.main = x.stop == mainStop
}

// currentOf is the greenlet that runs in the thread of the main greenlet x, 0 if it is not known. Source: class
// ThreadState in TThreadState.hpp, which the implementation of a main greenlet has the address of: the main greenlet,
// then the current one.
func currentOf(m *view.View, byAddr map[mem.Addr]*greenlet, x *greenlet, stop int) mem.Addr {
	for i := stop + wordTop + 1; (i+1)*wordSize <= len(x.words); i++ {
		at := x.word(i)
		if at == 0 || at%wordSize != 0 || at>>48 != 0 {
			continue
		}
		b, ok := m.Bytes(at, 2*wordSize)
		if !ok || mem.Addr(order.Uint64(b)) != x.addr {
			continue
		}
		if current := mem.Addr(order.Uint64(b[wordSize:])); byAddr[current] != nil {
			return current
		}
	}
	return 0
}

// maxParkedFrames bounds the frames of a greenlet that waits.
const maxParkedFrames = 1 << 10

// frameWalk goes along the frames of a greenlet, innermost first.
type frameWalk struct {
	x     *greenlet
	most  int // frames
	had   int // frames
	steps int // frames and entry frames
	begun bool
	next  mem.Addr // 0 at the end, once begun
}

// on gives yield the frames that follow. It is false if there are more: where one could not be read it goes on from
// there when it is called again. Source: PyFrameObject in Include/cpython/frameobject.h (3.8 to 3.10),
// Include/internal/pycore_frame.h.
func (w *frameWalk) on(l *object.Layout, m *view.View, yield func(f *object.Frame)) (whole bool) {
	if !w.begun {
		at := w.x.top
		if at != 0 && l.Thread.Chunk != 0 { // frames are no objects: that which was made for this one leads to it
			const frame = 8 // behind the header and the object of the caller
			var ok bool
			if at, ok = object.Pointer(m, at+mem.Addr(l.Header+frame)); !ok {
				return false
			}
		}
		w.begun, w.next = true, at
	}
	for ; w.next != 0; w.steps++ {
		b, ok := m.Bytes(w.x.where(w.next, l.Frame.Size), l.Frame.Size)
		if !ok || w.had == w.most || w.steps > 2*w.most { // each call of the eval loop has an entry frame
			return false
		}
		f := l.FrameOf(w.next, b)
		if w.next = f.Previous; !l.Shim(&f) {
			w.had++
			yield(&f)
		}
	}
	return true
}

// where is where what was at a lies, which is n bytes long: the stack of a greenlet that waits lies in part elsewhere.
func (x *greenlet) where(a mem.Addr, n int) mem.Addr {
	if from := uint64(a - x.start); from < x.size && uint64(n) <= x.size-from {
		return x.copied + mem.Addr(from)
	}
	return a
}
