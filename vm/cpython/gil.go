package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

const (
	gilOffset = 8   // in struct _gil_runtime_state, of last_holder
	gilSize   = 16  // last_holder and locked
	gilQueue  = 72  // and the condition variable of those who wait
	gilBefore = 8   // bytes of the struct before last_holder
	gilBehind = 240 // and behind it, with its mutex and condition variables

	// A free-threaded build has an int in front that is 0 while there is no GIL: an extension or PYTHON_GIL=1 brings it
	// back. Source: Include/internal/pycore_gil.h.
	gilEnabled = 16 // bytes before last_holder
)

// gil is a lock of one interpreter, or of all.
type gil struct {
	at     mem.Addr // of last_holder
	interp int64    // the interpreter's number; 0 for the main one, or all
}

// gils lists the locks of the process. Nobody holds one of a free-threaded build while it is off.
func (r *Runtime) gils() []gil {
	o, l := r.roster.Load(), r.layout
	if len(o.interps) == 0 {
		return nil
	}
	if l.Runtime.GIL != 0 {
		return []gil{{at: r.at + mem.Addr(l.Runtime.GIL)}}
	}
	var out []gil
	seen := map[mem.Addr]bool{}
	for i := len(o.interps) - 1; i >= 0; i-- {
		if in := &o.interps[i]; in.gil != 0 && !seen[in.gil] { // interpreters may share one
			seen[in.gil] = true
			out = append(out, gil{r.holderAt(in.gil), in.id})
		}
	}
	return out
}

// holderAt is where the lock at a has last_holder.
func (r *Runtime) holderAt(a mem.Addr) mem.Addr {
	if r.layout.FreeThreaded {
		return a + gilEnabled
	}
	return a + gilOffset
}

// holder returns the state of the thread that holds g, 0 if nobody does; false if that is not known.
func (g *gil) holder(m *view.View) (mem.Addr, bool) {
	b, ok := m.Bytes(g.at, gilSize)
	if !ok {
		return 0, false
	}
	return holderIn(b), true
}

func holderIn(b []byte) mem.Addr {
	if order.Uint32(b[8:]) != 1 { // not locked
		return 0
	}
	return mem.Addr(order.Uint64(b))
}

// off reports whether g is one of a free-threaded build which does without.
func (g *gil) off(l *object.Layout, m *view.View) bool {
	b, ok := m.Bytes(g.at-gilEnabled, 4)
	return l.FreeThreaded && ok && order.Uint32(b) == 0
}

// want is what is copied of g.
func (g *gil) want(l *object.Layout) snapshot.Want {
	if l.FreeThreaded {
		return snapshot.Want{Addr: g.at - gilEnabled, Len: gilEnabled + gilQueue}
	}
	return snapshot.Want{Addr: g.at, Len: gilQueue}
}

// waiters are the threads of s that wait for g: they sleep on a word of it, by the registers of their stop, or where
// they were not stopped by their call; or, with musl, on a word of a node in the list of its condition variable.
func (r *Runtime) waiters(g *gil, s *snapshot.Snapshot, live mem.Reader) map[int]bool {
	out := map[int]bool{}
	var nodes map[mem.Addr]bool
	for i := range s.Threads {
		t := &s.Threads[i]
		word, ok := futexOf(t)
		switch {
		case !ok:
		case g.span().Holds(word):
			out[t.TID] = true
		case t.Stack.Start == 0 || t.Stack.Start <= word && word < t.Stack.End():
			if nodes == nil {
				nodes = r.muslNodes(g, s, live)
			}
			out[t.TID] = nodes[word]
		}
	}
	return out
}

// A condition variable of musl begins a list of those who wait for it: nodes on their stacks, each with its neighbours
// and the word that its thread sleeps on.
// Source: struct waiter in src/thread/pthread_cond_timedwait.c of musl.
const (
	muslNext    = 8
	muslBarrier = 20
)

// muslNodes are the words that threads of s sleep on which wait for a condition variable in g. It is read as it was
// copied in the stop, else as it is now. What refers to no node leads to words that nobody sleeps on.
func (r *Runtime) muslNodes(g *gil, s *snapshot.Snapshot, live mem.Reader) map[mem.Addr]bool {
	var copied []mem.Range
	for i := range s.Threads {
		copied = append(append(copied, s.Threads[i].Stack), s.Threads[i].Copied...)
	}
	m := r.reading(s.Over(nil, copied...), live, maxCopiedSteps)
	heads, _ := m.Words(g.at, gilQueue/8)
	out := map[mem.Addr]bool{}
	for _, head := range heads {
		for node, left := mem.Addr(head), len(s.Threads); node != 0 && node%8 == 0 && left > 0; left-- {
			next, err := m.Word(node + muslNext)
			if err != nil {
				break
			}
			out[node+muslBarrier], node = true, mem.Addr(next)
		}
	}
	return out
}

func (g *gil) span() mem.Span[mem.Addr] {
	return mem.Span[mem.Addr]{Start: g.at - gilBefore, End: g.at + gilBehind}
}

func (g *gil) name() string {
	if g.interp == 0 {
		return "the GIL"
	}
	return fmt.Sprintf("the GIL of interpreter %d", g.interp)
}

// owners says which threads run what, as their stacks show it.
type owners struct {
	states map[mem.Addr]*snapshot.Thread // by states of any interpreter
	frames map[mem.Addr]int              // by frames of Python
	interp map[int]int64                 // the interpreter besides the main one that a thread is in
}

// maxOwned bounds the frames of which it is kept which thread runs them.
const maxOwned = 1 << 20

// ownersIn reads what the threads of s run, of each once.
func (r *Runtime) ownersIn(s *snapshot.Snapshot) owners {
	out := owners{map[mem.Addr]*snapshot.Thread{}, map[mem.Addr]int{}, map[int]int64{}}
	o, left := r.roster.Load(), int64(maxCopiedSteps)
	for i := range s.Threads {
		t := &s.Threads[i]
		if at := o.of(t); at != 0 && out.states[at] == nil {
			out.states[at] = t
		}
		if len(t.Copied) == 0 || left <= 0 {
			continue
		}
		m := r.of(s, t)
		m.Within(left)
		chains, _ := r.chainsOf(t, m)
		left = m.Left()
		for k := range chains {
			c := &chains[k]
			out.states[c.state.Addr] = t
			for n := range o.interps {
				if in := &o.interps[n]; in.addr == c.state.Interp && in.id != 0 {
					out.interp[t.TID] = in.id
				}
			}
			for n := range c.frames[:min(len(c.frames), max(0, maxOwned-len(out.frames)))] {
				out.frames[c.frames[n].Addr] = t.TID
			}
		}
	}
	return out
}

// CopyHolder implements vm.LockHolder.
func (r *Runtime) CopyHolder() { r.holders = true }

// copyHolders copies who holds the locks of the interpreters.
func (r *Runtime) copyHolders(f *snapshot.Fetcher) {
	if at := r.layout.Runtime.GIL; at != 0 {
		f.Fetch(snapshot.Want{Addr: r.at + mem.Addr(at), Len: gilQueue})
		return
	}
	o := r.roster.Load()
	for i := range o.interps {
		if at := o.interps[i].gil; at != 0 {
			f.Fetch(snapshot.Want{Addr: r.holderAt(at), Len: gilQueue})
		}
	}
}

// HoldsLock implements vm.LockHolder.
func (r *Runtime) HoldsLock(t *snapshot.Thread) bool {
	m := r.stopped(t, nil)
	own := r.roster.Load().of(t)
	for _, g := range r.gils() {
		state, known := g.holder(m)
		if !known || state == 0 {
			continue
		}
		if state == own {
			return true
		}
		b, ok := m.Bytes(state, r.layout.Thread.Size)
		if self, known := self(t); ok && known && r.layout.ThreadOf(state, b).ThreadID == self {
			return true // of another interpreter
		}
	}
	return false
}

// Locks implements vm.LockLister: the GIL is known by who holds it, an RLock by who has it, a thread that is joined by
// the object of its class.
func (r *Runtime) Locks(s *snapshot.Snapshot, _ func(tid int) *unwind.Stack) []waits.Lock {
	memory := s.Reader(nil, r.live)
	out := r.pyLocks(s, memory)
	own, live := r.ownersIn(s), r.reading(nil, memory, maxLiveSteps)
	for _, g := range r.gils() {
		lock := waits.Lock{Name: g.name(), Number: uint64(g.at), Retries: true}
		state, ok := g.holder(live)
		if !ok {
			continue
		}
		lock.Evidence = fmt.Sprintf("last_holder %#x at %#x, locked", uint64(state), uint64(g.at))
		if t := own.states[state]; state != 0 && t != nil {
			lock.Owner = t.TID
		}
		waiters := r.waiters(&g, s, memory)
		for i := range s.Threads {
			if tid := s.Threads[i].TID; waiters[tid] && tid != lock.Owner {
				lock.Waiters = append(lock.Waiters, tid)
			}
		}
		out = append(out, lock)
	}
	return out
}
