package unwind

import (
	"encoding/binary"
	"errors"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Code of arm64 may put its frame record anywhere into its frame: GCC puts it lowest, clang
// below the other saved registers, Go below SP. So a step by the record alone tells the
// caller's PC and frame pointer, but of its SP only a lower bound: the end of the record.
// The cursor is loose then, until a frame is found whose CFA does not rest on SP.
// Source: Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6: "the location of the
// frame record within a stack frame is not specified".

// recordFloats tells whether a record says nothing exact of the caller's SP.
func recordFloats(a *regs.Arch) bool { return a == regs.ARM64 }

var errLoose = errors.New("CFA rests on SP, which the frame record of the callee does not tell")

// cfaByRecord computes the CFA of a row that rests on SP while SP is a lower bound: by the
// frame pointer, if the row shows a frame record and the function makes x29 point to it.
func (c *cursor) cfaByRecord(row *cfi.Row) (mem.Addr, error) {
	fp, ok := c.regs.FP()
	rec, saved := c.arch.Record, row.Rule(uint64(c.arch.FP))
	record := saved.Kind == cfi.Offset && row.RA.Kind == cfi.Offset && row.RA.N-saved.N == rec.RA-rec.SavedFP
	if !ok || !record || !c.setsFP() {
		return 0, errLoose
	}
	cfa := fp + mem.Addr(rec.SavedFP-saved.N)
	if sp, _ := c.regs.SP(); cfa < sp+mem.Addr(row.CFA.N) {
		return 0, errLoose
	}
	return cfa, nil
}

// prologueWindow is how many bytes before a PC are searched for the instruction that sets x29
// where the beginning of the function is not known.
const prologueWindow = 4096

// maxFunction bounds how much of a function is read.
const maxFunction = 1 << 20

// setsFP tells whether the top frame's function sets x29 before its PC, by "add x29, sp, #n"
// (also "mov x29, sp") or "sub x29, sp, #n".
// Source: Arm Architecture Reference Manual, C6.2: ADD and SUB (immediate).
func (c *cursor) setsFP() bool {
	f := c.top()
	if f.Module == nil || f.Module.Err != nil {
		return false
	}
	pc := uint64(f.Module.Vaddr(f.PC)) &^ 3
	start, _, ok := c.bounds(f, f.Module.Base())
	if !ok || start > pc || pc-start > maxFunction {
		start = pc - min(pc, prologueWindow)
	}
	for v := start; v < pc; v += 4 {
		text, ok := f.Module.Text(module.Vaddr(v))
		if !ok || len(text) < 4 {
			continue
		}
		op := binary.LittleEndian.Uint32(text) & 0xffc003ff
		if op == 0x910003fd || op == 0xd10003fd {
			return true
		}
	}
	return false
}

// maxSignalFrame bounds the search for a signal frame: the handler's own frame, and the frame
// with the largest vector registers.
const maxSignalFrame = 1 << 20

// signalFrame returns where the signal frame of the trampoline at the top begins: at SP. Where
// that is only a lower bound it is searched: behind the signal frame, where x29 points, the
// kernel puts a frame record of the interrupted x29 and x30, which the signal frame holds too.
// Source: setup_return in linux/arch/arm64/kernel/signal.c.
func (c *cursor) signalFrame(sp mem.Addr, layout savedContext) (mem.Addr, *ending) {
	if !c.loose {
		return sp, nil
	}
	notFound := end(NoRule, "signal frame not found above %#x", uint64(sp))
	at, ok := c.regs.FP()
	if !ok || at < sp || at-sp > maxSignalFrame {
		return 0, notFound
	}
	fp, err := c.word(at)
	if err != nil {
		return 0, failed(ReadFault, err)
	}
	lr, err := c.word(at + 8)
	if err != nil {
		return 0, failed(ReadFault, err)
	}
	holds := func(base mem.Addr, r regs.Reg, want uint64) bool {
		v, err := c.word(base + mem.Addr(layout.base+int64(r)*8))
		return err == nil && v == want
	}
	for base := (sp + 15) &^ 15; base < at; base += 16 {
		if holds(base, regs.ARM64FP, fp) && holds(base, regs.ARM64LR, lr) {
			return base, nil
		}
	}
	return 0, notFound
}
