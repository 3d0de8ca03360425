package waits

import "slices"

// maxThreads bounds the threads of all processes that are looked at: the kernel has no more ids (PID_MAX_LIMIT).
const maxThreads = 1 << 22

// study is one pass over facts.
type study struct {
	facts *Facts
	need  Need
	again map[Key]bool // locks whose owner may have the id of an earlier one: see usedAgain
	ofSet bool         // it is at one of several descriptors that a thread waits for
}

// Study says what each blocked thread of f waits for, in the order of f, and what is to be read to say more. It is
// called again when that was read: an empty need means that the waits are all that can be known.
func Study(f *Facts) (waits []Wait, need Need) {
	s := &study{facts: f, again: map[Key]bool{}}
	threads := f.blocked()
	waits = make([]Wait, len(threads))
	for i, t := range threads {
		s.thread(t, &waits[i])
	}
	s.usedAgain(waits)
	s.belowHandlers(waits)
	s.byHandlers(waits)
	s.need.tidy()
	return waits, s.need
}

// blocked lists the threads that were blocked when they were read first.
func (f *Facts) blocked() []*Thread {
	list := make([]*Thread, 0, min(len(f.threads), maxThreads))
	for _, p := range f.Processes {
		for _, t := range p.Threads {
			if t.First.Blocked && len(list) < maxThreads {
				list = append(list, t)
			}
		}
	}
	return list
}

// thread says in w, which is empty, what t, which is blocked, waits for.
func (s *study) thread(t *Thread, w *Wait) {
	w.TID = t.TID
	if t.Idle != "" {
		s.idle(t, w)
		return
	}
	if f, ok := s.futexCall(t); ok {
		s.futex(&f, w)
	} else {
		if s.call(t, w); w.Mode == Time {
			s.polled(t, w)
		}
	}
	s.halted(t, w)
}

// idle says in w what a thread waits for that a runtime keeps for work: who could bring some, where it waits for
// descriptors, is among its Wakers.
func (s *study) idle(t *Thread, w *Wait) {
	w.Object, w.Mode = Object{Kind: kindWork, Name: t.Idle}, Idle
	if IsFutex(t.Process.Arch, t.First.Call.Number) {
		return
	}
	events := Wait{TID: t.TID}
	if s.call(t, &events); events.Object.Kind == kindDescriptors {
		w.Wakers, w.Certainty, w.Listens, w.Set = events.Wakers, events.Certainty, events.Listens, events.Set
		w.Timed, w.Length = events.Timed, events.Length
		w.Evidence = append(w.Evidence, events.Object.Name)
	}
}

// belowHandlers looks for waits below signal handlers: of threads that others wait for, and that do not wait for a lock
// themselves, and of those on whose stack a handler was seen.
func (s *study) belowHandlers(waits []Wait) {
	owns := map[int]bool{}
	for i := range waits {
		if w := &waits[i]; w.Mode == One && len(w.Wakers) == 1 {
			owns[w.Wakers[0].TID] = true
		}
	}
	for i := range waits {
		w := &waits[i]
		t := s.facts.Thread(w.TID)
		if slices.Contains(t.Stack, SignalFrame) || t.Stack == nil && owns[w.TID] && w.Mode != One {
			s.below(t, w)
		}
	}
}
