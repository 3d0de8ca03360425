//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"golang.org/x/sys/unix"
)

// registers reads the registers of a thread that stands.
func (s *stop) registers(t *tracee) bool {
	n, e := getRegset(t.tid, notePRStatus, s.note[:])
	if e != 0 {
		switch {
		case e == unix.ESRCH: // killed while it stood
			s.lost(t)
		case e == unix.EIO:
			t.err = &KernelError{Request: "PTRACE_GETREGSET", Err: e}
		default:
			t.why = "read registers: " + e.Error()
		}
		return false
	}
	a, err := regs.ByNote(s.p.host, n)
	if err == nil && a.WordSize > wordSize {
		err = &WordSizeError{PID: s.p.pid}
	}
	if err == nil {
		t.regs, err = a.Decode(s.note[:n])
	}
	if err != nil {
		t.err = err
		return false
	}
	t.tp = threadPointer(a, s.note[:n])
	switch a {
	case regs.ARM64:
		t.pacMask = s.pac(t.tid)
	case regs.I386:
		t.tp = s.segmentBase(t.tid)
	}
	return true
}

// pac reads the bits of an arm64 address that hold its authentication code; none where the
// CPU has no such codes.
// Source: struct user_pac_mask in linux/arch/arm64/include/uapi/asm/ptrace.h.
func (s *stop) pac(tid int) uint64 {
	n, e := getRegset(tid, notePACMask, s.note[:16])
	if e != 0 || n != 16 {
		return 0
	}
	return regs.ARM64.Order.Uint64(s.note[8:])
}

// segmentBase reads the base of the segment that holds a 386 thread's descriptor; 0 if
// there is none.
// Source: regset_tls_get in linux/arch/x86/kernel/tls.c: three struct user_desc.
func (s *stop) segmentBase(tid int) mem.Addr {
	n, e := getRegset(tid, note386TLS, s.note[:48])
	if e != 0 || n < 8 {
		return 0
	}
	return mem.Addr(regs.I386.Order.Uint32(s.note[4:]))
}

// threadPointer takes the thread pointer out of a NT_PRSTATUS note where it holds one.
// Source: user_regs_struct or user_pt_regs of each architecture; the psABIs for which
// register it is.
func threadPointer(a *regs.Arch, note []byte) mem.Addr {
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
	}
	if word < 0 || len(note) < (word+1)*8 {
		return 0
	}
	return mem.Addr(a.Order.Uint64(note[word*8:]))
}
