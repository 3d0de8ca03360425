package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// A threading.Lock does not record who holds it. A frame inside of `with lock:` does: up to 3.13 the bound method
// lock.__exit__ is among the values that it computes with until the block ends, and nobody else has that object, so
// that one which is referred to still is of a block that lasts. From 3.14 on the method is not bound there, and what
// blocks that have ended left behind looks the same.
//
// Source: SETUP_WITH and BEFORE_WITH in Python/ceval.c and Python/bytecodes.c, PyCFunctionObject in
// Include/cpython/methodobject.h.
const (
	methodType  = "builtin_function_or_method"
	exitName    = "__exit__"
	methodSelf  = 8 // behind the definition, which begins behind the header
	methodSize  = 16
	lastBound   = 13 // the minor version
	exitBefore  = 11 // up to this one it is there already while the lock is waited for
	withFrames  = 16 // innermost frames of a thread that are looked at
	withValues  = 48 // words of each
	maxWithLock = 16
)

// withs are the locks of whose blocks t is inside, as often as it is; of its innermost frame apart.
type withs struct{ inner, outer map[mem.Addr]int }

// withsOf reads them from m; what only tells what an object is, from search. prefetch is as of lockOf.
func (r *Runtime) withsOf(t *snapshot.Thread, search, m *view.View, prefetch func([]snapshot.Want)) withs {
	w := withs{map[mem.Addr]int{}, map[mem.Addr]int{}}
	state := r.roster.Load().of(t)
	b, ok := m.Bytes(state, r.layout.Thread.Size)
	if !ok || state == 0 || r.layout.Version.Minor > lastBound || r.layout.FreeThreaded {
		return w
	}
	var c chain
	c.walk(r.layout, m, r.layout.ThreadOf(state, b), withFrames)
	seen := map[mem.Addr]bool{}
	for i := range c.frames {
		f, n, to := &c.frames[i], withValues, w.inner
		if i > 0 {
			to = w.outer
			// Frames follow each other: what lies behind is another's.
			begins := f.Addr + mem.Addr(r.layout.Frame.Locals)
			if next := c.frames[i-1].Addr; next > begins && next-begins < withValues*wordSize {
				n = int(next-begins) / wordSize
			}
		}
		r.exitsOf(f, n, search, m, prefetch, seen, to)
	}
	return w
}

// exitsOf adds to locks those whose bound __exit__ is among the n values of f, and was not seen before.
func (r *Runtime) exitsOf(f *object.Frame, n int, search, m *view.View, prefetch func([]snapshot.Want),
	seen map[mem.Addr]bool, locks map[mem.Addr]int) {
	table := r.roster.Load().table
	header := r.layout.Header
	words, ok := m.Bytes(f.Addr+mem.Addr(r.layout.Frame.Locals), n*wordSize)
	if !ok || table == nil {
		return
	}
	var wants []snapshot.Want
	for ; len(words) >= wordSize; words = words[wordSize:] {
		a := mem.Addr(order.Uint64(words))
		if a%wordSize != 0 || seen[a] {
			continue
		}
		seen[a] = true
		if in := table.Find(a); in != nil && in.Perm&maps.Write != 0 && in.Perm&maps.Exec == 0 {
			wants = append(wants, snapshot.Want{Addr: a, Len: header + methodSize})
		}
	}
	if prefetch != nil {
		prefetch(wants)
	}
	for _, want := range wants {
		b, ok := m.Bytes(want.Addr, want.Len)
		if !ok || order.Uint32(b) == 0 || len(locks) == maxWithLock { // nobody refers to it
			continue
		}
		if t, ok := r.layout.TypeOf(search, want.Addr); !ok || t.Name != methodType {
			continue
		}
		self := mem.Addr(order.Uint64(b[header+methodSelf:]))
		if at, kind := r.isLock(self, search); at == 0 || kind != lockType {
			continue
		}
		name, ok := object.Pointer(search, mem.Addr(order.Uint64(b[header:])))
		if text, ok2 := search.Bytes(name, len(exitName)+1); ok && ok2 && string(text) == exitName+"\x00" {
			locks[self]++
		}
	}
}

// holdersByBlock completes those of locks that do not know who holds them by the blocks that threads of s are inside
// of: where it is one thread alone.
func (r *Runtime) holdersByBlock(s *snapshot.Snapshot, memory mem.Reader, locks []waits.Lock) {
	unowned := map[mem.Addr]*waits.Lock{}
	for i := range locks {
		if l := &locks[i]; l.Owner == 0 && !l.Gone && !l.Ends {
			unowned[mem.Addr(l.Number)] = l
		}
	}
	if len(unowned) == 0 {
		return
	}
	type holder struct {
		tid  int
		late bool
	}
	found := map[mem.Addr][]holder{}
	left := int64(maxLiveSteps)
	for i := range s.Threads {
		t := &s.Threads[i]
		if !r.reads(t) || r.roster.Load().of(t) == 0 {
			continue
		}
		m := r.reading(s.Reader(t, nil), memory, left)
		search := *m
		w := r.withsOf(t, &search, m, nil)
		left = min(m.Left(), search.Left())
		late := m.TakeLate() || t.Registers == nil
		for at, l := range unowned {
			n := w.outer[at] + w.inner[at]
			if r.layout.Version.Minor <= exitBefore && w.inner[at] > 0 && waitsFor(l, t.TID) {
				n--
			}
			if n > 0 {
				found[at] = append(found[at], holder{t.TID, late})
			}
		}
	}
	for at, who := range found {
		if l := unowned[at]; len(who) == 1 {
			l.Owner, l.Note, l.Instant = who[0].tid, "", l.Instant && !who[0].late
			l.Evidence = fmt.Sprintf("its __exit__ is among the values of a frame of thread %d: it is inside of with",
				l.Owner)
		}
	}
}

func waitsFor(l *waits.Lock, tid int) bool {
	for _, w := range l.Waiters {
		if w == tid {
			return true
		}
	}
	return false
}
