//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// callOf is the system call that a thread is in, which slept before it was stopped, by its registers. It is for where
// /proc/TID/syscall is refused, and nil where registers do not show it: the kernel keeps the number apart from the
// result on x86 alone.
// Source: orig_ax of struct pt_regs in linux/arch/x86/include/uapi/asm/ptrace.h, which is negative outside of calls.
func callOf(state byte, r *regs.Registers) *snapshot.Syscall {
	a := r.Arch
	if state != 'S' && state != 'D' || a != regs.AMD64 && a != regs.I386 {
		return nil
	}
	number, ok := r.Get(a.Syscall)
	n := int64(number)
	if a.WordSize == 4 {
		n = int64(int32(number))
	}
	if !ok || n < 0 {
		return nil
	}
	call := &snapshot.Syscall{Number: n}
	for i, arg := range a.Args {
		call.Args[i], _ = r.Get(arg)
	}
	call.SP, _ = r.SP()
	call.PC, _ = r.PC()
	return call
}
