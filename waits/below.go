package waits

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// below looks for a lock wait that a signal handler interrupted: the thread waits for what the handler waits for, and
// then for that. It looks where somebody waits for the thread, or where a handler was seen on its stack.
func (s *study) below(t *Thread, w *Wait) {
	call, ok := s.interrupted(t)
	if !ok || !IsFutex(t.Process.Arch, call.Number) {
		return
	}
	f := decodeFutex(t, call)
	lock := Wait{TID: t.TID}
	s.futex(&f, &lock)
	if lock.Mode == One {
		lock.Certainty = min(lock.Certainty, Inferred)
		w.Below = &lock
	}
}

// handlerWindow is how much of the stack is searched for the frame that the kernel made for a handler: more than the
// frames of one that waits, and of what its arguments are on top of. On arm64 it has all vector registers, too.
const handlerWindow = 8 << 10

// interrupted finds the system call that a signal handler of t interrupted, by the frame that the kernel made for the
// handler. Source: struct rt_sigframe of linux/arch/x86/include/asm/sigframe.h and linux/arch/arm64/kernel/signal.c.
func (s *study) interrupted(t *Thread) (call procfs.Syscall, ok bool) {
	m, known := machines[t.Process.Arch]
	if !known || m.frame.size == 0 {
		return call, false
	}
	sp := t.First.Call.SP &^ 7
	r := s.memory(t.Process)
	top := mem.Addr(handlerWindow)
	if m := s.mapping(t.Process, sp); m != nil {
		top = min(top, m.End-sp)
	}
	stack, ok := r.bytes(sp, int(top))
	for i := 0; ok && i+m.frame.size <= len(stack); i += 8 {
		call, found := s.callOf(r, t, &m, stack[i:i+m.frame.size], sp+mem.Addr(i))
		if found || r.pending {
			return call, found
		}
	}
	return call, false
}

// callOf reads the system call out of what may be a struct ucontext at addr.
func (s *study) callOf(r *reader, t *Thread, m *machine, uc []byte, addr mem.Addr) (call procfs.Syscall, ok bool) {
	f := &m.frame
	reg := func(at int) uint64 { return u64(uc[at:]) }
	sp, pc := mem.Addr(reg(f.sp)), mem.Addr(reg(f.pc))
	stack, code := s.mapping(t.Process, addr), s.mapping(t.Process, pc)
	if reg(f.link) != 0 || f.segment != 0 && reg(f.segment)&0xffff != f.userCode ||
		reg(f.flags)&f.always != f.always || reg(f.flags)&f.never != 0 ||
		stack == nil || code == nil || code.Perm&maps.Exec == 0 || sp <= addr && stack.Contains(sp) {
		return call, false
	}
	// The call was to be made again, or it returned EINTR.
	number, at := int64(reg(f.number)), pc
	ended := int64(reg(f.result)) == -4
	if ended {
		at -= m.call
	}
	b, ok := r.bytes(at, int(m.call))
	if !ok || !m.isCall(b) {
		return call, false
	}
	if ended && f.forgetting {
		number = f.futex // the only one that is looked for; its arguments are checked by what they point at
	}
	call = procfs.Syscall{Number: number, SP: sp, PC: at + m.call}
	for i, at := range f.args {
		call.Args[i] = reg(at)
	}
	return call, true
}
