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

// interrupted finds the system call that a signal handler of t interrupted, by the frame that the kernel made for the
// handler. Source: struct rt_sigframe and struct sigcontext_64 of linux/arch/x86/include/{asm/sigframe.h,uapi/asm/
// sigcontext.h}: registers from byte 40 of struct ucontext on.
func (s *study) interrupted(t *Thread) (call procfs.Syscall, ok bool) {
	const (
		window    = 8 << 10 // of the frames of a handler that waits
		registers = 40
		size      = registers + 24*8
	)
	if t.Process.Arch != "amd64" {
		return call, false
	}
	sp := t.First.Call.SP &^ 7
	r := s.memory(t.Process)
	top := mem.Addr(window)
	if m := s.mapping(t.Process, sp); m != nil {
		top = min(top, m.End-sp)
	}
	stack, ok := r.bytes(sp, int(top))
	for i := 0; ok && i+size <= len(stack); i += 8 {
		if call, found := s.callOf(r, t, stack[i:i+size], sp+mem.Addr(i)); found || r.pending {
			return call, found
		}
	}
	return call, false
}

// callOf reads the system call out of what may be a struct ucontext at addr.
func (s *study) callOf(r *reader, t *Thread, uc []byte, addr mem.Addr) (call procfs.Syscall, ok bool) {
	reg := func(i int) uint64 { return u64(uc[40+8*i:]) }
	const (
		rdi, rsi, rdx, rax, rsp, rip, flags, segments = 8, 9, 12, 13, 15, 16, 17, 18
		r8, r9, r10                                   = 0, 1, 2
		userCode                                      = 0x33 // the segment of 64-bit code
		always                                        = 2    // a bit of the flags that is always set
	)
	sp, pc := mem.Addr(reg(rsp)), mem.Addr(reg(rip))
	stack, code := s.mapping(t.Process, addr), s.mapping(t.Process, pc)
	if u64(uc[8:]) != 0 || reg(segments)&0xffff != userCode || reg(flags)&always == 0 || reg(flags)>>22 != 0 ||
		stack == nil || code == nil || code.Perm&maps.Exec == 0 || sp <= addr && stack.Contains(sp) {
		return call, false
	}
	// The call was to be made again (its number in rax), or it returned EINTR.
	number, at := int64(reg(rax)), pc
	if number == -4 {
		at -= 2
	}
	b, ok := r.bytes(at, 2)
	if !ok || string(b) != "\x0f\x05" {
		return call, false
	}
	if number == -4 {
		number = 202 // the only one that is looked for; its arguments are checked by what they point at
	}
	return procfs.Syscall{Number: number, SP: sp, PC: at + 2,
		Args: [6]uint64{reg(rdi), reg(rsi), reg(rdx), reg(r10), reg(r8), reg(r9)}}, true
}
