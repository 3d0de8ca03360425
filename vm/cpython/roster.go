package cpython

import (
	gomaps "maps"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of one process.
const (
	maxInterpreters = 64
	maxThreads      = 1 << 13
	maxOthers       = 64 // states of other interpreters that are read for each thread

	// What is read in a stop of those that are new; more are left to the next thread.
	maxFreshInterpreters = 4
	maxFresh             = 32
	maxBare              = 8
)

// roster is the interpreters of a process and the states of their threads, as they were at some moment. New ones are
// put in front of the lists, so that their heads tell whether there are more; a new head may lie where the last one
// did. It is not changed after it was made.
type roster struct {
	interpreters mem.Addr // the head of the list
	interps      []interpreter
	known        *threads      // of the main interpreter, as they were read at once
	fresh        []threadState // of those that were new since, the newest first
	partial      bool          // states may be missing: the lists are too long, or changed while they were read
	bare         []mem.Addr    // states of threads that begin, and are not known by their own numbers yet
	head         threadState   // the first state of the main interpreter
	oldest       mem.Addr      // the first of them: of the thread that began the interpreter
	table        *maps.Table   // of the last mappings
	others       []mem.Addr    // states of other interpreters: any thread may run them
}

type interpreter struct {
	addr    mem.Addr
	threads mem.Addr // the head of its list
	gil     mem.Addr // 0 for none, or one for all
	id      int64
}

// threadState is a state of a list as it was read.
type threadState struct {
	at, ident, next mem.Addr
	kernel          [2]int // what may be the kernel's number of its thread; 0 for none
	begins          bool   // it has no frames, and up to 3.11 maybe the numbers of the thread that made it
	stop            bool   // it was read in a stop
}

// threads are states of one list.
type threads struct {
	all      map[mem.Addr]threadState
	byIdent  map[mem.Addr]mem.Addr // by pthread_self
	byKernel map[int]mem.Addr
}

// newThreads makes them of a list whose newest comes first.
func newThreads(list []threadState) *threads {
	t := &threads{map[mem.Addr]threadState{}, map[mem.Addr]mem.Addr{}, map[int]mem.Addr{}}
	bare := func(at mem.Addr, had bool) bool { return !had || t.all[at].begins }
	for _, s := range list {
		t.all[s.at] = s
		if at, had := t.byIdent[s.ident]; s.ident != 0 && bare(at, had) && !(had && s.begins) {
			t.byIdent[s.ident] = s.at
		}
		for _, n := range s.kernel {
			if at, had := t.byKernel[n]; n != 0 && bare(at, had) && !(had && s.begins) {
				t.byKernel[n] = s.at
			}
		}
	}
	return t
}

// find returns the state of the main interpreter that is fits, among those that are new, or is at known; 0 for none.
// The state of a thread that just begins takes no other's place.
func (o *roster) find(fits func(*threadState) bool, known mem.Addr) mem.Addr {
	begins := mem.Addr(0)
	for i := range o.fresh {
		switch s := &o.fresh[i]; {
		case !fits(s):
		case !s.begins:
			return s.at
		case begins == 0:
			begins = s.at
		}
	}
	if known != 0 {
		return known
	}
	return begins
}

// of returns the state of t in the main interpreter, 0 if it has none or if that is not known: of a thread that was
// never stopped by the number that the kernel gave it.
func (o *roster) of(t *snapshot.Thread) mem.Addr {
	if o.known == nil {
		return 0
	}
	if own, ok := self(t); ok {
		return o.find(func(s *threadState) bool { return s.ident == own }, o.known.byIdent[own])
	}
	tid := t.InnerTID()
	return o.find(func(s *threadState) bool { return s.kernel[0] == tid || s.kernel[1] == tid }, o.known.byKernel[tid])
}

// state is what was read of the state at a.
func (o *roster) state(a mem.Addr) (threadState, bool) {
	for i := range o.fresh {
		if o.fresh[i].at == a {
			return o.fresh[i], true
		}
	}
	if o.known == nil {
		return threadState{}, false
	}
	s, ok := o.known.all[a]
	return s, ok
}

// identFor returns the pthread_self of t, if it has a state.
func (o *roster) identFor(t *snapshot.Thread) (mem.Addr, bool) {
	s, ok := o.state(o.of(t))
	return s.ident, ok
}

// states are the states of all threads.
func (o *roster) states() []mem.Addr {
	var all []mem.Addr
	for i := range o.fresh {
		all = append(all, o.fresh[i].at)
	}
	if o.known != nil {
		all = slices.AppendSeq(all, gomaps.Keys(o.known.all))
	}
	slices.Sort(all)
	return append(slices.Compact(all), o.others...)
}

// main is the main interpreter: it was made first, so that it is the last.
func (o *roster) main() *interpreter {
	if len(o.interps) == 0 {
		return nil
	}
	return &o.interps[len(o.interps)-1]
}

// Mapped reads which threads the interpreter has, while nothing is stopped: it is called when mappings have changed,
// as they do for a new thread.
func (r *Runtime) Mapped(set *module.Set) {
	r.set = set
	if r.live != nil {
		r.readLists(set.Table())
	}
}

// readLists reads the lists of the process as it runs.
func (r *Runtime) readLists(table *maps.Table) {
	var o *roster
	const tries = 5 // the lists change while they are read
	for n := 0; n < tries && (o == nil || o.partial); n++ {
		o = r.readRoster(r.running())
	}
	o.table = table
	r.roster.Store(o)
}

// readRoster reads the lists from m.
func (r *Runtime) readRoster(m *view.View) *roster {
	o := &roster{}
	o.partial = !r.readInterpreters(m, o, maxInterpreters)
	for i := range o.interps {
		list, whole := r.readThreads(m, &o.interps[i], &roster{}, maxThreads)
		o.partial = o.partial || !whole
		if i == len(o.interps)-1 {
			o.known = newThreads(list)
			o.markUnnumbered(list)
			if n := len(list); n > 0 {
				o.oldest = list[n-1].at
			}
		} else {
			o.addOthers(list)
		}
	}
	return o
}

// freshen reads from m, which is that of a stop, what is new in the lists since o was made, or a part of it.
func (r *Runtime) freshen(o *roster, m *view.View) *roster {
	out := *o
	out.fresh, out.interps, out.others = nil, nil, slices.Clone(o.others)
	whole := r.readInterpreters(m, &out, maxFreshInterpreters)
	for i := range o.interps { // those that were there
		in := o.interps[i]
		if !slices.ContainsFunc(out.interps, func(n interpreter) bool { return n.addr == in.addr }) {
			in.threads, _ = object.Pointer(m, in.addr+mem.Addr(r.layout.Interp.Threads))
			out.interps = append(out.interps, in)
		}
	}
	if out.known == nil {
		out.known = newThreads(nil)
	}
	for i := range out.interps {
		list, all := r.readThreads(m, &out.interps[i], o, maxFresh)
		whole = whole && all
		if i < len(out.interps)-1 {
			out.addOthers(list)
			continue
		}
		for _, at := range o.bare {
			if s, ok := r.readThread(m, out.main(), at); ok {
				list = append(list, s)
			}
		}
		for i := range list {
			list[i].stop = true
		}
		out.join(list, o.fresh)
		out.markUnnumbered(list)
	}
	out.partial = o.partial || !whole
	return &out
}

// has reports whether s is known, and as it was: then all that comes behind it is known too.
func (o *roster) has(s *threadState) bool {
	was, ok := o.state(s.at)
	was.stop = s.stop
	return ok && was == *s && s.ident != 0 && !s.begins && !o.partial || slices.Contains(o.others, s.at)
}

// skips returns what comes behind the state at a, number n of its list, where that need not be read again, as it was
// read in a stop, and what follows is not all known.
func (o *roster) skips(a mem.Addr, n int) (next mem.Addr, ok bool) {
	s, ok := o.state(a)
	return s.next, ok && s.stop && o.partial && n > 0
}

// join makes o.fresh of a list and of what was fresh before. When they are many they are known.
func (o *roster) join(list, before []threadState) {
	o.fresh = list
	for _, s := range before {
		if !slices.ContainsFunc(list, func(n threadState) bool { return n.at == s.at || n.ident == s.ident }) {
			o.fresh = append(o.fresh, s)
		}
	}
	if len(o.fresh) <= maxFresh {
		return
	}
	all := o.fresh
	for _, s := range o.known.all {
		if len(all) < maxThreads {
			all = append(all, s)
		}
	}
	o.known, o.fresh = newThreads(all), nil
}

// markUnnumbered notes which threads of the main interpreter, whose list begins with list, are not known by their own
// numbers.
func (o *roster) markUnnumbered(list []threadState) {
	o.bare = nil
	for i := range list {
		s := &list[i]
		same := func(n threadState) bool { return n.ident == s.ident && n.at != s.at }
		if s.ident == 0 || s.begins && (slices.ContainsFunc(list, same) || o.known.byIdent[s.ident] != s.at) {
			if len(o.bare) < maxBare {
				o.bare = append(o.bare, s.at)
			}
		}
	}
	if main := o.main(); len(list) > 0 && list[0].at == main.threads {
		o.head = list[0]
	}
}

func (o *roster) addOthers(list []threadState) {
	for i := range list {
		if !slices.Contains(o.others, list[i].at) && len(o.others) < maxOthers {
			o.others = append(o.others, list[i].at)
		}
	}
}

// readInterpreters reads the list of interpreters into o, so many at most. It reports whether that is all of it.
func (r *Runtime) readInterpreters(m *view.View, o *roster, most int) (whole bool) {
	l := &r.layout.Interp
	at, ok := object.Pointer(m, r.at+mem.Addr(r.layout.Runtime.Interpreters))
	for o.interpreters = at; ok && at != 0; {
		if len(o.interps) == most {
			return false
		}
		f := m.Fields(at)
		in := interpreter{addr: at, threads: f.Addr(int64(l.Threads)), id: int64(f.Word(int64(l.ID)))}
		if l.GIL != 0 {
			in.gil = f.Addr(int64(l.GIL))
		}
		at = f.Addr(int64(l.Next))
		if ok = f.Err == nil; ok {
			o.interps = append(o.interps, in)
		}
	}
	return ok
}

// readThreads reads the states of in from the first on, up to one that o has, so many at most. It reports whether all
// that come before it were read.
func (r *Runtime) readThreads(m *view.View, in *interpreter, o *roster, most int) (list []threadState, whole bool) {
	at := in.threads
	for n := 0; at != 0; n++ {
		if n == maxThreads {
			return list, false
		}
		if next, ok := o.skips(at, n); ok {
			at = next
			continue
		}
		s, ok := r.readThread(m, in, at)
		switch {
		case !ok, len(list) == most:
			return list, false
		case o.has(&s):
			return list, true
		}
		list = append(list, s)
		at = s.next
	}
	return list, true
}

// readThread reads the state of in at a.
func (r *Runtime) readThread(m *view.View, in *interpreter, a mem.Addr) (threadState, bool) {
	b, ok := m.Bytes(a, r.layout.Thread.Size)
	if !ok {
		return threadState{}, false
	}
	t := r.layout.ThreadOf(a, b)
	return threadState{at: a, ident: t.ThreadID, next: t.Next, kernel: r.kernelIDs(m, &t),
		begins: t.Frame == 0 && (t.CFrame == 0 || within(&t, t.CFrame))}, t.Interp == in.addr
}

// kernelIDs are what may be the number that the kernel has for the thread with that state, in its own namespace: as
// the state says it, or where it does not as glibc's or musl's structure of the thread has it. Whose it is shows when
// one of them is the number of the thread that it is taken for.
//
// Source: struct pthread in nptl/descr.h of glibc, tid behind the 704 bytes of the header and a list; struct pthread
// in src/internal/pthread_impl.h of musl.
func (r *Runtime) kernelIDs(m *view.View, t *object.Thread) (ids [2]int) {
	if r.layout.Thread.NativeID != 0 {
		ids[0] = t.NativeID
		return ids
	}
	if t.ThreadID == 0 {
		return ids
	}
	const most = 1 << 22 // PID_MAX_LIMIT of the kernel
	for i, offset := range machines[r.arch].tid {
		if n, err := m.Uint(t.ThreadID+offset, 4); err == nil && n < most {
			ids[i] = int(n)
		}
	}
	return ids
}

// within reports whether a lies in the state t.
func within(t *object.Thread, a mem.Addr) bool {
	const size = 1 << 10 // bytes of a state at most
	return a >= t.Addr && a-t.Addr < size
}
