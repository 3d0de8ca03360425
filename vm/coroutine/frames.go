package coroutine

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/suspended"
)

// The frame of a coroutine: two pointers to functions, then what the program calls its promise.
const (
	wordSize  = 8
	frameEnds = 8 // the function that ends it
	headSize  = 16
	promiseAt = 16
)

// frame is a coroutine that waits.
type frame struct {
	at     mem.Addr
	kind   *kind
	number uint64 // of the place
	known  bool   // that number
	size   int64  // bytes that are looked through
	held   bool   // something leads to it
	runs   bool   // a thread was in it
	outer  int    // the frame that it lies in, -1 for none: Clang puts one into another that alone has it
	refs   []ref
	part   moment.Part
}

// ref is a pointer to another frame, or to the promise of one.
type ref struct {
	offset int64
	to     mem.Addr
}

// scan is what was found of coroutines at one moment.
type scan struct {
	suspended.Scan
	r      *Runtime
	s      *snapshot.Snapshot
	frames []frame
	number map[mem.Addr]int // of frames
}

func (r *Runtime) newScan(s *snapshot.Snapshot) *scan {
	c := &scan{r: r, s: s, number: map[mem.Addr]int{}}
	c.Scan = r.searched.Scan(search.Memory{Table: r.table, Budget: r.budget, Also: isData, Dead: r.unused(s)})
	return c
}

// isData reports whether a mapping is data of a module: frames may lie there too, and what leads to one.
func isData(m *maps.Mapping) bool {
	const data = maps.Read | maps.Write
	return m.Inode != 0 && m.Perm&(data|maps.Shared) == data
}

// unused are the stacks of threads below what they use.
func (r *Runtime) unused(s *snapshot.Snapshot) (all maps.Spans) {
	const redZone = 128
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Registers == nil {
			continue
		}
		sp, ok := t.Registers.SP()
		if m := r.table.Find(sp); ok && m != nil && sp >= m.Start+redZone {
			all = append(all, maps.Span{Start: m.Start, End: (sp - redZone) &^ (wordSize - 1)})
		}
	}
	slices.SortFunc(all, func(a, b maps.Span) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// Read implements suspended.Finder: it reads all twice, and leaves out what was not the same.
func (c *scan) Read() (found int, err error) {
	c.find()
	c.Moment.Part()
	for i := range c.frames {
		f := &c.frames[i]
		c.read(f.at, f.kind)
		c.refer(i)
		f.part = c.Moment.Part()
	}
	c.Settle()
	c.frames = slices.DeleteFunc(c.frames, func(f frame) bool { return !c.Stayed(f.part) })
	c.nest()
	c.count()
	if len(c.frames) > 0 {
		c.keepHeads()
		c.findHolders()
		c.findRunning()
	}
	return len(c.frames), c.Moment.Err()
}

// find finds frames by their first word.
func (c *scan) find() {
	words := search.NewWords()
	for i := range c.r.kinds {
		words.Add(uint64(c.r.kinds[i].resume.start), i)
	}
	var found []frame
	c.Each(func(at mem.Addr, b []byte) bool {
		return words.In(b, func(offset, number int) bool {
			if len(found) == suspended.MaxObjects {
				c.Full = true
				return false
			}
			found = append(found, frame{at: at + mem.Addr(offset), kind: &c.r.kinds[number]})
			return true
		})
	})
	for i := range found {
		if f, ok := c.read(found[i].at, found[i].kind); ok {
			c.frames = append(c.frames, f)
		}
	}
	slices.SortFunc(c.frames, func(a, b frame) int { return cmp.Compare(a.at, b.at) })
	c.nest()
	c.count()
}

// nest finds which frames lie in others, and clips those of which it is not known how large they are.
func (c *scan) nest() {
	var open []int
	for i := range c.frames {
		f := &c.frames[i]
		for len(open) > 0 && !c.frames[open[len(open)-1]].holds(f.at) {
			open = open[:len(open)-1]
		}
		f.outer = -1
		if len(open) > 0 {
			f.outer = open[len(open)-1]
			end := c.frames[f.outer].at + mem.Addr(c.frames[f.outer].size)
			f.size = min(max(f.kind.index.offset+wordSize, 2*headSize)&^(wordSize-1), int64(end-f.at))
		} else if f.size == unknownSize && i+1 < len(c.frames) {
			f.size = min(f.size, int64(c.frames[i+1].at-f.at))
		}
		open = append(open, i)
	}
}

// outermost is the frame that lies in no other, of those that frame i lies in.
func (c *scan) outermost(i int) int {
	for c.frames[i].outer >= 0 {
		i = c.frames[i].outer
	}
	return i
}

// count numbers the frames.
func (c *scan) count() {
	clear(c.number)
	for i := range c.frames {
		c.number[c.frames[i].at] = i
	}
}

// read reads the frame at a, false if there is none that waits.
func (c *scan) read(at mem.Addr, k *kind) (frame, bool) {
	f := frame{at: at, kind: k, size: c.sizeOf(at)}
	fields := c.View.Fields(at)
	resume, ends := fields.Addr(0), fields.Addr(frameEnds)
	if fields.Err != nil || resume != k.resume.start || !slices.Contains(k.destroy, ends) {
		return f, false
	}
	if k.index.size > 0 {
		n, err := c.View.Uint(at+mem.Addr(k.index.offset), k.index.size)
		if f.number, f.known = n, err == nil; k.gcc && n%2 != 0 {
			return f, false // it is being ended
		}
	}
	if !c.r.leads(placeKey{k, f.number}) {
		return f, false
	}
	return f, !k.gcc || f.size != unknownSize || c.hasSelf(&f)
}

// keepHeads reads again what tells how large frames are. It changes with what is in front of them, so that it is of no
// part of theirs, but a replay takes it.
func (c *scan) keepHeads() {
	for i := range c.frames {
		if f := &c.frames[i]; f.outer < 0 {
			_, _ = c.View.Word(f.at - wordSize) // what cannot be read is not kept
			c.hasSelf(f)
		}
	}
}

// hasSelf reports whether a frame has its own address behind its promise, as those of GCC have: code that makes frames
// has the two functions side by side on the stack, too.
func (c *scan) hasSelf(f *frame) bool {
	for offset := mem.Addr(promiseAt); offset < unknownSize; offset += wordSize {
		if w, ok := c.Moment.Peek(f.at + offset); ok && mem.Addr(w) == f.at {
			_, err := c.View.Word(f.at + offset)
			return err == nil
		}
	}
	return false
}

// Bounds of what is looked through of one frame, bytes.
const (
	unknownSize = 512
	maxSize     = 16 << 10
)

// holds reports whether a is in what is looked through of f.
func (f *frame) holds(a mem.Addr) bool { return f.at <= a && a < f.at+mem.Addr(f.size) }

// sizeOf is how many bytes of the frame at a are looked through: what malloc(3) of glibc has given, where it is that.
func (c *scan) sizeOf(at mem.Addr) int64 {
	const flags, least = 7, 32
	if head, ok := c.Moment.Peek(at - wordSize); ok {
		if n := int64(head &^ flags); n >= least && n <= maxSize && n%16 == 0 {
			return n - wordSize
		}
	}
	return unknownSize
}

// refer notes the pointers to other frames in frame i.
func (c *scan) refer(i int) {
	f := &c.frames[i]
	inner := c.frames[i+1:]
	for offset := int64(headSize); offset < f.size; offset += wordSize {
		at := f.at + mem.Addr(offset)
		for len(inner) > 0 && inner[0].at+mem.Addr(inner[0].size) <= at {
			inner = inner[1:]
		}
		if len(inner) > 0 && inner[0].at <= at {
			continue
		}
		w, ok := c.Moment.Peek(at)
		if !ok {
			if !c.r.searched.Replayed { // a recording has those words that are pointers
				_, err := c.View.Word(at)
				c.Miss(err)
			}
			continue
		}
		to, ok := c.frameOf(mem.Addr(w))
		if !ok || to == f.at {
			continue
		}
		if again, err := c.View.Word(at); err == nil && again == w {
			f.refs = append(f.refs, ref{offset, to})
		}
	}
}

// frameOf is the frame that a pointer leads to, itself or its promise.
func (c *scan) frameOf(a mem.Addr) (mem.Addr, bool) {
	for _, at := range [...]mem.Addr{a, a - promiseAt} {
		if _, ok := c.number[at]; ok {
			return at, true
		}
	}
	return 0, false
}

// findHolders finds out to which frames a pointer leads from elsewhere: to any part of one, as what is awaited may lie
// in it and be in a list.
func (c *scan) findHolders() {
	for i := range c.s.Threads {
		c.eachWord(&c.s.Threads[i], func(w mem.Addr) { c.hold(w, 0) })
	}
	const looks = 2 // a pointer may go meanwhile from what is still to be looked at to what was
	for n := 0; n < looks && slices.ContainsFunc(c.frames, func(f frame) bool { return !f.held }); n++ {
		if !c.lookForHolders() { // what leads to one may be in the rest
			for i := range c.frames {
				c.frames[i].held = true
			}
		}
	}
	for i := range c.frames {
		f := &c.frames[i]
		f.held = f.held || f.outer >= 0 && c.frames[f.outer].held
	}
}

// lookForHolders does so in all memory, false if that was cut.
func (c *scan) lookForHolders() bool {
	pages := newPages(c.frames)
	all := c.Anywhere()
	extent := all.Each(func(at mem.Addr, b []byte) bool {
		for i := 0; i+wordSize <= len(b); i += wordSize {
			if w := mem.Addr(order.Uint64(b[i:])); pages.may(w) {
				c.hold(w, at+mem.Addr(i))
			}
		}
		return true
	})
	return extent.Whole()
}

// hold notes that a word at from leads to the frame that a is in, unless it is of that frame itself.
func (c *scan) hold(a, from mem.Addr) {
	i, found := slices.BinarySearchFunc(c.frames, a, func(f frame, a mem.Addr) int { return cmp.Compare(f.at, a) })
	if !found {
		i--
	}
	for i >= 0 && !c.frames[i].holds(a) {
		i = c.frames[i].outer
	}
	if i < 0 || c.frames[i].held || c.frames[c.outermost(i)].holds(from) {
		return
	}
	for ; i >= 0; i = c.frames[i].outer {
		c.frames[i].held = true
	}
	if c.r.keep != nil && from != 0 {
		c.r.keep(mem.Range{Start: from, Data: order.AppendUint64(nil, uint64(a))})
	}
}

// pages are those that frames lie in, by some bits of their addresses.
type pages [1 << (pageBits - 6)]uint64

const (
	pageShift = 12
	pageBits  = 16
)

func newPages(frames []frame) *pages {
	p := new(pages)
	for i := range frames {
		for at := frames[i].at >> pageShift; at <= (frames[i].at+mem.Addr(frames[i].size))>>pageShift; at++ {
			p[at%(1<<pageBits)/64] |= 1 << (at % 64)
		}
	}
	return p
}

// may reports whether a may be in a frame.
func (p *pages) may(a mem.Addr) bool {
	at := a >> pageShift
	return p[at%(1<<pageBits)/64]>>(at%64)&1 != 0
}

// findRunning finds the frames that a thread was in: a place of their code and the frame itself were on its stack.
func (c *scan) findRunning() {
	for i := range c.s.Threads {
		t := &c.s.Threads[i]
		in := map[*kind]bool{}
		c.eachWord(t, func(w mem.Addr) {
			if k := c.r.kindOf(w); k != nil {
				in[k] = true
			}
		})
		if len(in) == 0 {
			continue
		}
		c.eachWord(t, func(w mem.Addr) {
			if at, ok := c.frameOf(w); ok && in[c.frames[c.number[at]].kind] {
				c.frames[c.number[at]].runs = true
			}
		})
	}
}

// eachWord gives yield the registers of a thread and the words of its stack. Of a thread that is not in a function of a
// coroutine it is only those registers that such a function may have something in while it calls others.
func (c *scan) eachWord(t *snapshot.Thread, yield func(mem.Addr)) {
	if t.Registers == nil || !c.r.budget.Spend(int64(len(t.Stack.Data))) {
		return
	}
	p := c.r.port
	pc, _ := t.Registers.PC()
	inside := c.r.kindOf(pc) != nil
	yield(pc)
	for i := p.first; i <= p.last; i++ {
		if !inside && !p.keeps(i) {
			continue
		}
		if w, ok := t.Registers.Get(i); ok {
			yield(mem.Addr(w))
		}
	}
	b := t.Stack.Data
	for b = b[min(len(b), int(-t.Stack.Start&(wordSize-1))):]; len(b) >= wordSize; b = b[wordSize:] {
		yield(mem.Addr(order.Uint64(b)))
	}
}
