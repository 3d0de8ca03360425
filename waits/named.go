package waits

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
)

// SignalFrame is what Thread.Stack has for the frame by which the kernel called a signal handler.
const SignalFrame = "<signal>"

// namedWait is a wait that is known by the names of the innermost functions.
type namedWait struct {
	in   string // part of the name of a function
	kind Kind
	note string
}

const ownerNotRecorded = "locked, owner not recorded"

// byName are waits that libc's objects do not show: what waits calls the kernel by itself.
var byName = []namedWait{
	{"mutex::futex::Mutex", kindRustMutex, ownerNotRecorded},
	{"futex_mutex::Mutex", kindRustMutex, ownerNotRecorded},
	{"rwlock::futex::RwLock", kindRustRwLock, ownerNotRecorded},
	{"futex_rwlock::RwLock", kindRustRwLock, ownerNotRecorded},
	{"condvar::futex::Condvar", kindRustCondvar, ""},
	{"once::futex::Once", kindRustOnce, "who runs it is not recorded"},
	{"futex::Parker", kindRustPark, ""},
	{"parking_lot::raw_mutex::RawMutex", kindParkingMutex, ownerNotRecorded},
	{"parking_lot::raw_rwlock::RawRwLock", kindParkingRwLock, ownerNotRecorded},
	{"parking_lot::condvar::Condvar", kindParkingCondvar, ""},
	{"parking_lot::once::Once", kindParkingOnce, "who runs it is not recorded"},
	{"std::__atomic_futex_unsigned_base::", kindCppFuture, ""},
	{"v8::internal::FutexEmulation::Wait", kindAtomics, ""},
	{"SafepointSynchronize::block", kindJavaSafepoint, "a dump says who has not come to it"},
	{"take_gil", kindGil, "its holder is not known"},
	{"os/signal.signal_recv", kindGoSignal, ""},
	{"runtime.semasleep", kindGoLock, ownerNotRecorded},
	{"runtime.notesleep", kindGoWork, ""},
	{"runtime.notetsleep", kindGoWork, ""},
}

// inside are functions below all of these, of other locks that are made of them.
var inside = []namedWait{{"parking_lot_core::", kindParkingLock, ownerNotRecorded}}

// afterShapes are waits of libc that have no shape of their own, or whose objects could not be read.
var afterShapes = []namedWait{
	{"pthread_cond_", kindConditionVariable, ""},
	{"pthread_rwlock_", kindRwlock, ""},
	{"pthread_barrier_wait", kindBarrier, ""},
	{"pthread_once", kindPthreadOnce, "who runs it is not recorded"},
	{"sem_wait", kindSemaphore, ""},
	{"sem_timedwait", kindSemaphore, ""},
	{"sem_clockwait", kindSemaphore, ""},
	{"pthread_join", kindThreadEnd, ""},
	{"pthread_mutex_", kindMutex, ownerNotRecorded},
}

// deepest is how many of the innermost functions are looked at.
const deepest = 8

// named recognises what names alone show. It is false without names.
func (s *study) named(r *reader, f *futexCall, w *Wait) bool {
	names := f.t.Stack[:min(deepest, len(f.t.Stack))]
	if i := slices.IndexFunc(names, isGuard); i >= 0 {
		s.guard(f, w, i)
		return true
	}
	if i := slices.IndexFunc(names, isMalloc); i >= 0 && f.val == 2 && f.op == opWait && i <= 3 {
		s.arena(f, w)
		return true
	}
	if !s.fromTable(byName, f, w) && !s.managed(f, w) && !s.fromTable(inside, f, w) {
		return false
	}
	if slices.Contains(parkingKinds, w.Object.Kind) {
		s.parkingLot(r, f, w)
	}
	return true
}

// parkingKinds are those of locks that parking_lot made.
var parkingKinds = []Kind{kindParkingMutex, kindParkingRwLock, kindParkingCondvar, kindParkingOnce, kindParkingLock}

// parkingLot puts the address of the lock in the place of the word that the thread sleeps on, which is its own. Both
// are in the thread's ThreadData, of which Rust orders the fields: so the lock must look like one. That of a RwLock has
// bit 0 set where writers wait.
// Source: parking_lot_core 0.9 parking_lot.rs, thread_parker/linux.rs; seen with Rust 1.95.
func (s *study) parkingLot(r *reader, f *futexCall, w *Wait) {
	const before = 4 // addresses and counts in front of the word
	key, ok := r.word(f.u - before*mem.Addr(f.p.Word))
	if w.Object.Kind == kindParkingRwLock {
		key &^= 1
	}
	m := s.mapping(f.p, mem.Addr(key))
	if !ok || m == nil || m.Perm&maps.Write == 0 {
		return
	}
	state, ok := r.u32(mem.Addr(key) &^ 3) // a Mutex and a Once have one byte of it
	if !ok || state == 0 {
		return
	}
	w.Object.Addr = mem.Addr(key)
	w.Object.Key = Key{Private, uint64(f.p.Space), key, 0}
}

func (s *study) fromTable(table []namedWait, f *futexCall, w *Wait) bool {
	for _, name := range f.t.Stack[:min(deepest, len(f.t.Stack))] {
		for i := range table {
			if strings.Contains(name, table[i].in) {
				w.Object.Kind = table[i].kind
				s.anybody(f, w)
				w.Note = table[i].note
				if w.Object.Kind.Sort == profile.SortSafepoint {
					w.Object.Addr = 0 // its word says nothing
				}
				if w.Object.Kind.Sort == profile.SortWork {
					w.Mode, w.Wakers = Idle, nil
					w.Object.Name = w.Object.Kind.Noun
				}
				return true
			}
		}
	}
	return false
}

func isGuard(name string) bool { return name == "__cxa_guard_acquire" }

// guard is a static variable that another thread initialises: the one that has the function of the variable on its
// stack and does not wait for it.
func (s *study) guard(f *futexCall, w *Wait, at int) {
	w.Object.Kind = kindStaticVariable
	s.anybody(f, w)
	if at+1 >= len(f.t.Stack) || f.t.Stack[at+1] == "" {
		return
	}
	function := f.t.Stack[at+1]
	var runs []*Thread
	for _, t := range f.p.Threads {
		for i, name := range t.Stack {
			if name == function && i > 0 && !isGuard(t.Stack[i-1]) {
				runs = append(runs, t)
				break
			}
		}
	}
	s.inferred(w, runs, "the function "+function+" is on its stack")
}

// inferred makes w a wait for the one thread of that list, if there is one alone.
func (s *study) inferred(w *Wait, owners []*Thread, why string) {
	if len(owners) != 1 {
		return
	}
	w.Mode, w.Certainty, w.Note = One, Inferred, "as stacks show"
	w.Wakers = []Waker{{owners[0].Process.PID, owners[0].TID}}
	w.Evidence = append(w.Evidence, why)
}

var mallocs = []string{"malloc", "free", "calloc", "realloc", "_int_malloc", "_int_free", "__libc_malloc",
	"__libc_calloc", "__libc_free", "cfree", "__libc_memalign", "memalign", "posix_memalign", "aligned_alloc",
	"arena_get2", "tcache_init", "malloc_consolidate", "__libc_realloc"}

func isMalloc(name string) bool { return slices.Contains(mallocs, name) }

// arena is an arena of malloc. Its owner is not recorded: it is who has malloc on its stack besides, as the thread
// itself below a signal handler.
func (s *study) arena(f *futexCall, w *Wait) {
	w.Object.Kind = kindMallocArena
	s.anybody(f, w)
	w.Note = "its owner is not recorded"
	var holders []*Thread
	for _, t := range f.p.Threads {
		from := 0
		if i := slices.Index(t.Stack, SignalFrame); i >= 0 {
			from = i
		} else if t == f.t || slices.ContainsFunc(t.Stack[:min(3, len(t.Stack))], isLockWait) {
			continue
		}
		if slices.ContainsFunc(t.Stack[from:], isMalloc) {
			holders = append(holders, t)
		}
	}
	s.inferred(w, holders, "malloc is on its stack")
}

func isLockWait(name string) bool { return strings.HasPrefix(name, "__lll_lock_wait") }

// runtimeLock is a lock of a runtime.
func (s *study) runtimeLock(f *futexCall, w *Wait) bool {
	for i := range f.p.Locks {
		if l := &f.p.Locks[i]; l.Futexes.Holds(f.u) || slices.Contains(l.Waiters, f.t.TID) {
			s.lock(f.t, l, w)
			return true
		}
	}
	return false
}

// polled makes w, by which t sleeps, a wait for the lock of a runtime that t looks at in between.
func (s *study) polled(t *Thread, w *Wait) {
	for i := range t.Process.Locks {
		if l := &t.Process.Locks[i]; l.Retries && slices.Contains(l.Waiters, t.TID) {
			s.lock(t, l, w)
		}
	}
}

// lock makes w a wait of t for a lock of a runtime.
func (s *study) lock(t *Thread, l *Lock, w *Wait) {
	p := t.Process
	w.Object = Object{Kind: cmp.Or(l.Kind, kindRuntimeLock), Name: l.Name,
		Key: Key{Runtime, uint64(p.PID), l.Number, 0}}
	w.Mode, w.Wakers, w.Certainty = Any, []Waker{{PID: p.PID}}, Possible
	w.Timed, w.HasLeft, w.Retries = w.Timed && !l.Retries, w.HasLeft && !l.Retries, l.Retries
	if l.Evidence != "" {
		w.Evidence = append(w.Evidence, l.Evidence)
	}
	w.Note = l.Note
	sure := Shown
	if w.instant = l.Instant; l.Instant {
		sure = Proven
	}
	if l.Gone {
		w.Mode, w.Wakers, w.Certainty = One, nil, sure
		return
	}
	owner := s.facts.Thread(l.Owner)
	if owner == nil {
		return
	}
	w.Mode, w.Wakers, w.Certainty = One, []Waker{{owner.Process.PID, owner.TID}}, sure
	if l.Ends {
		w.Object = Object{Kind: kindThreadEnd, Key: Key{Child, uint64(owner.TID), 0, 0}}
		w.Certainty, w.Note = Inferred, "as its stack shows"
	}
}
