//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// dumped is one thread of a dump.
type dumped struct {
	tracee
	facts
	*registers // in memory that the Snapshot keeps
	stackCopy
	copied     []mem.Range // by Copiers
	shortfalls []snapshot.Shortfall
	crowded    bool // there was no room left for its stack
	late       bool // it did not stop with the others
	why        string
	err        error // why it cannot be read
}

// showStop puts what the stop saw in the place of what /proc showed before: state and call are of the moment of the
// stack. What only /proc shows, the place in the kernel, stays if the thread was in the same call then.
func (t *dumped) showStop() {
	call, at := t.blockedIn()
	switch {
	case t.job:
		if t.state != 'T' { // it was stopped since
			t.state, t.syscall, t.kernel = 'T', call, kernelPlace{}
		}
	case !at:
		t.state, t.syscall, t.kernel = 'R', nil, kernelPlace{}
	case t.state == 'S' && t.syscall != nil && (call == nil || *t.syscall == *call):
	default:
		t.state, t.syscall, t.kernel = 'S', call, kernelPlace{}
	}
}

// blockedIn is the call that a stopped thread was blocked in, if it was in one; nil if that is the one that /proc
// showed before. The registers of x86 say it. Elsewhere it is in the call that it was in if it stands where that is
// made, as the kernel has stepped back to the instruction by now, or behind it.
func (t *dumped) blockedIn() (call *snapshot.Syscall, blocked bool) {
	if _, _, known := inCall(&t.regs); known {
		call = snapshot.Interrupted(&t.regs)
		return call, call != nil
	}
	if t.syscall == nil {
		return nil, false
	}
	const longestCall = 4 // bytes of an instruction that makes a system call
	pc, _ := t.regs.PC()
	sp, _ := t.regs.SP()
	return nil, sp == t.syscall.SP && pc <= t.syscall.PC && t.syscall.PC-pc <= longestCall
}

// describe is the thread as the Snapshot shows it, which keeps of t the registers and what was copied: that goes when
// the Snapshot forgets it.
func (t *dumped) describe() snapshot.Thread {
	th := snapshot.Thread{TID: t.tid, Comm: t.comm, State: t.state, PACMask: t.pacMask,
		Stack: t.stack, StackErr: t.shortness(), Copied: t.copied, Shortfalls: t.shortfalls, TP: t.tp, HasTP: t.hasTP,
		Syscall: t.syscall, NotStopped: t.why, KernelWorker: t.worker,
		Wchan: t.kernel.wchan, KernelStack: t.kernel.stack}
	if t.freed > t.interrupted {
		th.Stopped = t.freed - t.interrupted
	}
	if t.regs.Arch != nil {
		th.Registers, th.Arch = &t.regs, t.regs.Arch
		return th
	}
	switch {
	case t.why != "":
	case t.worker:
		th.NotStopped = "worker of the kernel"
	case t.state == 'Z':
		th.NotStopped = "has ended; other threads of the process live"
	case t.err != nil:
		th.NotStopped = t.err.Error()
	default:
		th.NotStopped = "not reached within the longest pause"
	}
	return th
}
