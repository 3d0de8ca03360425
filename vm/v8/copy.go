package v8

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

const (
	// maxCopied bounds the functions of one thread that are copied, and what each of them refers to. A deep recursion
	// has few different ones, or as many closures as it is deep.
	maxCopied = 512
	// atOnce bounds the ranges of one read.
	atOnce = 128
	// functionHead and sharedHead are how much of each object is copied, bytes: up to the last field that is read of
	// it.
	functionHead = 48
	sharedHead   = 64
	// codeAround is how much is copied of the code around PC, bytes.
	codeAround = before + behind
	// maxGap is how many bytes more are copied to have two objects by one read: that costs less than another call.
	maxGap = 2 << 10
)

// Copy implements [snapshot.Copier]: it copies the functions that the thread's frames belong to, what is common to all
// closures of each (SharedFunctionInfo), and the code at PC. Functions are young objects, which move; what the others
// refer to moves seldom, and is read later.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	areas := r.areas.Load()
	if t.Arch != r.port.arch || len(areas.list) == 0 {
		return
	}
	var w wanted
	w.walk(areas, r, t)
	if t.Registers != nil {
		pc, _ := t.Registers.PC()
		if fp, ok := t.Registers.FP(); ok && areas.find(pc) != nil {
			f.Fetch(snapshot.Want{Addr: pc - before, Len: codeAround})
			w.frame(r, t, fp)
			function, _ := t.Registers.Get(r.port.register(r.layout.Registers.Function))
			w.object(function) // its frame may not be built yet
			if g := r.returns.Load().interrupted(t); g.entry != nil {
				w.givenUp = g
			}
		}
	}
	w.follow(f, r)
	if w.givenUp.entry != nil {
		w.givenUp.fetch(t, f)
	}
}

// wanted is the objects that one thread needs.
type wanted struct {
	list [maxCopied]mem.Addr
	n    int
	// set has the number of each object in list, from 1, by a hash of its address: twice as many places as objects.
	set [2 * maxCopied]uint16
	// givenUp is the innermost call of the deoptimizer on the stack, if there is one.
	givenUp givingUp
}

// add wants the object at a, once.
func (w *wanted) add(a mem.Addr) {
	const mix = 0x9e3779b97f4a7c15
	at := uint64(a) * mix >> 32 % uint64(len(w.set))
	for ; w.set[at] != 0; at = (at + 1) % uint64(len(w.set)) { // ends: half of the places are free
		if w.list[w.set[at]-1] == a {
			return
		}
	}
	if w.n < len(w.list) {
		w.list[w.n] = a
		w.n++
		w.set[at] = uint16(w.n)
	}
}

// object wants the object that a tagged pointer leads to.
func (w *wanted) object(tagged uint64) {
	if heap.MayRefer(tagged) {
		w.add(mem.Addr(tagged - 1))
	}
}

// fetch copies the first bytes of each object, those that are near one another by one read. Afterwards the objects are
// in the order of their addresses.
func (w *wanted) fetch(f *snapshot.Fetcher, head int) {
	slices.Sort(w.list[:w.n])
	var list [atOnce]snapshot.Want
	n := 0
	for _, a := range w.list[:w.n] {
		if n > 0 && a-list[n-1].Addr < mem.Addr(list[n-1].Len+maxGap) {
			list[n-1].Len = int(a-list[n-1].Addr) + head
			continue
		}
		if n == len(list) {
			f.Fetch(list[:]...)
			n = 0
		}
		list[n] = snapshot.Want{Addr: a, Len: head}
		n++
	}
	f.Fetch(list[:n]...)
}

// walk looks on the stack for frame records that return into V8's code, and wants what the frames around them hold:
// those are chained, but for what C++ code between them has.
func (w *wanted) walk(areas *areas, r *Runtime, t *snapshot.Thread) {
	data, start := t.Stack.Data, t.Stack.Start
	returns := r.returns.Load()
	for at := 0; at+2*wordSize <= len(data); {
		ra := mem.Addr(order.Uint64(data[at+wordSize:]))
		if ra < areas.low || ra >= areas.high {
			at += wordSize
			continue
		}
		fp, here := mem.Addr(order.Uint64(data[at:])), start+mem.Addr(at)
		if e := returns.entry(ra); e != nil && w.givenUp.entry == nil {
			w.givenUp = givingUp{entry: e, sp: here + 2*wordSize}
		}
		if fp <= here || fp-here > maxFrame || fp%wordSize != 0 || areas.find(ra-1) == nil {
			at += wordSize
			continue
		}
		w.frame(r, t, here)
		w.frame(r, t, fp)
		if uint64(fp-start) >= uint64(len(data)) {
			return
		}
		at = int(fp - start)
	}
}

// frame wants the function that the frame at fp belongs to.
func (w *wanted) frame(r *Runtime, t *snapshot.Thread, fp mem.Addr) {
	s := &r.layout.Frame
	at := s.Function
	switch marker, ok := stackWord(t, fp, s.Context); {
	case !ok:
		return
	case marker&1 == 0:
		if name, _ := r.layout.FrameType(int32(marker >> 1)); name != builtinExit {
			return
		}
		at = exitTarget
	}
	function, _ := stackWord(t, fp, at)
	w.object(function)
}

const (
	builtinExit = "BuiltinExitFrame"
	// exitTarget is where a BuiltinExitFrame has the JSFunction that was called, from its frame pointer.
	// Source: BuiltinExitFrameConstants in src/execution/frame-constants.h.
	exitTarget = 24
)

// stackWord is the word of the copied stack at offset from fp.
func stackWord(t *snapshot.Thread, fp mem.Addr, offset int32) (uint64, bool) {
	b, ok := t.Stack.Bytes(fp+mem.Addr(offset), wordSize)
	if !ok {
		return 0, false
	}
	return order.Uint64(b), true
}

// follow copies the functions, and what they refer to. Where one was moved by a garbage collection its map word is the
// new address.
func (w *wanted) follow(f *snapshot.Fetcher, r *Runtime) {
	if w.n == 0 {
		return
	}
	w.fetch(f, functionHead)
	var moved, shared wanted
	for _, a := range w.list[:w.n] {
		if to, ok := f.Word(a); ok && to&3 == 0 && to != 0 {
			moved.add(mem.Addr(to))
		}
	}
	if moved.n > 0 {
		moved.fetch(f, functionHead)
	}
	for _, functions := range []*wanted{w, &moved} {
		for _, a := range functions.list[:functions.n] {
			word, _ := f.Word(a + mem.Addr(r.layout.Function.Shared))
			shared.object(word)
		}
	}
	shared.fetch(f, sharedHead)
}
