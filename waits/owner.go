package waits

import (
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/mem"
)

// maxID is the greatest id that the kernel gives to a thread. Source: PID_MAX_LIMIT in linux/threads.h.
const maxID = 1 << 22

// ownerBits are the bits of a robust or priority-inheritance futex that have the owner's id. Source:
// FUTEX_TID_MASK in linux/futex.h; 0x40000000 is FUTEX_OWNER_DIED, 0x80000000 FUTEX_WAITERS.
const (
	ownerBits = 0x3fffffff
	ownerDied = 0x40000000
	waiters   = 0x80000000
)

// alive finds the thread that the memory of p calls id. known is false while that is not known: it was asked for.
func (s *study) alive(p *Process, id uint32) (t *Thread, known bool) {
	if id == 0 || id > maxID {
		return nil, true
	}
	if t := s.facts.ThreadInside(p, int(id)); t != nil {
		return t, true
	}
	if _, gone := s.facts.gone[inner{p.Namespace, int(id)}]; gone || s.facts.hidden[inner{p.Namespace, int(id)}] {
		return nil, true
	}
	if p.Namespace == 0 {
		s.need.Owners = append(s.need.Owners, int(id))
		return nil, false
	}
	if s.need.Inner == nil {
		s.need.Inner = map[int][]int{}
	}
	s.need.Inner[p.PID] = append(s.need.Inner[p.PID], int(id))
	return nil, false
}

// heldByWord makes w a wait for the thread whose id is in the futex word itself, at addr.
func (s *study) heldByWord(r *reader, f *futexCall, w *Wait, addr mem.Addr) {
	word, ok := r.u32(addr)
	if !ok {
		return
	}
	s.held(f, w, word&ownerBits, addr)
	if word&ownerDied != 0 {
		w.Note = "its owner died, and nobody has taken it since"
	}
}

// held makes w a wait for the thread id, as the memory of the process calls it, which the word at addr says holds the
// object.
func (s *study) held(f *futexCall, w *Wait, id uint32, addr mem.Addr) {
	w.Mode, w.Wakers, w.Certainty, w.word = One, nil, Possible, addr
	if id == 0 || id > maxID {
		// Taken and not marked yet, or on its way to another thread.
		w.Mode, w.Unlisted = Unknown, "its owner changed while it was read"
		return
	}
	w.Evidence = append(w.Evidence, "owner word "+strconv.Itoa(int(id))+" at "+hex(uint64(addr)))
	owner, known := s.alive(f.p, id)
	if !known {
		return
	}
	if s.facts.hidden[inner{f.p.Namespace, int(id)}] {
		w.Mode, w.Unlisted = Unknown, fmt.Sprintf("held by thread %d, which was not inspected", id)
		return
	}
	if owner == nil {
		w.Certainty, w.Lost = s.sure(f, addr, nil), int(id)
		w.Note = fmt.Sprintf("held by thread %d, which has exited", id)
		return
	}
	if w.Object.Key.Class == Private && owner.Process.Space != f.p.Space {
		s.foreignOwner(f, w, owner)
		w.Certainty, w.Lost = s.sure(f, addr, nil), int(id)
		return
	}
	if s.asleepBefore(f.t, owner) && !kernelClears(w.Object.Kind) {
		s.again[w.Object.Key] = true
	}
	w.Wakers = []Waker{{owner.Process.PID, owner.TID}}
	if f.t.confirmed {
		w.Evidence = append(w.Evidence, "the same again while the threads were stopped")
	}
	w.Certainty = s.sure(f, addr, owner)
}

// foreignOwner says who holds a lock in memory of one process if owner, who has the id in its word, is of another: a
// thread that was there when the process was forked, or one that has exited and whose id was used again since. The ids
// of a machine are not used up within a tick, so that who began in the same one was there.
func (s *study) foreignOwner(f *futexCall, w *Wait, owner *Thread) {
	if own := s.facts.Thread(f.p.PID); own != nil && own.Start != 0 && owner.Start > own.Start {
		w.Note = fmt.Sprintf("held by thread %d, which has exited", owner.Inner)
		return
	}
	w.Forked = true
	w.Note = fmt.Sprintf("locked by thread %d when the process was forked, never unlocked here", owner.Inner)
}

// kernelClears reports whether the kernel marks the word of such a lock when its owner ends.
func kernelClears(k Kind) bool { return k == kindRobustMutex || k == kindPiMutex || k == kindThreadEnd }

// asleepBefore reports whether t is known to have slept since before owner began. It is false too while it asks for
// what it takes to know.
func (s *study) asleepBefore(t, owner *Thread) bool {
	switch {
	case t.Start == 0 || owner.Start <= t.Start:
		return false
	case !t.HasAsleep:
		s.need.Asleep = append(s.need.Asleep, t.TID)
		return false
	}
	return t.Asleep != 0 && t.Asleep < owner.Start
}

// usedAgain takes back who owns a lock that somebody has waited for since before that thread began. It may have
// overtaken who was woken for it and gave up, or an earlier thread of its id has ended with the lock: nothing tells.
func (s *study) usedAgain(waits []Wait) {
	for i := range waits {
		w := &waits[i]
		if w.word == 0 || len(w.Wakers) == 0 || !s.again[w.Object.Key] {
			continue
		}
		w.Unlisted = fmt.Sprintf("held by thread %d, or by an earlier one of that id which has exited: "+
			"a thread has waited for it since before %[1]d began", w.Wakers[0].TID)
		w.Mode, w.Wakers, w.Certainty, w.word = Unknown, nil, Possible, 0
	}
}

// sure is how certain it is that owner, nil for one that is gone, holds what the word at addr says: the word must have
// been read when both were known not to run, and after it was known that the owner is gone. A word that was read too
// early is asked for once more.
func (s *study) sure(f *futexCall, addr mem.Addr, owner *Thread) Certainty {
	since := f.t.First.At
	switch {
	case owner != nil && owner.First.At.After(since):
		since = owner.First.At
	case owner == nil:
		for _, at := range s.facts.gone {
			if at.After(since) {
				since = at
			}
		}
	}
	read := f.p.Memory.readAt(addr)
	if read.Before(since) {
		s.need.memory(f.p.PID, addr, 4)
		return Shown
	}
	if !f.t.Unmoved() || read.After(f.t.Last.At) {
		return Shown
	}
	if owner != nil && (!owner.Unmoved() || read.After(owner.Last.At)) {
		return Shown
	}
	return Proven
}
