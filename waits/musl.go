package waits

import "github.com/fpstack/fpstack/mem"

// muslShape recognises an object of musl by its words.
// Source: src/thread and src/internal/pthread_impl.h of musl 1.2.3.
func (s *study) muslShape(r *reader, f *futexCall, w *Wait) bool {
	if f.op != opWait || f.p.Word != 8 {
		return false
	}
	shapes := []func(*reader, *futexCall, *Wait) bool{s.muslMutex, s.muslParked, s.muslFile, s.muslJoin,
		s.muslCondition, s.muslShared}
	for _, shape := range shapes {
		if shape(r, f, w) || r.pending {
			return true
		}
	}
	return false
}

// Words of musl's pthread_mutex_t: _m_type, _m_lock, _m_waiters.
const (
	muslNormalLocked = 0x10 // EBUSY
	muslTypeBits     = 0x8f
)

// muslMutex is a mutex: the word has the owner, but of a normal one.
func (s *study) muslMutex(r *reader, f *futexCall, w *Wait) bool {
	at := f.u - 4
	v, ok := r.words(at, 3)
	if !ok || f.val&waiters == 0 || v[0]&^muslTypeBits != 0 || int32(v[2]) < 1 || v[2] > maxID {
		return false
	}
	if f.val == waiters|muslNormalLocked && v[0]&15 == 0 {
		w.Object = Object{Kind: kindMutex, Addr: at, Key: s.key(f, at)}
		s.anybody(f, w)
		w.Note = "musl does not record the owner of a normal mutex"
		return true
	}
	died := f.val&ownerBits == 0 && f.val&ownerDied != 0
	if v[0]&15 == 0 || f.val&ownerBits == 0 && !died || f.val&ownerBits > maxID {
		return false
	}
	w.Object = Object{Kind: [...]Kind{kindMutex, kindRecursiveMutex, kindErrorMutex, kindMutex}[v[0]&3], Addr: at,
		Key: s.key(f, at)}
	if v[0]&4 != 0 {
		w.Object.Kind = kindRobustMutex
	}
	if died && f.word&ownerBits == 0 {
		w.Mode, w.Certainty, w.Note = One, s.sure(f, f.u, nil), "held by a thread that has exited"
		return true
	}
	s.heldByWord(r, f, w, f.u)
	return true
}

// muslParked is a thread that musl keeps for ever, as glibc does: see parked.
func (s *study) muslParked(_ *reader, f *futexCall, w *Wait) bool {
	const frame = 512
	if sp := f.call.SP; f.val != 0 || f.word != 0 || f.limit != 0 || f.u < sp || f.u-sp > frame {
		return false
	}
	w.keptForEver()
	return true
}

// muslFile is the lock of a FILE: the owner's id, and a bit that says that others may wait.
func (s *study) muslFile(r *reader, f *futexCall, w *Wait) bool {
	const maybeWaiters = 0x40000000
	if f.val&maybeWaiters == 0 || f.val&waiters != 0 || f.word&maybeWaiters == 0 {
		return false
	}
	owner, known := s.alive(f.p, f.word&^maybeWaiters)
	if !known || owner == nil {
		return !known
	}
	w.Object = Object{Kind: kindStdioLock, Addr: f.u, Key: s.key(f, f.u)}
	s.held(f, w, f.word&^maybeWaiters, f.u)
	return true
}

// muslJoin is pthread_join: the word is detach_state in struct pthread, which begins with its own address, and has the
// id 8 bytes before the word.
func (s *study) muslJoin(r *reader, f *futexCall, w *Wait) bool {
	const state, id = 0x38, 0x30
	self, ok := r.word(f.u - state)
	if f.val != 2 || !ok || self != uint64(f.u-state) {
		return false
	}
	tid, ok := r.u32(f.u - state + id)
	if !ok || tid == 0 || tid > maxID {
		return false
	}
	w.Object = Object{Kind: kindThreadEnd, Addr: f.u - state, Key: Key{Child, uint64(tid), 0, 0}}
	s.held(f, w, tid, f.u-state+id)
	return true
}

// muslCondition is a condition variable: each waiter sleeps on a word of its own frame, beside which are the addresses
// of the condition variable and of the mutex. Who was woken by a broadcast is moved to the mutex: then its word has
// changed, and it has not run.
func (s *study) muslCondition(r *reader, f *futexCall, w *Wait) bool {
	sp := f.call.SP
	const frame, around = 4096, 64
	if f.val != 2 || f.u < sp || f.u-sp > frame {
		return false
	}
	near := (f.u - around) &^ 7
	b, ok := r.bytes(near, 2*around)
	if !ok {
		return false
	}
	for i := 0; i+16 <= len(b); i += 8 {
		cond, mutex := mem.Addr(u64(b[i:])), mem.Addr(u64(b[i+8:]))
		if cond%4 != 0 || mutex%4 != 0 || cond == mutex || s.mapping(f.p, cond) == nil {
			continue
		}
		v, ok := r.words(mutex, 3)
		if r.pending {
			return false
		}
		if !ok || v[0]&^muslTypeBits != 0 || int32(v[2]) < 0 || v[2] > maxID || s.inText(f.p, mutex) ||
			s.inText(f.p, cond) {
			continue
		}
		s.muslWaits(r, f, w, cond, mutex)
		return true
	}
	return false
}

// muslWaits fills in a wait for cond, or for mutex if the thread was moved there.
func (s *study) muslWaits(r *reader, f *futexCall, w *Wait, cond, mutex mem.Addr) {
	w.Object, w.With = Object{Kind: kindConditionVariable, Addr: cond, Key: s.key(f, cond)}, mutex
	if f.word == f.val {
		s.anybody(f, w)
		return
	}
	w.Object = Object{Kind: kindMutex, Addr: mutex, Key: s.key(f, mutex)}
	w.With, w.Timed, w.HasLeft = 0, false, false
	w.Evidence = append(w.Evidence, "moved there from its condition variable: it has not run since its word changed")
	if word, ok := r.u32(mutex + 4); ok && word&ownerBits != muslNormalLocked && word&ownerBits != 0 {
		s.held(f, w, word&ownerBits, mutex+4)
		return
	}
	s.anybody(f, w)
	w.Note = "musl does not record the owner of a normal mutex"
}

// inText reports whether addr is no place for an object that is written to.
func (s *study) inText(p *Process, addr mem.Addr) bool {
	m := s.mapping(p, addr)
	return m == nil || m.Perm.String()[1] != 'w'
}

// muslShared is a semaphore or a rwlock, which look alike.
func (s *study) muslShared(r *reader, f *futexCall, w *Wait) bool {
	v, ok := r.words(f.u, 3)
	if !ok || f.val&waiters == 0 || int32(v[1]) < 1 || v[1] > maxID || v[2] != 0 && v[2] != flagPrivate {
		return false
	}
	w.Object.Kind = kindRwlock
	s.anybody(f, w)
	switch count := f.word &^ waiters; {
	case count == 0x7fffffff:
		w.Object.Kind, w.Note = kindRwlockOrSemaphore, "musl does not record who holds it"
	case count > maxID:
		return false
	default:
		w.Note = "musl does not record which readers hold it"
	}
	return true
}
