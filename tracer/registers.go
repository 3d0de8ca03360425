//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"golang.org/x/sys/unix"
)

// registers are those of one stopped thread, with what else only its tracer can read.
type registers struct {
	regs    regs.Registers // Arch is nil until they were had
	tp      mem.Addr       // thread pointer, 0 if not set
	hasTP   bool           // or unknown
	pacMask uint64
	size    int // bytes of the note that they came in
}

// read fills r from the stopped thread tid of p, by way of note. It fails with ErrNoThread if it was killed while it
// was stopped, *KernelError, *WordSizeError or *regs.LayoutError.
func (r *registers) read(p *Process, tid int, note *[noteBytes]byte) error {
	n, errno := getRegset(tid, notePRStatus, note[:])
	switch errno {
	case 0:
	case unix.ESRCH:
		return ErrNoThread
	default:
		return &KernelError{Request: "PTRACE_GETREGSET", Err: errno}
	}
	a, err := regs.ByNote(p.host, n)
	if err != nil {
		return err
	}
	if a.WordSize > wordSize {
		return &WordSizeError{PID: p.pid}
	}
	if r.regs, err = a.Decode(note[:n]); err != nil {
		return err
	}
	r.tp, r.hasTP = threadPointer(a, note[:n])
	r.pacMask, r.size = 0, n
	switch a {
	case regs.ARM64:
		r.pacMask = pac(tid, note)
		r.tp, r.hasTP = tlsRegister(tid, note)
	case regs.I386:
		r.tp, r.hasTP = segmentBase(tid, note)
	}
	return nil
}

// pac reads the bits of an arm64 address that hold its authentication code; none where the
// CPU has no such codes.
// Source: struct user_pac_mask in linux/arch/arm64/include/uapi/asm/ptrace.h.
func pac(tid int, note *[noteBytes]byte) uint64 {
	n, e := getRegset(tid, notePACMask, note[:16])
	if e != 0 || n != 16 {
		return 0
	}
	return regs.ARM64.Order.Uint64(note[8:])
}

// tlsRegister reads the thread pointer of an arm64 thread.
// Source: tls_get in linux/arch/arm64/kernel/ptrace.c: tpidr_el0 comes first.
func tlsRegister(tid int, note *[noteBytes]byte) (mem.Addr, bool) {
	n, e := getRegset(tid, noteARMTLS, note[:8])
	if e != 0 || n != 8 {
		return 0, false
	}
	return mem.Addr(regs.ARM64.Order.Uint64(note[:])), true
}

// segmentBase reads the base of the segment that holds a 386 thread's descriptor; 0 if
// there is none.
// Source: regset_tls_get in linux/arch/x86/kernel/tls.c: three struct user_desc.
func segmentBase(tid int, note *[noteBytes]byte) (mem.Addr, bool) {
	n, e := getRegset(tid, note386TLS, note[:48])
	if e != 0 || n < 8 {
		return 0, false
	}
	return mem.Addr(regs.I386.Order.Uint32(note[4:])), true
}

// threadPointer takes the thread pointer out of a NT_PRSTATUS note where it holds one.
// Source: user_regs_struct or user_pt_regs of each architecture; the psABIs for which
// register it is.
func threadPointer(a *regs.Arch, note []byte) (mem.Addr, bool) {
	word := -1
	switch a {
	case regs.AMD64:
		word = 21 // fs_base
	case regs.RISCV64:
		word = 4 // tp
	case regs.LOONG64:
		word = 2 // $tp
	case regs.PPC64LE:
		word = 13 // r13
	case regs.S390X:
		word = 18 // access registers 0 and 1, the high half first
	}
	if word < 0 || len(note) < (word+1)*8 {
		return 0, false
	}
	return mem.Addr(a.Order.Uint64(note[word*8:])), true
}
