package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// A thread that waits for a lock of Python sleeps on a futex: up to 3.12 on that of a semaphore which the lock object
// points to, so that the object is found among what the functions of C have on the stack. From 3.13 on, of RLocks from
// 3.14 on, it sleeps on one of its own, in what it has put into the list of waiters, behind the address of the lock's
// byte.
//
// Source: lockobject and rlockobject in Modules/_threadmodule.c, struct wait_entry in Python/parking_lot.c,
// PyThread_allocate_lock in Python/thread_pthread.h, struct new_sem in nptl of glibc.
const (
	lockType  = "_thread.lock"
	rlockType = "_thread.RLock"

	lockField  = 0  // behind the header: the semaphore, or from 3.14 on the byte
	ownerField = 8  // of an RLock: pthread_self
	lockBytes  = 32 // with the count

	searched      = 2 << 10 // bytes of the stack that are searched for the object
	values        = 256     // bytes of the values of the innermost frame of Python
	maxCandidates = 96
)

// futexOf is the address of the futex that t sleeps on: by the registers of its stop, or where it was not stopped by
// its call. A wait with a time limit that an earlier stop interrupted goes on as restart_syscall, with the arguments
// that it had: what else goes on so has no lock at that address.
func futexOf(t *snapshot.Thread) (mem.Addr, bool) {
	call := t.Syscall
	if t.Registers != nil && t.Registers.Arch.Syscall != regs.NoReg {
		call = snapshot.CallOf(t.Registers)
	}
	const wait, waitBitset, command = 0, 9, 0x7f // futex(2)
	m := machines[t.Arch]
	if call == nil || m == nil || call.Number != m.futex && call.Number != m.restart {
		return 0, false
	}
	operation := call.Args[1] & command
	return mem.Addr(call.Args[0]), operation == wait || operation == waitBitset
}

// pyLock is a lock of Python that a thread waits for.
type pyLock struct {
	addr  mem.Addr // of the object; of a thread, where its end is waited for
	kind  string   // type name
	ident mem.Addr // pthread_self of who holds it, or of the thread whose end it is; 0 if nobody does, or unknown
	name  string   // of the thread whose end it is
	ends  bool
}

// lockOf finds the lock that t waits for: its object in search, where others are looked at that are none, and what
// that says in m. prefetch, where it is not nil, fetches what is read of many places next.
func (r *Runtime) lockOf(t *snapshot.Thread, search, m *view.View,
	prefetch func([]snapshot.Want)) (pyLock, bool) {
	word, ok := futexOf(t)
	if !ok {
		return pyLock{}, false
	}
	at, kind := r.lockObject(t, word, search, prefetch)
	l := pyLock{addr: at, kind: kind}
	if kind == rlockType {
		l.ident, _ = object.Pointer(m, at+mem.Addr(r.layout.Header+ownerField))
		return l, true
	}
	if self, function, ok := r.innermostSelf(t, m); ok {
		r.seenByFrame(&l, self, function, m)
	}
	return l, l.addr != 0
}

// lockObject finds the object of the lock whose waiter t sleeps on word.
func (r *Runtime) lockObject(t *snapshot.Thread, word mem.Addr, m *view.View,
	prefetch func([]snapshot.Want)) (mem.Addr, string) {
	if r.layout.Version.Minor >= 13 { // there RLocks have semaphores still
		at, ok := object.Pointer(m, word-wordSize)
		if ok && at > mem.Addr(r.layout.Header) {
			if at, kind := r.isLock(at-mem.Addr(r.layout.Header+lockField), m); at != 0 {
				return at, kind
			}
		}
		if r.layout.Version.Minor >= 14 {
			return 0, ""
		}
	}
	sp, data := t.Stack.Start, t.Stack.Data
	if at, ok := t.SP(); ok && at > sp && at-sp < mem.Addr(len(data)) {
		data = data[at-sp:]
	}
	words := append([]byte(nil), data[:min(len(data), searched)]...)
	if f := r.innermostFrames(t, m, 1); len(f) > 0 { // the values that it computes with
		if b, ok := m.Bytes(f[0].Addr+mem.Addr(r.layout.Frame.Locals), values); ok {
			words = append(words, b...)
		}
	}
	wants := r.candidates(t, words)
	if prefetch != nil {
		prefetch(wants)
	}
	for _, w := range wants {
		if b, ok := m.Bytes(w.Addr, w.Len); ok && mem.Addr(order.Uint64(b[r.layout.Header+lockField:])) == word {
			if at, kind := r.isLock(w.Addr, m); at != 0 {
				return at, kind
			}
		}
	}
	return 0, ""
}

// candidates are what may be objects of the words that t has on its stack.
func (r *Runtime) candidates(t *snapshot.Thread, words []byte) (wants []snapshot.Want) {
	table := r.roster.Load().table
	seen := map[mem.Addr]bool{}
	for ; len(words) >= wordSize && len(wants) < maxCandidates && table != nil; words = words[wordSize:] {
		a := mem.Addr(order.Uint64(words))
		if a%wordSize != 0 || seen[a] {
			continue
		}
		seen[a] = true
		if in := table.Find(a); in != nil && in.Perm&maps.Write != 0 && (a < t.Stack.Start || a >= t.Stack.End()) {
			wants = append(wants, snapshot.Want{Addr: a, Len: r.layout.Header + lockBytes})
		}
	}
	return wants
}

// isLock returns a with its type if that is a lock, else 0.
func (r *Runtime) isLock(a mem.Addr, m *view.View) (mem.Addr, string) {
	if t, ok := r.layout.TypeOf(m, a); ok && (t.Name == lockType || t.Name == rlockType) {
		return a, t.Name
	}
	return 0, ""
}

// innermostFrames are the innermost frames of Python of t, most at the most; nil where there are none.
func (r *Runtime) innermostFrames(t *snapshot.Thread, m *view.View, most int) []object.Frame {
	state := r.roster.Load().of(t)
	b, ok := m.Bytes(state, r.layout.Thread.Size)
	if !ok || state == 0 {
		return nil
	}
	var c chain
	c.walk(r.layout, m, r.layout.ThreadOf(state, b), most)
	return c.frames
}

// innermostSelf is the variable self of the innermost frame of Python of t, and the name of its function, where that
// is one of module threading.
func (r *Runtime) innermostSelf(t *snapshot.Thread, m *view.View) (self mem.Addr, function string, ok bool) {
	frames := r.innermostFrames(t, m, 1)
	if len(frames) == 0 {
		return 0, "", false
	}
	f := &frames[0]
	function, file, ok := r.functionOf(f, m)
	if !ok || libraryFile(file) != threadingFile {
		return 0, "", false
	}
	self = r.selfOf(f, m)
	return self, function, self != 0
}

// seenByFrame completes l by what a function of module threading waits for: an RLock that is written in Python knows
// its owner, and a thread that is joined who it is.
func (r *Runtime) seenByFrame(l *pyLock, self mem.Addr, function string, m *view.View) {
	number := func(name string) mem.Addr {
		at, _ := r.layout.Attribute(m, self, name)
		n, _ := r.layout.IntAt(m, at)
		return mem.Addr(n)
	}
	switch function {
	case "acquire":
		if t, ok := r.layout.TypeOf(m, self); ok && t.Name == "_RLock" {
			l.addr, l.kind, l.ident = self, "threading._RLock", number("_owner")
		}
	case "join", "_wait_for_tstate_lock":
		if ident := number("_ident"); ident != 0 {
			name, _ := r.layout.Attribute(m, self, "_name")
			*l = pyLock{addr: self, ident: ident, ends: true}
			l.name, _ = r.layout.StringAt(m, name)
		}
	}
}

// maxLocks bounds the locks of one process.
const maxLocks = 1 << 12

// pyLocks lists the locks of Python that threads of s wait for, each once.
func (r *Runtime) pyLocks(s *snapshot.Snapshot, memory mem.Reader) []waits.Lock {
	threads := r.threadsByIdent(s)
	var out []waits.Lock
	at, futures := map[mem.Addr]int{}, map[int]mem.Addr{}
	for t, of := range r.eachThread(s, memory) {
		if len(out) == maxLocks {
			break
		}
		l, ok := r.lockOf(t, of.search, of.m, nil)
		if !ok {
			continue
		}
		if k, known := at[l.addr]; known {
			out[k].Waiters = append(out[k].Waiters, t.TID)
			continue
		}
		at[l.addr] = len(out)
		shown := l.shown(t.TID, threads, t.Registers != nil && !of.m.TakeLate() && !s.Rolling)
		if l.kind == lockType && !l.ends {
			if a, object := r.awaitedIn(t, of.search, of.m); a != nil {
				shown.Kind, shown.Name, shown.Note = a.kind, a.name(object), ""
				shown.Evidence = fmt.Sprintf("by the lock at %#x, which nobody holds", uint64(l.addr))
				if a.kind == waits.Result && a.file == futuresFile && object != 0 {
					futures[len(out)] = object
				}
			}
			shown.Instant = shown.Instant && !of.m.TakeLate()
		}
		out = append(out, shown)
	}
	r.holdersByBlock(s, memory, out)
	r.computers(s, memory, out, futures)
	return out
}

// shown is l as the graph of waits has it.
func (l *pyLock) shown(waiter int, threads map[mem.Addr]int, instant bool) waits.Lock {
	kind := map[string]string{lockType: "threading.Lock", rlockType: "threading.RLock"}[l.kind]
	if kind == "" {
		kind = "threading.RLock in Python"
	}
	out := waits.Lock{Name: fmt.Sprintf("%s %#x", kind, uint64(l.addr)), Number: uint64(l.addr),
		Waiters: []int{waiter}, Owner: threads[l.ident], Instant: instant}
	switch {
	case l.ends:
		out.Name, out.Ends = fmt.Sprintf("the end of thread %q of Python", l.name), true
		out.Evidence = fmt.Sprintf("join of the Thread at %#x", uint64(l.addr))
	case l.kind == lockType:
		out.Note = "which does not record who holds it"
	case l.ident == 0:
		out.Note = "its owner changed while it was read"
	default:
		out.Evidence = fmt.Sprintf("owner %#x in the lock at %#x", uint64(l.ident), uint64(l.addr))
	}
	switch {
	case l.ident == 0 || out.Owner != 0:
	case l.ends:
		out.Gone, out.Note = true, "which this process does not have: it ended, or was left behind by a fork"
	default:
		out.Gone = true
		out.Note = fmt.Sprintf("held by thread %#x, which this process does not have: it exited, or was left behind "+
			"by a fork", uint64(l.ident))
	}
	return out
}
