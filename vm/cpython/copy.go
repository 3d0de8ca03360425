package cpython

import (
	"sync"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of what is copied of one thread.
const (
	maxStates  = 8         // states of other interpreters that it runs
	maxCodes   = 256       // different code objects
	maxChunk   = 128 << 10 // bytes of one piece of the data stack: the innermost
	chunkHead  = 24        // of _PyStackChunk: previous, size, top
	guessText  = 160       // bytes of a string that are copied before its length is known
	guessLines = 512       // of a line table
)

// scratch is the memory of one Copy.
type scratch struct {
	wants  []snapshot.Want
	chain  chain
	stack  stackMemory
	view   view.View
	codes  [maxCodes]mem.Addr
	nCodes int
	copies []object.Frame // those whose thread has its own copy of the instructions, one of each code object
	more   []mem.Addr     // objects whose heads say how long they are
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Copy implements [snapshot.Copier]: it copies the state of the thread, the chain of its frames, and of each code
// object what tells it from another. What names take of one that is not known yet is copied too, as it may be freed
// when the thread runs again.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	if !r.reads(t) {
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.nCodes, s.copies = 0, s.copies[:0]
	var states [1 + maxStates]mem.Addr
	n := r.states(t, f, s, &states)
	for _, at := range states[:n] {
		b, ok := f.Bytes(at, r.layout.Thread.Size)
		if !ok {
			continue
		}
		state := r.layout.ThreadOf(at, b)
		s.stack.begin(f, &state, r.layout)
		s.view = view.From(&s.stack)
		s.chain.walkOn(r.layout, &s.view, state, ownStack(t))
		for i := range s.chain.frames {
			s.code(&s.chain.frames[i])
		}
		copyOtherStack(t, f, &s.chain)
	}
	r.copyCodes(f, s)
	if s.stack.cut {
		r.copyRest(f, s)
	}
	if r.holders {
		r.copyHolders(f)
	}
}

// copyRest copies what is behind the frames that were copied, now that those have their names, as far as it may.
func (r *Runtime) copyRest(f *snapshot.Fetcher, s *scratch) {
	n := len(s.chain.frames)
	if n == 0 {
		return
	}
	s.stack.calls, s.stack.reserve = maxFrames, 0
	s.view = view.From(&s.stack)
	at := s.chain.frames[n-1].Previous
	for ; n < maxFrames && at != 0; n++ {
		frame, ok := r.layout.FrameAt(&s.view, at)
		if !ok {
			return
		}
		if !r.layout.Shim(&frame) {
			s.code(&frame)
		}
		at = frame.Previous
	}
	r.copyCodes(f, s)
}

// Bounds of what is copied of another stack, bytes: below the innermost call of the eval loop, and in all.
const (
	belowAnchor = 8 << 10
	maxOther    = 64 << 10
)

// copyOtherStack copies the stack that the frames of c are run on where it is not the one that t is on: a handler of a
// signal has its own.
func copyOtherStack(t *snapshot.Thread, f *snapshot.Fetcher, c *chain) {
	var low, high mem.Addr
	for i := range c.groups {
		a := c.groups[i].anchor
		if _, on := t.Stack.Bytes(a, wordSize); a == 0 || on || low != 0 && a < low {
			continue // they ascend
		}
		if low == 0 {
			low = a
		}
		high = a
	}
	if low == 0 || high-low > maxOther {
		return
	}
	f.Fetch(snapshot.Want{Addr: low - belowAnchor, Len: int(high-low) + 2*belowAnchor})
}

// ownStack is what was copied of the stack of t. What lies behind its pthread_self, which glibc puts on top of a stack
// that it has made, is another's: several stacks may be one mapping.
func ownStack(t *snapshot.Thread) mem.Range {
	s := t.Stack
	if n := t.TP - s.Start; t.HasTP && t.TP > s.Start && n < mem.Addr(len(s.Data)) {
		s.Data = s.Data[:n]
	}
	return s
}

// states copies the states that t may have, and returns where they are: one of the main interpreter, and those of
// others that it runs.
func (r *Runtime) states(t *snapshot.Thread, f *snapshot.Fetcher, s *scratch,
	out *[1 + maxStates]mem.Addr) (n int) {
	o := r.roster.Load()
	own := o.of(t)
	s.view = view.Stopped(f, 0)
	if !r.fetchHeads(o, own, f, s) || !r.settled(o, own, t, &s.view) {
		fresh := r.freshen(o, &s.view)
		r.roster.CompareAndSwap(o, fresh) // else somebody else has read the lists
		o = fresh
		own = o.of(t)
		r.fetchHeads(o, own, f, s)
	}
	stack := ownStack(t)
	_, knowsSelf := self(t)
	if own != 0 && r.runs(t, &s.view, own, stack) {
		out[0], n = own, 1
		if state, ok := o.state(own); ok && !knowsSelf && state.ident > stack.Start && stack.End() > state.ident {
			stack.Data = stack.Data[:state.ident-stack.Start]
		}
	} else if !knowsSelf {
		stack.Data = nil // where it ends is not known
	}
	s.wants = s.wants[:0]
	for _, at := range o.others {
		s.wants = append(s.wants, snapshot.Want{Addr: at, Len: r.layout.Thread.Size})
	}
	f.Fetch(s.wants...)
	for _, at := range o.others {
		if n < len(out) && r.runs(t, &s.view, at, stack) {
			out[n] = at
			n++
		}
	}
	return n
}

// fetchHeads copies the heads of the lists and the state at own. It reports whether o still has all threads.
func (r *Runtime) fetchHeads(o *roster, own mem.Addr, f *snapshot.Fetcher, s *scratch) bool {
	l := r.layout
	head := r.at + mem.Addr(l.Runtime.Interpreters)
	s.wants = append(s.wants[:0], snapshot.Want{Addr: head, Len: wordSize})
	for i := range o.interps {
		s.wants = append(s.wants, snapshot.Want{Addr: o.interps[i].addr + mem.Addr(l.Interp.Threads), Len: wordSize})
	}
	if own != 0 {
		s.wants = append(s.wants, snapshot.Want{Addr: own, Len: l.Thread.Size})
	}
	if main := o.main(); main != nil && main.threads != 0 {
		s.wants = append(s.wants, snapshot.Want{Addr: main.threads + mem.Addr(l.Thread.Next), Len: wordSize},
			snapshot.Want{Addr: main.threads + mem.Addr(l.Thread.ThreadID), Len: wordSize})
	}
	f.Fetch(s.wants...)
	if first, ok := f.Word(head); !ok || mem.Addr(first) != o.interpreters {
		return !ok
	}
	for i := range o.interps {
		in := &o.interps[i]
		if first, ok := f.Word(in.addr + mem.Addr(l.Interp.Threads)); ok && mem.Addr(first) != in.threads {
			return false
		}
	}
	return true
}

// settled reports whether what o says of t holds still: the state of another may lie where its own did, that of a
// thread which has ended may be there still while a new one has its pthread_self, and a new state may lie where the
// head of the list did.
func (r *Runtime) settled(o *roster, own mem.Addr, t *snapshot.Thread, m *view.View) bool {
	main := o.main()
	switch {
	case own != 0 && !r.runs(t, m, own, mem.Range{}), own == 0 && (o.partial || len(o.bare) > 0):
		return false
	case main == nil, main.threads == 0:
		return true
	}
	next, ok := object.Pointer(m, main.threads+mem.Addr(r.layout.Thread.Next))
	ident, ok2 := object.Pointer(m, main.threads+mem.Addr(r.layout.Thread.ThreadID))
	return !ok || !ok2 || o.head.next == next && o.head.ident == ident
}

// runs reports whether t runs the state at a: it has its number, or its frames lie on stack, which is its own.
func (r *Runtime) runs(t *snapshot.Thread, m *view.View, a mem.Addr, stack mem.Range) bool {
	b, ok := m.Bytes(a, r.layout.Thread.Size)
	if !ok {
		return false
	}
	state := r.layout.ThreadOf(a, b)
	return r.runsState(t, m, &state, stack)
}

func (r *Runtime) runsState(t *snapshot.Thread, m *view.View, state *object.Thread, stack mem.Range) bool {
	main := r.roster.Load().main()
	own, knowsSelf := self(t)
	switch _, on := stack.Bytes(state.CFrame, wordSize); {
	case on && r.layout.Thread.CFrame != 0:
		return true
	case main != nil && state.Interp != main.addr && r.layout.Version.Minor < 13 &&
		(r.layout.Thread.CFrame != 0 || !knowsSelf): // it has the number of the thread that made it
		return false
	case knowsSelf:
		return state.ThreadID == own
	}
	ids, tid := r.kernelIDs(m, state), t.InnerTID()
	return ids[0] == tid || ids[1] == tid
}

// code wants the code object that f executes, once.
func (s *scratch) code(f *object.Frame) {
	if f.Code == 0 {
		return
	}
	for i := s.nCodes - 1; i >= 0; i-- { // most are that of a frame just before
		if s.codes[i] == f.Code {
			return
		}
	}
	if s.nCodes < len(s.codes) {
		s.codes[s.nCodes] = f.Code
		s.nCodes++
		if f.TLBC != 0 {
			s.copies = append(s.copies, *f)
		}
	}
}

// copyCodes copies the code objects by one read, and by up to two more what those refer to that are not known.
func (r *Runtime) copyCodes(f *snapshot.Fetcher, s *scratch) {
	l := r.layout
	s.wants = s.wants[:0]
	for _, a := range s.codes[:s.nCodes] {
		s.wants = append(s.wants, snapshot.Want{Addr: a, Len: l.Code.Size})
	}
	f.Fetch(s.wants...)
	s.wants, s.more = s.wants[:0], s.more[:0]
	s.view = view.Stopped(f, 0)
	for i := range s.copies {
		if at, ok := l.Copies(&s.view, &s.copies[i]); ok {
			s.wants = append(s.wants, snapshot.Want{Addr: at, Len: wordSize})
		}
	}
	f.Fetch(s.wants...)
	s.wants = s.wants[:0]
	for _, a := range s.codes[:s.nCodes] {
		b, ok := f.Bytes(a, l.Code.Size)
		if !ok {
			continue
		}
		key := keyOf(l, a, b)
		if r.codes.has(&key) {
			continue
		}
		s.wants = append(s.wants, snapshot.Want{Addr: key.lines, Len: guessLines},
			snapshot.Want{Addr: key.filename, Len: guessText}, snapshot.Want{Addr: key.name, Len: guessText})
	}
	r.fetchWhole(f, s)
}

// fetchWhole copies the objects that are wanted, and the rest of those that are longer.
func (r *Runtime) fetchWhole(f *snapshot.Fetcher, s *scratch) {
	if len(s.wants) == 0 {
		return
	}
	for _, w := range s.wants {
		s.more = append(s.more, w.Addr)
	}
	lines := guessLines
	f.Fetch(s.wants...)
	had := len(s.wants)
	for i := range had {
		w := s.wants[i]
		head, ok := f.Bytes(w.Addr, r.layout.StringHead())
		if !ok {
			continue
		}
		span := r.layout.StringSpan
		if w.Len == lines {
			span = r.layout.BytesSpan
		}
		at, n, ok := span(w.Addr, head)
		if end := at + mem.Addr(n); ok && end > w.Addr+mem.Addr(w.Len) {
			s.wants = append(s.wants, snapshot.Want{Addr: w.Addr, Len: int(end - w.Addr)})
		}
	}
	f.Fetch(s.wants[had:]...)
}

// stackMemory is the memory of a stopped thread in which frames are read: the data stack piece by piece; frames that
// are or are in objects by blocks, as those of a recursion and those of threads that do the same lie near to each
// other. It leaves some of what may be copied of the thread to the names.
type stackMemory struct {
	f       *snapshot.Fetcher
	chunk   mem.Addr // the piece of the data stack that is not copied yet, 0 for none
	top     mem.Addr
	block   mem.Addr // bytes
	calls   int      // how often it may read
	reserve int      // bytes that it leaves
	cut     bool     // it was asked for more
}

// What is read of the frames of one thread: the rest of a Fetcher's budget is for what names them.
const (
	maxFrameCalls = 160
	nameRoom      = 96 << 10 // bytes
)

// begin copies the innermost piece of the data stack of t.
func (m *stackMemory) begin(f *snapshot.Fetcher, t *object.Thread, l *object.Layout) {
	const page, part = 4 << 10, 1 << 10
	*m = stackMemory{f: f, block: part, calls: maxFrameCalls, reserve: nameRoom}
	switch {
	case l.Thread.Chunk == 0:
		m.block = page
	case t.Chunk != 0:
		m.chunk, m.top = t.Chunk, t.ChunkTop
		m.next()
	}
}

// next copies the next piece, and goes to the one before it.
func (m *stackMemory) next() {
	from, n := m.chunk, m.top-m.chunk
	if m.top <= m.chunk || n > 1<<30 {
		m.chunk = 0
		return
	}
	if n > maxChunk {
		from = m.top - maxChunk
		m.f.Fetch(snapshot.Want{Addr: m.chunk, Len: chunkHead}, snapshot.Want{Addr: from, Len: maxChunk})
	} else {
		m.f.Fetch(snapshot.Want{Addr: from, Len: int(n)})
	}
	previous, _ := m.f.Word(m.chunk)
	if m.chunk = mem.Addr(previous); m.chunk == 0 {
		return
	}
	m.f.Fetch(snapshot.Want{Addr: m.chunk, Len: chunkHead})
	top, ok := m.f.Word(m.chunk + 16)
	if !ok || top > 1<<27 {
		m.chunk = 0
		return
	}
	m.top = m.chunk + chunkHead + mem.Addr(8*top)
}

// Bytes implements [view.Source].
func (m *stackMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if b, ok := m.f.Bytes(addr, n); ok {
		return b, true
	}
	if m.calls--; m.calls < 0 || m.f.Room() < m.reserve {
		m.cut = true
		return nil, false
	}
	if m.chunk != 0 && addr >= m.chunk && addr < m.top {
		m.next()
	} else {
		from := addr &^ (m.block - 1)
		m.f.Fetch(snapshot.Want{Addr: from, Len: (int(addr-from) + n + int(m.block) - 1) &^ (int(m.block) - 1)})
	}
	if b, ok := m.f.Bytes(addr, n); ok {
		return b, true
	}
	m.f.Fetch(snapshot.Want{Addr: addr, Len: n})
	return m.f.Bytes(addr, n)
}

// Err implements [view.Source].
func (m *stackMemory) Err() error { return m.f.Err() }
