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
// put in front of the lists, so that their heads tell whether there are more. It is not changed after it was made.
type roster struct {
	interpreters mem.Addr // the head of the list
	interps      []interpreter
	byIdent      map[mem.Addr]mem.Addr // states of the main interpreter, by pthread_self
	stacks       []stackOf             // the same by where the stacks are, ascending
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
type stackOf struct{ start, end, state mem.Addr }

// mainGrowth is how far the main thread's stack may have grown since the mappings were read, bytes.
const mainGrowth = 8 << 20

// placed finds the stacks of the threads of o, which holds for glibc: it puts pthread_self on top of a stack that it
// has made. The main thread's is elsewhere.
func (o *roster) placed(table *maps.Table) {
	o.table = table
	for ident, state := range o.byIdent {
		if m := table.Find(ident); m != nil {
			o.stacks = append(o.stacks, stackOf{m.Start, ident, state})
		}
	}
	for i := range table.All() {
		if m := &table.All()[i]; m.Path == "[stack]" {
			o.main = mem.Span[mem.Addr]{Start: m.Start - min(m.Start, mainGrowth), End: m.End}
		}
	}
	slices.SortFunc(o.stacks, func(a, b stackOf) int { return cmp.Compare(a.end, b.end) })
}

// keepStacks takes over where the stacks of threads are that old knew: new ones are found when the mappings are read.
func (o *roster) keepStacks(old *roster) {
	o.main, o.table = old.main, old.table
	for _, s := range old.stacks {
		if o.byIdent[s.end] == s.state {
			o.stacks = append(o.stacks, s)
		}
	}
}

// of returns the state of t in the main interpreter, 0 if it has none. A thread that was never stopped is found by its
// stack.
func (o *roster) of(t *snapshot.Thread) mem.Addr {
	if t.HasTP {
		return o.byIdent[t.TP]
	}
	if t.Syscall == nil {
		return 0
	}
	i, _ := slices.BinarySearchFunc(o.stacks, t.Syscall.SP, func(s stackOf, sp mem.Addr) int {
		return cmp.Compare(s.end, sp)
	})
	if i < len(o.stacks) && o.stacks[i].start <= t.Syscall.SP {
		return o.stacks[i].state
	}
	if o.main.Holds(t.Syscall.SP) {
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
	at := in.threads
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
			if _, ok := out.byIdent[t.ThreadID]; !ok { // the newest of a thread comes first
				out.byIdent[t.ThreadID] = at
			}
			out.oldest = at
		} else if len(out.others) < maxOthers {
			out.others = append(out.others, at)
		}
		at = t.Next
	}
}
