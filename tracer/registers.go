//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tracer/ptrace"
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
func (r *registers) read(p *Process, tid int, note *[ptrace.NoteBytes]byte) error {
	n, errno := ptrace.GetRegset(tid, ptrace.NotePRStatus, note[:])
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
	if a.WordSize > ptrace.WordSize {
		return &WordSizeError{PID: p.pid}
	}
	if r.regs, err = a.Decode(note[:n]); err != nil {
		return err
	}
	r.pacMask, r.size = 0, n
	if a == regs.ARM64 {
		r.pacMask = pac(tid, note)
	}
	r.regs.SetVectors(vectors(a, tid, note))
	r.tp, r.hasTP = a.ThreadPointer(note[:n], tlsNote(a, tid, note))
	return nil
}

// pac reads the bits of an arm64 address that hold its authentication code; none where the
// CPU has no such codes.
// Source: struct user_pac_mask in linux/arch/arm64/include/uapi/asm/ptrace.h.
func pac(tid int, note *[ptrace.NoteBytes]byte) uint64 {
	n, e := ptrace.GetRegset(tid, ptrace.NotePACMask, note[:16])
	if e != 0 || n != 16 {
		return 0
	}
	return regs.ARM64.Order.Uint64(note[8:])
}

// vectors reads how long the vectors of a stopped thread are, in bytes; 0 where that is not known, or matters to no
// frame.
func vectors(a *regs.Arch, tid int, note *[ptrace.NoteBytes]byte) uint64 {
	typ := a.VectorNote()
	if typ == 0 {
		return 0
	}
	n, e := ptrace.GetRegset(tid, uintptr(typ), note[:regs.VectorHeader])
	if e != 0 {
		return 0
	}
	return a.VectorLength(note[:min(n, regs.VectorHeader)])
}

// tlsNote reads the note with the thread pointers of a stopped thread into note; nil where there is none.
func tlsNote(a *regs.Arch, tid int, note *[ptrace.NoteBytes]byte) []byte {
	typ := a.TLSNote()
	if typ == 0 {
		return nil
	}
	n, e := ptrace.GetRegset(tid, uintptr(typ), note[:ptrace.TLSBytes])
	if e != 0 || n > ptrace.TLSBytes {
		return nil
	}
	return note[:n]
}
