package coreclr

import (
	"sync/atomic"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// Bounds of what is copied of one thread, and how much of each structure: what is longer is read later.
const (
	maxCopied   = 96 // places in code
	codeAtPC    = 32
	linearBack  = 64      // bytes of a linear nibble map before a place: 4 KB of code
	headerBytes = 36 + 96 // with some RUNTIME_FUNCTIONs
	infoBytes   = 48
	methodBytes = 48
	nameBytes   = 128
	tableBytes  = 64
	debugBytes  = 512
)

// Copy implements [snapshot.Copier]: of each place in compiled code that the thread executes in or may return to it
// copies what tells the method and its rows. That takes five reads for all of them together. Code that the runtime
// never frees is copied the first time alone: it is what it was then.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	s := r.sections.Load()
	if t.Arch != r.o.port.arch || len(s.list) == 0 {
		return
	}
	var w wanted
	pc, sp := mem.Addr(0), t.Stack.Start
	if t.Registers != nil {
		pc, _ = t.Registers.PC()
		sp, _ = t.Registers.SP()
		if link, ok := t.Registers.Get(t.Arch.LR); ok { // a return address that may be nowhere else
			w.add(r, s, mem.Addr(link)-1)
		}
	}
	if x := s.find(pc); x != nil && (x.mayBeFreed() || x.flags&codeHeap == 0 || !r.known.has(pc)) {
		behind := snapshot.Want{Addr: pc, Len: codeAtPC}
		f.Fetch(behind, snapshot.Want{Addr: pc - resolveBytes, Len: resolveBytes}) // what a stub has pushed before
		w.add(r, s, pc)
	}
	w.stack(r, s, f, t.Stack, sp)
	if w.n > 0 {
		w.copy(r, f)
	}
	for _, at := range w.locks[:w.lockCount] {
		f.Fetch(snapshot.Want{Addr: at, Len: lockBytes})
	}
}

// wanted are the places of one thread, with what is known of each.
type wanted struct {
	n         int
	at        [maxCopied]mem.Addr // as tables are looked up with it
	section   [maxCopied]*section
	header    [maxCopied]mem.Addr
	desc      [maxCopied]mem.Addr // then its chunk, its type, its module
	function  [maxCopied]unwindcode.Function
	settled   [maxCopied]bool // nothing more is needed of it
	requests  [3 * maxCopied]snapshot.Want
	asked     int
	locks     [maxItems]mem.Addr // that the thread may wait for
	lockCount int
}

// atOnce is how much of a stack is searched before it is asked whether there is time for more, bytes.
const atOnce = 16 << 10

// stack wants what the words of a stack from sp on may return to, and the locks that they may name, until there is no
// room for more or no time.
func (w *wanted) stack(r *Runtime, s *sections, f *snapshot.Fetcher, stack mem.Range, sp mem.Addr) {
	data := stack.Data
	if skip := sp - stack.Start; sp > stack.Start && uint64(skip) < uint64(len(data)) {
		data = data[skip:] // what is below is left over
	}
	domain := r.domain.Load()
	for len(data) >= wordSize && w.n < len(w.at) && !f.Late() {
		piece := data[:min(len(data), atOnce)]
		for ; len(piece) >= wordSize; data, piece = data[wordSize:], piece[wordSize:] {
			switch a := order.Uint64(data); {
			case a > uint64(s.low) && a < uint64(s.high):
				w.add(r, s, mem.Addr(a)-1)
			case a == domain && a != 0:
				w.lock(stack, data)
			}
		}
	}
}

// lock wants the lock of an item whose second word begins rest, the end of stack.
func (w *wanted) lock(stack mem.Range, rest []byte) {
	at := len(stack.Data) - len(rest) - wordSize
	if at < 0 || w.lockCount == len(w.locks) {
		return
	}
	if lock := lockOf(stack.Data[at:]); lock != 0 {
		w.locks[w.lockCount] = lock
		w.lockCount++
	}
}

// add wants the place a, unless it is known, or precompiled: that does not change.
func (w *wanted) add(r *Runtime, s *sections, a mem.Addr) {
	x := s.find(a)
	if x == nil || x.flags&codeHeap == 0 || a < x.heap.start || a < x.heap.base ||
		w.n == len(w.at) || !x.mayBeFreed() && r.known.has(a) {
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
		if w.section[i].mayBeFreed() { // that it is still what it was
			w.ask(w.section[i].at, r.layout.sectionBytes())
		}
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
			w.askInfo(i, r, f)
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
		if class == DynamicMethod {
			name := mem.Addr(order.Uint64(b[l.dynamicName:]))
			w.ask(name, nameBytes-int(name%(nameBytes/2))) // it is read up to a multiple of that
			w.settled[i] = true
			continue
		}
		w.desc[i] -= mem.Addr(b[l.methodIndex])*mem.Addr(l.methodAlignment) + mem.Addr(l.chunkSize) // its chunk
		w.ask(w.desc[i], int(l.chunkSize))
		if w.settled[i] = !w.section[i].mayBeFreed(); w.settled[i] {
			start, end := w.span(i, r.o.port, f)
			r.known.add(w.at[i], start, end)
		} else if l.headerDebugInfo != unknown {
			debug, _ := f.Word(w.header[i] + mem.Addr(l.headerDebugInfo))
			w.ask(mem.Addr(debug), debugBytes)
		}
	}
	w.fetch(f)
	w.follow(l.chunkTable, tableBytes, f)
	w.follow(l.tableModule, l.moduleBytes(), f)
}

// follow copies, of each place that is not settled, the n bytes that the word at offset of what was copied last leads
// to: the type of a method that may be freed, and its module.
func (w *wanted) follow(offset int64, n int, f *snapshot.Fetcher) {
	for i := range w.n {
		if w.settled[i] {
			continue
		}
		next, ok := f.Word(w.desc[i] + mem.Addr(offset))
		if w.settled[i] = !ok; ok {
			w.desc[i] = mem.Addr(next)
			w.ask(w.desc[i], n)
		}
	}
	w.fetch(f)
}

// moduleBytes is how much of a Module is read.
func (l *layout) moduleBytes() int {
	return int(max(l.moduleBase, l.modulePath, l.moduleName)) + wordSize
}

// askInfo asks for the unwind information of the function that holds place i.
func (w *wanted) askInfo(i int, r *Runtime, f *snapshot.Fetcher) {
	l, port := r.layout, r.o.port
	count, ok := f.Bytes(w.header[i]+mem.Addr(l.headerInfos), 4)
	if !ok {
		return
	}
	n := min(int(order.Uint32(count)), (headerBytes-int(l.headerInfo))/port.functionSize)
	list, _ := f.Bytes(w.header[i]+mem.Addr(l.headerInfo), n*port.functionSize)
	base := w.section[i].start
	x, ok := port.holding(list, uint64(w.at[i]-base))
	if !ok {
		return
	}
	w.function[i] = x
	w.ask(base+mem.Addr(x.Info), infoBytes)
}

// span is the code of the function that holds place i, of no size where what was copied does not say it.
func (w *wanted) span(i int, port *port, f *snapshot.Fetcher) (start, end mem.Addr) {
	x, base := w.function[i], w.section[i].start
	if port.sized != nil {
		if head, ok := f.Bytes(base+mem.Addr(x.Info), port.headSize); !ok || port.sized(&x, head) != nil {
			return 0, 0
		}
	}
	return base + mem.Addr(x.Begin), base + mem.Addr(x.End)
}

// known are places in code that the runtime never frees: which code is there, whoever looks later sees too. It is
// for all threads that copy, and forgets some.
type known [1 << knownBits]atomic.Uint64

const knownBits = 14

func (l *known) slot(key uint64) *atomic.Uint64 {
	const spread = 0x9e3779b97f4a7c15
	return &l[key*spread>>(64-knownBits)]
}

// keys are how a is remembered: by itself, or by the piece of code that it lies in.
func keys(a mem.Addr) (place, piece uint64) {
	return uint64(a) << 1, uint64(a)/bucketBytes<<1 | 1
}

func (l *known) has(a mem.Addr) bool {
	place, piece := keys(a)
	return l.slot(piece).Load() == piece || l.slot(place).Load() == place
}

// add remembers a, in the function [start, end).
func (l *known) add(a, start, end mem.Addr) {
	key, piece := keys(a)
	if first := a &^ (bucketBytes - 1); first >= start && first+bucketBytes <= end {
		key = piece
	}
	l.slot(key).Store(key)
}
