package waits

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// parked is a thread that glibc keeps for ever: the kernel refused to let it wait for a priority-inheritance mutex, as
// that would be a cycle or as the owner is gone. It waits for a word in its own frame that nobody knows
// (__pthread_mutex_lock_full); the mutex is in a register that may have been saved on the stack.
func (s *study) parked(r *reader, f *futexCall, w *Wait) bool {
	const frame = 512
	sp := f.call.SP
	if f.val != 0 || f.word != 0 || f.limit != 0 || !f.realtime || f.u < sp || f.u-sp > frame {
		return false
	}
	in := s.inFrameOfLibc(r, f)
	mutex, ok := s.refused(r, f, frame)
	if r.pending || !in && (!ok || s.ofProgram(r, f)) || r.pending {
		return false
	}
	w.keptForEver()
	if ok {
		word, _ := r.u32(mutex)
		w.Note += fmt.Sprintf(" (mutex %#x, whose word has the id %d)", uint64(mutex), word&ownerBits)
	}
	return true
}

// refused looks on the stack for the address of a priority-inheritance mutex that is locked.
func (s *study) refused(r *reader, f *futexCall, window int) (mutex mem.Addr, ok bool) {
	l := s.layout(f.p)
	for _, at := range s.pointers(r, f.call.SP, window) {
		if m := s.mapping(f.p, at); at%4 != 0 || m == nil || m.Perm&maps.Write == 0 {
			continue
		}
		kind, ok1 := r.u32(at + l.kind)
		word, ok2 := r.u32(at)
		if ok1 && ok2 && kind&^kindBits == 0 && kind&kindPI != 0 && word&ownerBits != 0 && word&ownerBits <= maxID {
			return at, true
		}
	}
	return 0, false
}

// ofProgram reports whether the futex word is part of what programs have on their stacks.
func (s *study) ofProgram(r *reader, f *futexCall) bool {
	_, _, condition := s.condvarOf(r, f)
	return condition || s.semaphoreAt(r, f)
}

// inFrameOfLibc reports whether the futex word lies in a frame of libc: what a program has on its stack, as a
// semaphore, lies behind the return address by which libc goes back to it. In a program without libraries that is the
// second one. Words that are left over on the stack may be return addresses too: then it is false.
func (s *study) inFrameOfLibc(r *reader, f *futexCall) bool {
	home, inside := s.mapping(f.p, f.call.PC), 0
	for _, at := range s.pointers(r, f.call.SP, int(f.u-f.call.SP)) {
		m := s.mapping(f.p, at)
		if m == nil || m.Perm&maps.Exec == 0 || m.Path == vdso || !s.followsCall(r, f.p, at) {
			continue
		}
		if home == nil || home.Path == vdso { // where 32-bit programs make their calls
			home = m
		}
		if m.Path != home.Path {
			return false
		}
		inside++
	}
	return home != nil && (libraryOf(home) == glibc || inside <= 1)
}

const vdso = "[vdso]"

// followsCall reports whether a call instruction ends at addr; on architectures that [machines] has not, that is not
// looked at.
func (s *study) followsCall(r *reader, p *Process, addr mem.Addr) bool {
	called := machines[p.Arch].called
	if called == nil {
		return true
	}
	var b [callBytes]byte
	return r.fill(b[:], addr-callBytes) && called(b[:])
}

func (w *Wait) keptForEver() {
	w.Object = Object{Kind: Parked}
	w.Mode, w.Certainty = One, Inferred
	w.Note = "parked for ever by libc: the kernel refused to let it wait for a priority-inheritance mutex, as its " +
		"owner is gone or waits for this thread"
}
