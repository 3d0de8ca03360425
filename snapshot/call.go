package snapshot

import "github.com/fpstack/fpstack/regs"

// CallOf is the system call that a thread is in, by its registers; nil where these do not show one: the kernel keeps
// the number apart from the result on x86 alone, and has none there when the thread came by an interrupt or a fault.
// Whether the call has returned is the caller's to know.
// Source: orig_ax of struct pt_regs in linux/arch/x86/include/uapi/asm/ptrace.h, which is negative outside of calls.
func CallOf(r *regs.Registers) *Syscall {
	a := r.Arch
	if a != regs.AMD64 && a != regs.I386 {
		return nil
	}
	n, ok := signed(r, a.Syscall)
	if !ok || n < 0 {
		return nil
	}
	call := &Syscall{Number: n}
	for i, arg := range a.Args {
		call.Args[i], _ = r.Get(arg)
	}
	call.SP, _ = r.SP()
	call.PC, _ = r.PC()
	return call
}

// Interrupted is CallOf of a thread that a signal, a stop or the end of its process took out of the call.
// Source: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and ERESTART_RESTARTBLOCK in linux/include/linux/errno.h, which
// no program sees; calls that are never made again give EINTR.
func Interrupted(r *regs.Registers) *Syscall {
	call := CallOf(r)
	if call == nil {
		return nil
	}
	switch result, _ := signed(r, r.Arch.Result); result {
	case -512, -513, -514, -516, -4:
		return call
	}
	return nil
}

// signed is the value of a register as a signed word.
func signed(r *regs.Registers, i regs.Reg) (int64, bool) {
	v, ok := r.Get(i)
	if r.Arch.WordSize == 4 {
		return int64(int32(v)), ok
	}
	return int64(v), ok
}
