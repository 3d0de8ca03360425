package coreclr

import (
	"sync/atomic"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// Bounds of what is copied of one thread, and how much of each structure: what is longer is read later.
const (
	maxCopied   = 96 // places in code
	codeAtPC    = 32
	linearBack  = 64 // bytes of a linear nibble map before a place: 4 KB of code
	headerBytes = 36 + 8*unwindcode.FunctionSize
	infoBytes   = 48
	methodBytes = 48
	nameBytes   = 96
	debugBytes  = 512
)

// Copy implements [snapshot.Copier]: of each place in compiled code that the thread executes in or may return to it
// copies what tells the method and its rows. That takes five reads for all of them together. Code that the runtime
// never frees is copied the first time alone: it is what it was then.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	s := r.sections.Load()
	if t.Arch != regs.AMD64 || len(s.list) == 0 {
		return
	}
	var w wanted
	pc, sp := mem.Addr(0), t.Stack.Start
	if t.Registers != nil {
		pc, _ = t.Registers.PC()
		sp, _ = t.Registers.SP()
	}
	if s.find(pc) != nil && !r.lasting.has(pc) {
		f.Fetch(snapshot.Want{Addr: pc, Len: codeAtPC})
		w.add(r, s, pc)
	}
	w.stack(r, s, t.Stack, sp)
	if w.n > 0 {
		w.copy(r, f)
	}
	r.copyMonitor(t, f)
}

// wanted are the places of one thread, with what is known of each.
type wanted struct {
	n        int
	at       [maxCopied]mem.Addr // as tables are looked up with it
	section  [maxCopied]*section
	header   [maxCopied]mem.Addr
	desc     [maxCopied]mem.Addr
	function [maxCopied]mem.Span[mem.Addr]
	settled  [maxCopied]bool // nothing more is needed of it
	requests [3 * maxCopied]snapshot.Want
	asked    int
}

// stack wants what the words of a stack from sp on may return to.
func (w *wanted) stack(r *Runtime, s *sections, stack mem.Range, sp mem.Addr) {
	data := stack.Data
	if skip := sp - stack.Start; sp > stack.Start && uint64(skip) < uint64(len(data)) {
		data = data[skip:]
	}
	low, high := uint64(s.low), uint64(s.high)
	for ; len(data) >= wordSize; data = data[wordSize:] {
		if a := order.Uint64(data); a > low && a < high {
			w.add(r, s, mem.Addr(a)-1)
		}
	}
}

// add wants the place a, unless it is known, or precompiled: that does not change.
func (w *wanted) add(r *Runtime, s *sections, a mem.Addr) {
	x := s.find(a)
	if x == nil || x.flags&codeHeap == 0 || a < x.heap.start || a < x.heap.base ||
		w.n == len(w.at) || r.lasting.has(a) {
		return
	}
	for i := w.n - 1; i >= 0; i-- {
		if w.at[i] == a {
			return
		}
	}
	w.at[w.n], w.section[w.n] = a, x
	w.n++
}

// ask wants n bytes at a with the next fetch.
func (w *wanted) ask(a mem.Addr, n int) {
	if w.asked < len(w.requests) {
		w.requests[w.asked] = snapshot.Want{Addr: a, Len: n}
		w.asked++
	}
}

func (w *wanted) fetch(f *snapshot.Fetcher) {
	f.Fetch(w.requests[:w.asked]...)
	w.asked = 0
}

// copy copies what is wanted, a structure of each place by one read: nibble maps, the word before the method, its code
// header, its MethodDesc with unwind information, the chunk of that or its name.
func (w *wanted) copy(r *Runtime, f *snapshot.Fetcher) {
	for i := range w.n {
		w.askNibbles(i, r.layout.constantMap)
	}
	w.fetch(f)
	var starts [maxCopied]mem.Addr
	for i := range w.n {
		starts[i] = w.start(i, r.layout.constantMap, f)
		w.ask(starts[i]-wordSize, wordSize)
	}
	w.fetch(f)
	for i := range w.n {
		header, ok := f.Word(starts[i] - wordSize)
		if w.settled[i] = !ok || header <= r.layout.stubLast; !w.settled[i] {
			w.header[i] = mem.Addr(header)
			w.ask(w.header[i], headerBytes)
		}
	}
	w.fetch(f)
	w.copyMethods(r, f)
}

// askNibbles asks for the units of the map that may say where the method begins which holds place i.
func (w *wanted) askNibbles(i int, constant bool) {
	h := &w.section[i].heap
	unit := mem.Addr(w.at[i]-h.base) / unitBytes
	back := mem.Addr(linearBack / unitSize)
	if constant {
		back = 1
	}
	first := unit - min(unit, back)
	w.ask(h.nibbles+first*unitSize, int(unit-first+1)*unitSize)
}

// start is where the method begins that holds place i, 0 if what was copied does not say.
func (w *wanted) start(i int, constant bool, f *snapshot.Fetcher) mem.Addr {
	h := &w.section[i].heap
	rel, ok := methodStart(uint64(w.at[i]-h.base), constant, linearBack/unitSize, func(n uint64) (uint32, bool) {
		b, ok := f.Bytes(h.nibbles+mem.Addr(n*unitSize), unitSize)
		if !ok {
			return 0, false
		}
		return order.Uint32(b), true
	})
	if !ok {
		return 0
	}
	return h.base + mem.Addr(rel)
}

// copyMethods copies what the code headers lead to.
func (w *wanted) copyMethods(r *Runtime, f *snapshot.Fetcher) {
	l := r.layout
	for i := range w.n {
		if w.settled[i] {
			continue
		}
		desc, ok := f.Word(w.header[i] + mem.Addr(l.headerMethod))
		if w.settled[i] = !ok; ok {
			w.desc[i] = mem.Addr(desc)
			w.ask(w.desc[i], methodBytes)
			w.askInfo(i, l, f)
		}
	}
	w.fetch(f)
	for i := range w.n {
		if w.settled[i] {
			continue
		}
		b, ok := f.Bytes(w.desc[i], methodBytes)
		if w.settled[i] = !ok; !ok {
			continue
		}
		class := Class(order.Uint16(b[l.methodFlags:]) & 7)
		loose := w.section[i].flags&collectible != 0
		if class == DynamicMethod {
			w.ask(mem.Addr(order.Uint64(b[l.dynamicName:])), nameBytes)
		}
		chunk := w.desc[i] - mem.Addr(b[l.methodIndex])*mem.Addr(l.methodAlignment) - mem.Addr(l.chunkSize)
		w.ask(chunk, int(l.chunkSize))
		if loose {
			debug, _ := f.Word(w.header[i] + mem.Addr(l.headerDebugInfo))
			w.ask(mem.Addr(debug), debugBytes)
		} else if class != DynamicMethod {
			r.lasting.add(w.at[i], w.function[i].Start, w.function[i].End)
		}
	}
	w.fetch(f)
}

// askInfo asks for the unwind information of the function that holds place i.
func (w *wanted) askInfo(i int, l *layout, f *snapshot.Fetcher) {
	count, ok := f.Bytes(w.header[i]+mem.Addr(l.headerInfos), 4)
	if !ok {
		return
	}
	base := w.section[i].start
	for k := range mem.Addr(min(order.Uint32(count), maxInfos)) {
		b, ok := f.Bytes(w.header[i]+mem.Addr(l.headerInfo)+k*unwindcode.FunctionSize, unwindcode.FunctionSize)
		if !ok {
			return
		}
		x := unwindcode.ParseFunction(b)
		if rel := uint64(w.at[i] - base); uint64(x.Begin) <= rel && rel < uint64(x.End) {
			w.function[i] = mem.Span[mem.Addr]{Start: base + mem.Addr(x.Begin), End: base + mem.Addr(x.End)}
			w.ask(base+mem.Addr(x.Info), infoBytes)
			return
		}
	}
}

// lasting are places in code that the runtime never frees: which code is there, whoever looks later sees too. It is
// for all threads that copy, and forgets some.
type lasting [1 << lastingBits]atomic.Uint64

const lastingBits = 14

func (l *lasting) slot(key uint64) *atomic.Uint64 {
	const spread = 0x9e3779b97f4a7c15
	return &l[key*spread>>(64-lastingBits)]
}

// keys are how a is remembered: by itself, or by the piece of code that it lies in.
func keys(a mem.Addr) (place, piece uint64) {
	return uint64(a) << 1, uint64(a)/bucketBytes<<1 | 1
}

func (l *lasting) has(a mem.Addr) bool {
	place, piece := keys(a)
	return l.slot(piece).Load() == piece || l.slot(place).Load() == place
}

// add remembers a, in the function [start, end).
func (l *lasting) add(a, start, end mem.Addr) {
	key, piece := keys(a)
	if first := a &^ (bucketBytes - 1); first >= start && first+bucketBytes <= end {
		key = piece
	}
	l.slot(key).Store(key)
}
