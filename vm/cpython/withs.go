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
// that one which is referred to still is of a block that lasts. From 3.14 on it has the method of the class there, and
// behind it the lock. What blocks that have ended left behind looks the same, but the frame says where its values end.
//
// Source: SETUP_WITH and BEFORE_WITH in Python/ceval.c and Python/bytecodes.c, LOAD_SPECIAL there and codegen_with in
// Python/codegen.c of 3.14; PyCFunctionObject in Include/cpython/methodobject.h, PyDescrObject in
// Include/cpython/descrobject.h.
const (
	methodType  = "builtin_function_or_method"
	descrType   = "method_descriptor"
	exitName    = "__exit__"
	methodSelf  = 8 // behind the definition, which begins behind the header
	descrName   = 8 // behind the class, which begins behind the header
	methodSize  = 16
	lastBound   = 13 // the minor version
	exitBefore  = 11 // up to this one, and behind lastBound, it is there already while the lock is waited for
	withFrames  = 16 // innermost frames of a thread that are looked at
	withValues  = 48 // words of each
	maxWithLock = 16
)

// withs are the locks of whose blocks t is inside, as often as it is; of its innermost frame apart.
type withs struct {
	inner, outer map[mem.Addr]int
	// enters are locks that the innermost frame only begins a block of, as far as its values tell.
	enters map[mem.Addr]bool
}

// withsOf reads them from m; what only tells what an object is, from search. prefetch is as of lockOf.
func (r *Runtime) withsOf(t *snapshot.Thread, search, m *view.View, prefetch func([]snapshot.Want)) withs {
	w := withs{map[mem.Addr]int{}, map[mem.Addr]int{}, map[mem.Addr]bool{}}
	if r.layout.FreeThreaded {
		return w
	}
	frames := r.innermostFrames(t, m, withFrames)
	seen := map[mem.Addr]bool{}
	for i := range frames {
		f, n, to := &frames[i], withValues, w.inner
		if i > 0 {
			to = w.outer
			// Frames follow each other: what lies behind is another's.
			begins := f.Addr + mem.Addr(r.layout.Frame.Locals)
			if next := frames[i-1].Addr; next > begins && next-begins < withValues*wordSize {
				n = int(next-begins) / wordSize
			}
		}
		if r.layout.Version.Minor > lastBound {
			r.blocksOf(f, n, search, m, prefetch, to)
		} else {
			at := r.exitsOf(f, n, search, m, prefetch, seen, to)
			if i == 0 && r.layout.Version.Minor > exitBefore {
				r.entersOf(f, n, search, m, at, w.enters)
			}
		}
	}
	return w
}

// entersOf adds to enters the locks whose __exit__ is not among the values of f before the lock itself, which is the
// last of them while the lock is waited for: what lies behind may be any object's that was there before, and be that
// of the method which is not among them yet. at is where the first __exit__ of each lock is.
func (r *Runtime) entersOf(f *object.Frame, n int, search, m *view.View, at map[mem.Addr]int,
	enters map[mem.Addr]bool) {
	header := mem.Addr(r.layout.Header)
	names, ok := object.Pointer(search, f.Code+mem.Addr(r.layout.Code.Variables[0]))
	variables, err := search.Word(names + header)
	words, ok2 := m.Bytes(f.Addr+mem.Addr(r.layout.Frame.Locals), n*wordSize)
	if !ok || err != nil || !ok2 {
		return
	}
	for lock, first := range at {
		entered := true
		for i := int(min(variables, uint64(n))); i < n; i++ {
			if mem.Addr(order.Uint64(words[i*wordSize:])) == lock {
				entered = first > i
				break
			}
		}
		if entered {
			enters[lock] = true
		}
	}
}

// blocksOf adds to locks those that stand behind the __exit__ of their class among the values of f, which are n words
// at most: of 3.14 and later.
func (r *Runtime) blocksOf(f *object.Frame, n int, search, m *view.View, prefetch func([]snapshot.Want),
	locks map[mem.Addr]int) {
	const tags = 7 // low bits say how a value is counted
	table, begins := r.roster.Load().table, f.Addr+mem.Addr(r.layout.Frame.Locals)
	if f.Top <= begins || f.Top%wordSize != 0 || table == nil {
		return
	}
	n = min(n, int((f.Top-begins)/wordSize))
	words, ok := m.Bytes(begins, n*wordSize)
	if !ok {
		return
	}
	value := func(i int) mem.Addr { return mem.Addr(order.Uint64(words[i*wordSize:])) &^ tags }
	var wants []snapshot.Want
	for i := range n {
		if in := table.Find(value(i)); in != nil && in.Perm&maps.Write != 0 && in.Perm&maps.Exec == 0 {
			wants = append(wants, snapshot.Want{Addr: value(i), Len: r.layout.Header + methodSize})
		}
	}
	if prefetch != nil {
		prefetch(wants)
	}
	for i := 0; i+1 < n && len(locks) < maxWithLock; i++ {
		if at, kind := r.isLock(value(i+1), search); at != 0 && kind == lockType && r.isExit(value(i), search) {
			locks[value(i+1)]++
		}
	}
}

// isExit reports whether the object at a is the method __exit__ of a class.
func (r *Runtime) isExit(a mem.Addr, search *view.View) bool {
	if t, ok := r.layout.TypeOf(search, a); !ok || t.Name != descrType {
		return false
	}
	name, ok := object.Pointer(search, a+mem.Addr(r.layout.Header)+descrName)
	if !ok {
		return false
	}
	text, ok := r.layout.StringAt(search, name)
	return ok && text == exitName
}

// exitsOf adds to locks those whose bound __exit__ is among the n values of f, and was not seen before. It returns
// which of the values the first of each is.
func (r *Runtime) exitsOf(f *object.Frame, n int, search, m *view.View, prefetch func([]snapshot.Want),
	seen map[mem.Addr]bool, locks map[mem.Addr]int) (first map[mem.Addr]int) {
	table := r.roster.Load().table
	header := r.layout.Header
	words, ok := m.Bytes(f.Addr+mem.Addr(r.layout.Frame.Locals), n*wordSize)
	if !ok || table == nil {
		return nil
	}
	first = map[mem.Addr]int{}
	var wants []snapshot.Want
	var places []int
	for i := range n {
		a := mem.Addr(order.Uint64(words[i*wordSize:]))
		if a%wordSize != 0 || seen[a] {
			continue
		}
		seen[a] = true
		if in := table.Find(a); in != nil && in.Perm&maps.Write != 0 && in.Perm&maps.Exec == 0 {
			wants, places = append(wants, snapshot.Want{Addr: a, Len: header + methodSize}), append(places, i)
		}
	}
	if prefetch != nil {
		prefetch(wants)
	}
	for i, want := range wants {
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
			if _, had := first[self]; !had {
				first[self] = places[i]
			}
			locks[self]++
		}
	}
	return first
}

// holdersByBlock completes those of locks that do not know who holds them by the blocks that threads of s are inside
// of: where it is one thread alone.
func (r *Runtime) holdersByBlock(s *snapshot.Snapshot, memory mem.Reader, locks []waits.Lock) {
	unowned := map[mem.Addr]*waits.Lock{}
	for i := range locks {
		if l := &locks[i]; l.Owner == 0 && !l.Gone && !l.Ends && l.Kind == (waits.Kind{}) {
			unowned[mem.Addr(l.Number)] = l
		}
	}
	if len(unowned) == 0 {
		return
	}
	found := map[mem.Addr][]holder{}
	for t, of := range r.eachThread(s, memory) {
		w := r.withsOf(t, of.search, of.m, nil)
		late := of.m.TakeLate() || t.Registers == nil
		for at, l := range unowned {
			n := w.outer[at] + w.inner[at]
			if w.inner[at] > 0 && waitsFor(l, t.TID) && (r.entersFirst() || w.enters[at]) {
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

// holder is a thread that has something; late says that what tells it may be of another moment.
type holder struct {
	tid  int
	late bool
}

// entersFirst reports whether __exit__ is among the values of a frame already while it waits for the lock.
func (r *Runtime) entersFirst() bool {
	minor := r.layout.Version.Minor
	return minor <= exitBefore || minor > lastBound
}

func waitsFor(l *waits.Lock, tid int) bool {
	for _, w := range l.Waiters {
		if w == tid {
			return true
		}
	}
	return false
}
