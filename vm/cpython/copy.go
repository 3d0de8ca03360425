package cpython

import (
	"sync"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
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
	codes  [maxCodes]mem.Addr
	nCodes int
	more   []mem.Addr // objects whose heads say how long they are
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Copy implements [snapshot.Copier]: it copies the state of the thread, the chain of its frames, and of each code
// object what tells it from another. What names take of one that is not known yet is copied too, as it may be freed
// when the thread runs again.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	if t.Arch != regs.AMD64 {
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.nCodes = 0
	var states [1 + maxStates]mem.Addr
	n := r.states(t, f, s, &states)
	for _, at := range states[:n] {
		b, ok := f.Bytes(at, r.layout.Thread.Size)
		if !ok {
			continue
		}
		state := r.layout.ThreadOf(at, b)
		s.stack.begin(f, &state, r.layout)
		s.chain.walkOn(r.layout, &s.stack, state, t.Stack)
		for i := range s.chain.frames {
			s.code(s.chain.frames[i].Code)
		}
		copyOtherStack(t, f, &s.chain)
	}
	r.copyCodes(f, s)
	if r.holders {
		r.copyHolders(f)
	}
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

// states copies the states that t may have, and returns where they are: one of the main interpreter, and those of
// others whose frames lie on its stack.
func (r *Runtime) states(t *snapshot.Thread, f *snapshot.Fetcher, s *scratch,
	out *[1 + maxStates]mem.Addr) (n int) {
	o := r.roster.Load()
	own := o.of(t)
	if !r.fetchHeads(o, own, f, s) || !r.settled(o, own, t, f) {
		o = r.readRoster(fetching{f})
		o.keepStacks(r.roster.Load())
		r.roster.Store(o)
		own = o.of(t)
		r.fetchHeads(o, own, f, s)
	}
	if own != 0 {
		out[0], n = own, 1
	}
	for _, at := range o.others {
		if n < len(out) && r.runs(t, f, at) {
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

// settled reports whether what o says of t holds still: the state of another may lie where its own did, and where o has
// none a new one may lie where the head of the list did.
func (r *Runtime) settled(o *roster, own mem.Addr, t *snapshot.Thread, f *snapshot.Fetcher) bool {
	at := own
	if own == 0 {
		if o.unsettled || len(o.interps) == 0 {
			return !o.unsettled
		}
		if at = o.interps[len(o.interps)-1].threads; at == 0 {
			return true
		}
	}
	b, ok := fetching{f}.Bytes(at, r.layout.Thread.Size)
	if !ok {
		return own == 0
	}
	state := r.layout.ThreadOf(at, b)
	if own == 0 {
		return o.head == identity{state.ThreadID, state.Next}
	}
	ident := o.identFor(t)
	return ident == 0 || state.ThreadID == ident
}

// runs reports whether t runs the state at a, of an interpreter besides the main one: its frames lie on the stack of t.
func (r *Runtime) runs(t *snapshot.Thread, f *snapshot.Fetcher, a mem.Addr) bool {
	b, ok := fetching{f}.Bytes(a, r.layout.Thread.Size)
	if !ok {
		return false
	}
	state := r.layout.ThreadOf(a, b)
	if r.layout.Thread.CFrame != 0 {
		_, ok := t.Stack.Bytes(state.CFrame, wordSize)
		return ok
	}
	if t.HasTP && r.layout.Version.Minor < 13 {
		return state.ThreadID == t.TP
	}
	return !t.HasTP || state.ThreadID == t.TP
}

// code wants the code object at a, once.
func (s *scratch) code(a mem.Addr) {
	if a == 0 {
		return
	}
	for i := s.nCodes - 1; i >= 0; i-- { // most are that of a frame just before
		if s.codes[i] == a {
			return
		}
	}
	if s.nCodes < len(s.codes) {
		s.codes[s.nCodes] = a
		s.nCodes++
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

// stackMemory is the memory of a stopped thread in which frames are read: the data stack piece by piece, frames that
// are objects by pages, as those of a recursion and those of threads that do the same lie near to each other; all
// else as it is asked for.
type stackMemory struct {
	f     *snapshot.Fetcher
	chunk mem.Addr // the piece of the data stack that is not copied yet, 0 for none
	top   mem.Addr
	paged bool // frames are objects
}

// begin copies the innermost piece of the data stack of t.
func (m *stackMemory) begin(f *snapshot.Fetcher, t *object.Thread, l *object.Layout) {
	*m = stackMemory{f: f}
	if l.Thread.Chunk == 0 {
		m.paged = true
		return
	}
	if t.Chunk == 0 {
		return
	}
	m.chunk, m.top = t.Chunk, t.ChunkTop
	m.next()
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

// Bytes implements object.Memory.
func (m *stackMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if b, ok := m.f.Bytes(addr, n); ok {
		return b, true
	}
	if m.chunk != 0 && addr >= m.chunk && addr < m.top {
		m.next()
	}
	if m.paged {
		m.page(addr, n)
	}
	return fetching{m.f}.Bytes(addr, n)
}

// page copies the pages that hold the n bytes at addr.
func (m *stackMemory) page(addr mem.Addr, n int) {
	const page = 4 << 10
	from := addr &^ (page - 1)
	m.f.Fetch(snapshot.Want{Addr: from, Len: (int(addr-from) + n + page - 1) &^ (page - 1)})
}
