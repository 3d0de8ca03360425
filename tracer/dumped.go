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
	registers
	stackCopy
	copied     []mem.Range // by Copiers
	shortfalls []snapshot.Shortfall
	crowded    bool // there was no room left for its stack
	late       bool // it did not stop with the others
	why        string
	err        error // why it cannot be read
}

// describe is the thread as the Snapshot shows it. Its memory is no longer written to.
func (t *dumped) describe() snapshot.Thread {
	th := snapshot.Thread{TID: t.tid, Comm: t.comm, State: t.state, PACMask: t.pacMask,
		Stack: t.stack, StackErr: t.stackCopy.err, Copied: t.copied, Shortfalls: t.shortfalls, TP: t.tp, HasTP: t.hasTP,
		Syscall: t.syscall, NotStopped: t.why, KernelWorker: t.worker,
		Wchan: t.kernel.wchan, KernelStack: t.kernel.stack}
	if t.freed > t.interrupted {
		th.Stopped = t.freed - t.interrupted
	}
	if t.regs.Arch != nil {
		th.Registers, th.Arch = &t.regs, t.regs.Arch
		if asleep := t.state == 'S' || t.state == 'D'; th.Syscall == nil && asleep { // /proc/TID/syscall is refused
			th.Syscall = snapshot.CallOf(&t.regs)
		}
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
