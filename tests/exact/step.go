//go:build linux && amd64

package exact

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// add begins to step a thread that is stopped. truth is nil for a new stack.
func (s *session) add(tid int, sp *space, truth *Truth) error {
	t := &thread{tid: tid, space: sp, truth: truth}
	if err := s.readRegisters(t); err != nil {
		return err
	}
	sp.wide = t.regs.Cs == userCS64
	if truth == nil {
		t.truth = newTruth(t.at, sp.wordSize())
	}
	t.truth.calls = func(pc uint64) bool { return slices.Contains(stackCalls, function(s.names.find(sp.table, pc))) }
	s.threads[tid] = t
	s.spaces[sp.pid] = sp
	s.report.Threads++
	return s.compareAndResume(t)
}

// userCS64 is the code segment of 64-bit user code, __USER_CS in linux/arch/x86/include/asm/segment.h.
const userCS64 = 0x33

func (s *space) wordSize() uint64 {
	if s.wide {
		return 8
	}
	return 4
}

// readRegisters reads the registers of t.
func (s *session) readRegisters(t *thread) error {
	if err := registers(t.tid, &t.regs); err != nil {
		return fmt.Errorf("read registers of %d: %w", t.tid, err)
	}
	t.at = point{pc: t.regs.Rip, sp: t.regs.Rsp}
	return nil
}

// stepped handles the stop behind one instruction, or at the entry of a signal handler.
func (s *session) stepped(t *thread) error {
	before, in, sig := t.at, t.in, t.delivered
	nr := t.regs.Rax
	if err := s.readRegisters(t); err != nil {
		return err
	}
	entered := false
	if sig != 0 {
		entered = s.handlerEntered(t, before)
	}
	if !entered {
		s.report.Steps++
		if in.kind == syscall_ && t.space.isSigreturn(nr) {
			pushed, _ := t.space.word(t.at.sp, t.space.wordSize())
			t.truth.sigreturn(t.at, pushed)
		} else {
			t.truth.step(in, before, t.at)
		}
		if t.truth.entering(in) {
			word, ok := t.space.word(t.at.sp, t.space.wordSize())
			t.truth.begun(t.at, word, ok && t.space.isCode(word))
		}
		if in.kind == syscall_ {
			s.afterCall(t, nr)
		}
	}
	return s.compareAndResume(t)
}

// afterCall notes what a system call means for later steps.
func (s *session) afterCall(t *thread, nr uint64) {
	switch {
	case t.space.changesMappings(nr):
		t.space.dirty = true
	case t.installs(nr):
		t.space.handles = true
	}
}

// installs reports whether a system call, rt_sigaction(2), sets what SIGUSR1 does.
func (t *thread) installs(nr uint64) bool {
	const usr1 = uint64(unix.SIGUSR1)
	if !t.space.wide {
		return nr == 174 && t.regs.Rbx == usr1 && t.regs.Rcx != 0
	}
	return nr == unix.SYS_RT_SIGACTION && t.regs.Rdi == usr1 && t.regs.Rsi != 0
}

// changesMappings reports whether a system call may change the mappings. Numbers: syscalls(2),
// linux/arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl.
func (s *space) changesMappings(nr uint64) bool {
	if !s.wide {
		switch nr {
		case 45, 90, 91, 125, 163, 192: // brk mmap munmap mprotect mremap mmap2
			return true
		}
		return false
	}
	switch nr {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MREMAP,
		unix.SYS_SHMAT, unix.SYS_SHMDT:
		return true
	}
	return false
}

// isSigreturn reports whether a system call ends a signal handler.
func (s *space) isSigreturn(nr uint64) bool {
	if s.wide {
		return nr == unix.SYS_RT_SIGRETURN
	}
	return nr == 119 || nr == 173
}

// handlerEntered looks for proof that the kernel has built a signal frame: a blocked signal is
// queued and an ignored one dropped, and then the step went on as any other. The frame holds
// the interrupted registers; they must be those of before.
func (s *session) handlerEntered(t *thread, before point) bool {
	pc, sp, ok := t.space.savedContext(t.at.sp)
	const restart = 2 // a system call that starts again is interrupted before its instruction
	if !ok || sp != before.sp || (pc != before.pc && pc != before.pc-restart) {
		return false
	}
	restorer, ok := t.space.word(t.at.sp, t.space.wordSize())
	if !ok {
		return false
	}
	t.truth.signal(point{pc: pc, sp: sp}, t.at, restorer)
	s.report.Signals++
	return true
}

// savedContext reads PC and SP that a signal frame at sp saved. Layouts: struct rt_sigframe in
// linux/arch/x86/include/asm/sigframe.h; struct sigcontext_64 and sigcontext_32 in sigcontext.h.
// 64-bit: pretcode 8, ucontext: flags, link, stack 40, then gregs: rsp is the 16th, rip the 17th.
// 32-bit: pretcode, sig, then sigcontext, or with siginfo: pretcode, sig, two pointers, siginfo 128,
// ucontext: flags, link, stack 20; in sigcontext esp is at 28, eip at 56.
func (s *space) savedContext(sp uint64) (pc, saved uint64, ok bool) {
	var b [256]byte
	if n, _ := s.ReadMem(b[:], memAddr(sp)); n < len(b) {
		return 0, 0, false
	}
	if s.wide {
		return binary.LittleEndian.Uint64(b[176:]), binary.LittleEndian.Uint64(b[168:]), true
	}
	context := 8
	if info := binary.LittleEndian.Uint32(b[8:]); uint64(info) == sp+16 {
		context = 16 + 128 + 20
	}
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(b[context+i:])) }
	return word(56), word(28), true
}

// compareAndResume compares the stack of t if it is its turn, and lets it run one instruction.
func (s *session) compareAndResume(t *thread) error {
	if t.space.dirty {
		if err := t.space.refresh(); err != nil {
			return err
		}
	}
	if s.report.Steps >= s.opt.Start && s.report.Steps%uint64(s.opt.Every) == 0 {
		if err := s.compare(t); err != nil {
			return err
		}
		if s.opt.Max > 0 && s.report.Points >= s.opt.Max {
			return errEnough
		}
	}
	return s.resume(t, s.injection(t))
}

// injection returns the signal to send with the next step, 0 mostly.
func (s *session) injection(t *thread) unix.Signal {
	if s.opt.Inject > 0 && t.space.handles && s.report.Steps%uint64(s.opt.Inject) == 0 {
		return unix.SIGUSR1
	}
	return 0
}

// resume lets t run one instruction, delivering sig.
func (s *session) resume(t *thread, sig unix.Signal) error {
	t.in = t.space.instruction(t.at.pc)
	t.delivered = sig
	if sig == 0 && t.atSkip() {
		t.free = true
		return ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
	}
	return ptrace(unix.PTRACE_SINGLESTEP, t.tid, 0, uintptr(sig))
}
