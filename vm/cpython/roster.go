package cpython

import (
	"github.com/fpstack/fpstack/mem"
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
	byNative     map[int]mem.Addr      // the same by the kernel's number
	others       []mem.Addr            // states of other interpreters: any thread may run them
}

type interpreter struct {
	addr    mem.Addr
	threads mem.Addr // the head of its list
	gil     mem.Addr // 0 for none, or one for all
	id      int64
}

// maxOthers bounds the states of other interpreters that are read for each thread.
const maxOthers = 64

func pointer(m object.Memory, a mem.Addr) (mem.Addr, bool) {
	b, ok := m.Bytes(a, wordSize)
	if !ok {
		return 0, false
	}
	return mem.Addr(order.Uint64(b)), true
}

// readRoster reads the lists from m. What changes meanwhile may be missing.
func (r *Runtime) readRoster(m object.Memory) *roster {
	l := r.layout
	out := &roster{byIdent: map[mem.Addr]mem.Addr{}, byNative: map[int]mem.Addr{}}
	head, ok := pointer(m, r.at+mem.Addr(l.Runtime.Interpreters))
	out.interpreters = head
	for at := head; ok && at != 0 && len(out.interps) < maxInterpreters; {
		in := interpreter{addr: at}
		in.threads, _ = pointer(m, at+mem.Addr(l.Interp.Threads))
		if id, ok := pointer(m, at+mem.Addr(l.Interp.ID)); ok {
			in.id = int64(id)
		}
		if l.Interp.GIL != 0 {
			in.gil, _ = pointer(m, at+mem.Addr(l.Interp.GIL))
		}
		out.interps = append(out.interps, in)
		at, ok = pointer(m, at+mem.Addr(l.Interp.Next))
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
			if t.NativeID != 0 {
				out.byNative[t.NativeID] = at
			}
		} else if len(out.others) < maxOthers {
			out.others = append(out.others, at)
		}
		at = t.Next
	}
}
