package waits

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/text"
)

// foreign reports whether glibc and musl make no such call: without a limit they wait by WAIT, and glibc by WAIT_BITSET
// with FUTEX_CLOCK_REALTIME (futex_abstimed_wait in sysdeps/nptl/futex-internal.c). Rust's library waits by WAIT_BITSET
// without.
func (s *study) foreign(f *futexCall) bool {
	return f.op == opWaitBitset && f.private && !f.realtime && f.limit == 0
}

// layout is where glibc's objects of one word size have their parts, in bytes.
// Source: sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h and nptl/descr.h of glibc 2.26 to 2.41.
type layout struct {
	kind, users mem.Addr // in pthread_mutex_t
	writer      mem.Addr // in pthread_rwlock_t
	id, self    mem.Addr // in struct pthread: the thread's id, and the address of struct pthread itself
}

func (s *study) layout(p *Process) layout {
	if p.Word == 4 {
		return layout{kind: 12, users: 16, writer: 28, id: 0x68, self: 8}
	}
	return layout{kind: 16, users: 12, writer: 24, id: 720, self: 16}
}

// glibcShape recognises an object of glibc by its words. Each shape has conditions that no other fulfils, and the order
// is that of how strong they are.
func (s *study) glibcShape(r *reader, f *futexCall, w *Wait) bool {
	shapes := []func(*reader, *futexCall, *Wait) bool{s.robust, s.parked, s.joins, s.stdio, s.mutex, s.rwlock,
		s.condition, s.semaphore, s.barrier, s.inLibc}
	for _, shape := range shapes {
		if shape(r, f, w) || r.pending {
			return true
		}
	}
	return false
}

// robust is a robust mutex: the word has the owner, and is never private (pthread_mutex_lock.c: the kernel handles it
// when the owner dies).
func (s *study) robust(r *reader, f *futexCall, w *Wait) bool {
	l := s.layout(f.p)
	kind, ok := r.u32(f.u + l.kind)
	if f.private || f.val&waiters == 0 || !ok || kind&^kindBits != 0 || kind&kindRobust == 0 {
		return false
	}
	w.Object.Kind = mutexKind(kind)
	s.heldByWord(r, f, w, f.u)
	return true
}

// Bits of a mutex's kind. Source: nptl/pthreadP.h of glibc.
const (
	kindBits    = 0x3ff
	kindRobust  = 0x10
	kindPI      = 0x20
	kindProtect = 0x40
	kindShared  = 0x80
)

// mutexKind is what a person calls a mutex of that kind.
func mutexKind(kind uint32) Kind {
	switch {
	case kind&kindRobust != 0:
		return kindRobustMutex
	case kind&kindPI != 0:
		return kindPiMutex
	}
	return [...]Kind{kindMutex, kindRecursiveMutex, kindErrorMutex, kindAdaptiveMutex}[kind&3]
}

// pointers are the words of the stack from sp on.
func (s *study) pointers(r *reader, sp mem.Addr, window int) []mem.Addr {
	size := r.p.Word
	stack, ok := r.bytes(sp&^7, window)
	if !ok || size == 0 {
		return nil
	}
	list := make([]mem.Addr, 0, window/size)
	for i := 0; i+size <= window; i += size {
		if size == 4 {
			list = append(list, mem.Addr(u32(stack[i:])))
		} else {
			list = append(list, mem.Addr(u64(stack[i:])))
		}
	}
	return list
}

// joins is pthread_join: the word is the id in the descriptor of the joined thread, which the kernel clears.
func (s *study) joins(r *reader, f *futexCall, w *Wait) bool {
	l := s.layout(f.p)
	if f.private || f.val == 0 || f.val&^ownerBits != 0 || f.word != f.val {
		return false
	}
	if f.p.Arch != "arm64" { // whose descriptor does not have its own address
		if self, ok := r.word(f.u - l.id + l.self); !ok || self != uint64(f.u-l.id) {
			return false
		}
	}
	joined, known := s.alive(f.p, f.val)
	if !known || joined == nil || joined.Process.Space != f.p.Space {
		return !known
	}
	w.Object = Object{Kind: kindThreadEnd, Addr: f.u - l.id, Key: Key{Child, uint64(joined.TID), 0, 0}}
	s.held(f, w, f.val, f.u)
	return true
}

// mutex is any other mutex: its word is 2 when threads wait for it, and the owner is beside.
func (s *study) mutex(r *reader, f *futexCall, w *Wait) bool {
	l := s.layout(f.p)
	owner, ok1 := r.u32(f.u + 8)
	kind, ok2 := r.u32(f.u + l.kind)
	users, ok3 := r.u32(f.u + l.users)
	const most = 1 << 24 // threads that use it
	if f.val != 2 || !ok1 || !ok2 || !ok3 || owner > maxID || kind&^kindBits != 0 || users > most {
		return false
	}
	if kind&(kindRobust|kindPI|kindProtect) != 0 || (kind&kindShared != 0) == f.private {
		return false
	}
	if users == 0 && owner == 0 { // a word 2 with zeros behind it may be anything
		return false
	}
	w.Object.Kind = mutexKind(kind)
	if m := s.mapping(f.p, f.u); m != nil && hasPrefix(base(m.Path), "ld-linux", "ld-2.") {
		w.Object.Kind = kindLoaderLock
	}
	s.held(f, w, owner, f.u+8)
	return true
}

// stdio is the lock of a FILE: the word, a count, and the address of the owner's descriptor.
func (s *study) stdio(r *reader, f *futexCall, w *Wait) bool {
	at := f.u + 8
	owner, ok := r.word(at)
	if f.val != 2 || !ok || owner < 4096 || owner%uint64(max(4, f.p.Word)) != 0 {
		return false
	}
	id, ok := s.descriptor(r, f.p, mem.Addr(owner))
	if !ok {
		return false
	}
	w.Object.Kind = kindStdioLock
	s.held(f, w, id, at)
	return true
}

// descriptor is the id of the thread whose struct pthread is at addr.
func (s *study) descriptor(r *reader, p *Process, addr mem.Addr) (id uint32, ok bool) {
	l := s.layout(p)
	first, ok1 := r.word(addr)
	self, ok2 := r.word(addr + l.self)
	id, ok3 := r.u32(addr + l.id)
	return id, ok1 && ok2 && ok3 && first == uint64(addr) && self == uint64(addr) && id != 0 && id <= maxID
}

// rwlock waits on one of two words: readers and the next writer on the phase, with the value 3 and 2, other writers on
// their own, with 3. Source: nptl/pthread_rwlock_common.c.
func (s *study) rwlock(r *reader, f *futexCall, w *Wait) bool {
	if f.op != opWaitBitset || f.val != 2 && f.val != 3 {
		return false
	}
	const phase, writers = 8, 12
	l := s.layout(f.p)
	best, at, words := 0, mem.Addr(0), []uint32(nil)
	for _, back := range []mem.Addr{writers, phase} {
		v, ok := r.words(f.u-back, 8)
		if !ok || v[4] != 0 || v[5] != 0 || v[0]>>3 > maxID || v[l.writer/4] > maxID || f.word != v[back/4] {
			continue
		}
		if back == writers && (f.val == 2 || v[0]&rwWriteLocked == 0) {
			continue
		}
		if back == phase && v[0]&rwWritePhase != f.val&1 {
			continue
		}
		if n := rwlockRank(v[0], v[l.writer/4]); n > best {
			best, at, words = n, f.u-back, v
		}
	}
	if best == 0 {
		return false
	}
	s.readersAndWriters(f, w, at, words, l)
	return true
}

// rwlockRank is how much speaks for a rwlock: 0 nothing.
func rwlockRank(first, writer uint32) int {
	switch {
	case writer != 0 && first&rwWriteLocked != 0:
		return 3
	case first>>3 > 0:
		return 2
	case first != 0:
		return 1
	}
	return 0
}

// Bits of the first word of a rwlock: PTHREAD_RWLOCK_WRPHASE, WRLOCKED, RWAITING; READER_SHIFT is 3.
const (
	rwWritePhase  = 1
	rwWriteLocked = 2
)

// readersAndWriters fills in a wait for the rwlock at addr. Who reads is not recorded.
func (s *study) readersAndWriters(f *futexCall, w *Wait, addr mem.Addr, v []uint32, l layout) {
	w.Object = Object{Kind: kindRwlock, Addr: addr, Key: s.key(f, addr)}
	writer, readers := v[l.writer/4], v[0]>>3
	switch {
	case writer != 0 && v[0]&rwWriteLocked != 0 && v[0]&rwWritePhase != 0:
		s.held(f, w, writer, addr+l.writer)
	case readers > 0:
		s.anybody(f, w)
		w.Note = fmt.Sprintf("held by %s, and rwlocks do not record which", text.Count(readers, "reader"))
	default:
		s.anybody(f, w)
	}
}

// condition is a condition variable. glibc keeps its address and that of the mutex on the stack of who waits (struct
// _condvar_cleanup_buffer of nptl/pthread_cond_wait.c).
func (s *study) condition(r *reader, f *futexCall, w *Wait) bool {
	if f.op != opWaitBitset {
		return false
	}
	at, with, ok := s.condvarOf(r, f)
	if !ok {
		return false
	}
	w.Object = Object{Kind: kindConditionVariable, Addr: at, Key: s.key(f, at)}
	w.With = with
	s.anybody(f, w)
	return true
}

// condvarOf looks on the stack for the condition variable that the futex word is a part of, and its mutex.
func (s *study) condvarOf(r *reader, f *futexCall) (cond, mutex mem.Addr, ok bool) {
	const window = 1024
	list := s.pointers(r, f.call.SP, window)
	for i := 0; i+1 < len(list); i++ {
		c, m := list[i], list[i+1]
		back := f.u - c
		// The two group words: 2.25 to 2.40, then 8 bytes before; up to 2.24 the word is the second of the object.
		if back != 40 && back != 44 && back != 32 && back != 36 && back != 4 {
			continue
		}
		const size = 48 // of a pthread_cond_t
		if m-c >= size && s.plausibleMutex(r, f.p, m) {
			return c, m, true
		}
		if r.pending {
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// plausibleMutex reports whether a pthread_mutex_t may be at addr.
func (s *study) plausibleMutex(r *reader, p *Process, addr mem.Addr) bool {
	l := s.layout(p)
	lock, ok1 := r.u32(addr)
	owner, ok2 := r.u32(addr + 8)
	kind, ok3 := r.u32(addr + l.kind)
	return ok1 && ok2 && ok3 && addr%4 == 0 && kind&^kindBits == 0 && owner <= maxID &&
		(lock <= 2 || kind&(kindRobust|kindPI) != 0)
}

// semaphore is a sem_t: a value of 0, and how many wait.
func (s *study) semaphore(r *reader, f *futexCall, w *Wait) bool {
	if f.op != opWaitBitset || f.val > 1 || !s.semaphoreAt(r, f) {
		return false
	}
	w.Object.Kind = kindSemaphore
	s.anybody(f, w)
	return true
}

// semaphoreAt reports whether the words at the futex are those of a struct new_sem: value and nwaiters in one; where an
// atomic word has 32 bits value with a bit for waiters, private, a gap, nwaiters.
// Source: sysdeps/nptl/internaltypes.h of glibc.
func (s *study) semaphoreAt(r *reader, f *futexCall) bool {
	v, ok := r.words(f.u, 4)
	if !ok {
		return false
	}
	if f.p.Word == 4 {
		return v[0] == 1 && f.val == 1 && (v[1] == 0 || v[1] == flagPrivate) && v[2] == 0 && v[3] >= 1 &&
			v[3] <= maxID
	}
	return v[0] == 0 && f.val == 0 && v[1] >= 1 && v[1] <= maxID && (v[2] == 0) == f.private
}

// barrier is a pthread_barrier_t. The missing threads are not recorded.
// Source: struct pthread_barrier in sysdeps/nptl/internaltypes.h: in, current_round, count, shared, out.
func (s *study) barrier(r *reader, f *futexCall, w *Wait) bool {
	v, ok := r.words(f.u-4, 5)
	if !ok || f.op != opWait || f.val != f.word {
		return false
	}
	in, round, all, shared := v[0], v[1], v[2], v[3]
	came := in - round
	if all < 2 || all > maxID || came == 0 || came >= all || shared != 0 && shared != flagPrivate {
		return false
	}
	w.Object = Object{Kind: kindBarrier, Addr: f.u - 4, Key: s.key(f, f.u-4),
		Name: fmt.Sprintf("%d of %d threads have come", came, all)}
	s.anybody(f, w)
	return true
}

// inLibc is a lock of libc's own data whose owner is not recorded, as that of malloc's main arena.
func (s *study) inLibc(r *reader, f *futexCall, w *Wait) bool {
	m := s.mapping(f.p, f.u)
	if f.val != 2 || f.op != opWait || !f.private || m == nil || s.library(f) != glibc {
		return false
	}
	if name := base(m.Path); name != "libc.so.6" && !hasPrefix(name, "libc-2.") {
		return false
	}
	w.Object.Kind = kindLibcLock
	s.anybody(f, w)
	w.Note = "its owner is not recorded"
	return true
}

func (s *study) mapping(p *Process, addr mem.Addr) *maps.Mapping {
	if p.Maps == nil {
		return nil
	}
	return p.Maps.Find(addr)
}
