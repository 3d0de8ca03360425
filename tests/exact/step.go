//go:build linux && (amd64 || arm64)

package exact

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// add takes a thread that is stopped, to step it or to let it run freely. truth is nil for a new stack.
func (s *session) add(tid int, sp *space, truth *Truth) error {
	t := &thread{tid: tid, space: sp, free: s.free}
	s.threads[tid] = t
	s.spaces[sp.pid] = sp
	s.report.Threads++
	if t.free {
		return s.resume(t, 0)
	}
	if err := s.begin(t, truth); err != nil {
		return err
	}
	return s.compareAndResume(t)
}

// begin makes t ready to be stepped. truth is nil for a stack of which nothing is known.
func (s *session) begin(t *thread, truth *Truth) error {
	if err := s.readRegisters(t); err != nil {
		return err
	}
	sp := t.space
	sp.wide = isWide(&t.regs)
	if truth == nil {
		truth = newTruth(t.at, sp.wordSize(), &sp.parked)
		truth.link = hasLink
	}
	t.truth = truth
	at := func(pc uint64) string { return function(s.names.find(sp.table, pc)) }
	truth.calls = func(pc uint64) bool { return slices.Contains(stackCalls, at(pc)) }
	truth.callsBack = func(pc uint64) bool { return at(pc) == "runtime.cgocallback" }
	truth.owner = func(pc uint64) uint64 {
		if at(pc) != resumer {
			return 0
		}
		return goroutine(&t.regs)
	}
	return nil
}

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
	t.at = place(&t.regs)
	return nil
}

// stepped handles the stop behind one instruction, or at the entry of a signal handler.
func (s *session) stepped(t *thread) error {
	before, in, sig := t.at, t.in, t.delivered
	nr, args := callOf(&t.regs)
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
			pushed, _ := t.returnsTo()
			t.truth.sigreturn(t.at, pushed)
		} else {
			t.truth.step(in, before, t.at)
		}
		if t.truth.entering(in) {
			word, ok := t.returnsTo()
			t.truth.begun(t.at, word, ok && s.mayBegin(t, word))
		}
		if in.kind == syscall_ {
			s.afterCall(t, nr, args)
		}
	}
	return s.compareAndResume(t)
}

// mayBegin reports whether the first function of a stack, which t has entered, may return to ra. A goroutine begins at
// the end of all of them; one that was there before goes on anywhere.
func (s *session) mayBegin(t *thread, ra uint64) bool {
	if t.truth.cur.owner != 0 {
		return function(s.names.find(t.space.table, ra)) == firstCaller
	}
	return ra != t.at.pc && t.space.isCode(ra)
}

// afterCall notes what a system call means for later steps.
func (s *session) afterCall(t *thread, nr uint64, args [2]uint64) {
	switch {
	case t.space.changesMappings(nr):
		t.space.dirty = true
	case t.installs(nr, args):
		t.space.handles = true
	}
}

// handlerEntered looks for proof that the kernel has built a signal frame: a blocked signal is
// queued and an ignored one dropped, and then the step went on as any other. The frame holds
// the interrupted registers; they must be those of before.
func (s *session) handlerEntered(t *thread, before point) bool {
	pc, sp, ok := t.space.savedContext(t.at.sp)
	// A system call that starts again is interrupted before its instruction.
	if !ok || sp != before.sp || (pc != before.pc && pc != before.pc-callLength) {
		return false
	}
	restorer, ok := t.returnsTo()
	if !ok {
		return false
	}
	t.truth.signal(point{pc: pc, sp: sp}, t.at, restorer)
	s.report.Signals++
	return true
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
	if s.report.Steps%256 == 0 && !s.until.IsZero() && time.Now().After(s.until) {
		return errEnough
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
	if t.free {
		return ptrace(unix.PTRACE_CONT, t.tid, 0, uintptr(sig))
	}
	t.in = t.space.instruction(t.at.pc)
	if err := t.passStore(); err != nil {
		return err
	}
	t.delivered = sig
	if t.isMark() && sig == 0 {
		t.free = true
		return ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
	}
	return ptrace(unix.PTRACE_SINGLESTEP, t.tid, 0, uintptr(sig))
}
