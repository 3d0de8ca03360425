package cpython

import (
	"cmp"
	gomaps "maps"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// Bounds of one process.
const (
	maxInterpreters = 64
	maxThreads      = 1 << 13
)

// roster is the interpreters of a process and the states of their threads, as they were at some moment. New ones are
// put in front of the lists, so that their heads tell whether there are more; a new head may lie where the last one
// did. It is not changed after it was made.
type roster struct {
	interpreters mem.Addr // the head of the list
	interps      []interpreter
	byIdent      map[mem.Addr]mem.Addr // states of the main interpreter, by pthread_self
	stacks       []stackOf             // where stacks of threads are, ascending, also of some that have ended
	head         identity              // of the first state of the main interpreter
	unsettled    bool                  // a thread has begun, and is not known by its own pthread_self yet
	oldest       mem.Addr              // the first of them: of the thread that began the interpreter
	main         mem.Span[mem.Addr]    // the stack of the main thread
	table        *maps.Table           // where the stacks were found
	others       []mem.Addr            // states of other interpreters: any thread may run them
}

type interpreter struct {
	addr    mem.Addr
	threads mem.Addr // the head of its list
	gil     mem.Addr // 0 for none, or one for all
	id      int64
}

// stackOf is the mapping that holds the stack of a thread, below its pthread_self: [start, end).
type stackOf struct{ start, end mem.Addr }

// identity tells a state from another at the same address.
type identity struct{ ident, next mem.Addr }

// mainGrowth is how far the main thread's stack may have grown since the mappings were read, bytes.
const mainGrowth = 8 << 20

// placed finds the stacks of the threads of o, which holds for glibc: it puts pthread_self on top of a stack that it
// has made, and gives that of a thread that has ended to the next. The main thread's is elsewhere. Those that old knew
// are kept while their mapping is there.
func (o *roster) placed(table *maps.Table, old *roster) {
	o.table = table
	for ident := range o.byIdent {
		if m := table.Find(ident); m != nil {
			o.stacks = append(o.stacks, stackOf{m.Start, ident})
		}
	}
	for _, s := range old.stacks {
		m := table.Find(s.end)
		if m != nil && m.Start == s.start && o.byIdent[s.end] == 0 && len(o.stacks) < maxThreads {
			o.stacks = append(o.stacks, s)
		}
	}
	for i := range table.All() {
		if m := &table.All()[i]; m.Path == mainStack {
			o.main = mem.Span[mem.Addr]{Start: m.Start - min(m.Start, mainGrowth), End: m.End}
		}
	}
	slices.SortFunc(o.stacks, func(a, b stackOf) int { return cmp.Compare(a.end, b.end) })
}

// keepStacks takes over where the stacks of threads are that old knew: new ones are found when the mappings are read.
func (o *roster) keepStacks(old *roster) { o.main, o.stacks, o.table = old.main, old.stacks, old.table }

// identFor returns the pthread_self of t, 0 if it is not known. That of a thread that was never stopped is found by its
// stack.
func (o *roster) identFor(t *snapshot.Thread) mem.Addr {
	if t.HasTP {
		return t.TP
	}
	if t.Syscall == nil {
		return 0
	}
	i, _ := slices.BinarySearchFunc(o.stacks, t.Syscall.SP, func(s stackOf, sp mem.Addr) int {
		return cmp.Compare(s.end, sp)
	})
	if i < len(o.stacks) && o.stacks[i].start <= t.Syscall.SP {
		return o.stacks[i].end
	}
	own := mem.Addr(0) // of a stack that is new since the mappings were read: in what was copied of it
	for ident := range o.byIdent {
		if _, on := t.Stack.Bytes(ident, wordSize); on && ident > t.Syscall.SP && (own == 0 || ident < own) {
			own = ident
		}
	}
	return own
}

// of returns the state of t in the main interpreter, 0 if it has none.
func (o *roster) of(t *snapshot.Thread) mem.Addr {
	if ident := o.identFor(t); ident != 0 {
		return o.byIdent[ident]
	}
	if !t.HasTP && t.Syscall != nil && o.main.Holds(t.Syscall.SP) {
		return o.oldest
	}
	return 0
}

// states are the states of all threads.
func (o *roster) states() []mem.Addr {
	return append(slices.Sorted(gomaps.Values(o.byIdent)), o.others...)
}

// maxOthers bounds the states of other interpreters that are read for each thread.
const maxOthers = 64

// readRoster reads the lists from m. What changes meanwhile may be missing.
func (r *Runtime) readRoster(m object.Memory) *roster {
	l := r.layout
	out := &roster{byIdent: map[mem.Addr]mem.Addr{}}
	head, ok := object.Pointer(m, r.at+mem.Addr(l.Runtime.Interpreters))
	out.interpreters = head
	for at := head; ok && at != 0 && len(out.interps) < maxInterpreters; {
		in := interpreter{addr: at}
		in.threads, _ = object.Pointer(m, at+mem.Addr(l.Interp.Threads))
		if id, ok := object.Pointer(m, at+mem.Addr(l.Interp.ID)); ok {
			in.id = int64(id)
		}
		if l.Interp.GIL != 0 {
			in.gil, _ = object.Pointer(m, at+mem.Addr(l.Interp.GIL))
		}
		out.interps = append(out.interps, in)
		at, ok = object.Pointer(m, at+mem.Addr(l.Interp.Next))
	}
	// The main interpreter was made first, so that it is the last.
	for i := len(out.interps) - 1; i >= 0; i-- {
		r.readThreads(m, out, &out.interps[i], i == len(out.interps)-1)
	}
	return out
}

func (r *Runtime) readThreads(m object.Memory, out *roster, in *interpreter, main bool) {
	at, bare := in.threads, map[mem.Addr]bool{}
	for n := 0; at != 0 && n < maxThreads; n++ {
		b, ok := m.Bytes(at, r.layout.Thread.Size)
		if !ok {
			return
		}
		t := r.layout.ThreadOf(at, b)
		if t.Interp != in.addr {
			return
		}
		if main {
			if n == 0 {
				out.head = identity{t.ThreadID, t.Next}
			}
			out.add(&t, bare)
		} else if len(out.others) < maxOthers {
			out.others = append(out.others, at)
		}
		at = t.Next
	}
}

// add adds a state of the main interpreter; the newest of a thread comes first. The state of a thread that just begins
// has the pthread_self of the thread that began it up to 3.11, none later, and no frames: it takes no other's place.
// bare are those so far whose state has no frames.
func (o *roster) add(t *object.Thread, bare map[mem.Addr]bool) {
	o.oldest = t.Addr
	begins := t.Frame == 0 && (t.CFrame == 0 || within(t, t.CFrame))
	_, had := o.byIdent[t.ThreadID]
	if t.ThreadID == 0 || had {
		o.unsettled = true
	}
	if !had || bare[t.ThreadID] && !begins {
		o.byIdent[t.ThreadID], bare[t.ThreadID] = t.Addr, begins
	}
}

// within reports whether a lies in the state t.
func within(t *object.Thread, a mem.Addr) bool {
	const size = 1 << 10 // bytes of a state at most
	return a >= t.Addr && a-t.Addr < size
}
