package v8

import (
	"fmt"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// saving is what code does that saves more than a frame record, as C++ may have called it. On arm64 regular
// expressions do: x19 to x28 lie above their frame record, so that the stack pointer of the caller is not right behind
// that. From V8 11 on they have a frame type below it.
// Source: RegExpMacroAssemblerARM64::GetCode in src/regexp/arm64/regexp-macro-assembler-arm64.cc of V8.
type saving struct {
	entry mem.Addr // which the first instruction of the code jumps to
	size  int      // of the instructions from there on, no more than maxSaving, bytes
	row   cfi.Row  // once it has its frame pointer, by that
}

// maxSaving bounds the code from the entry to the return, bytes: how much there is depends on captures.
const maxSaving = 4 << 10

// savingARM64 reads code that begins at start; nil if it saves a frame record alone.
func savingARM64(start mem.Addr, size int, v *view.View) *saving {
	first := arm64.Code{Start: uint64(start), Data: v.UpTo(start, min(size, instruction))}
	to, _, jumps := first.Jump(uint64(start))
	if entry := mem.Addr(to); jumps && entry > start && entry-start < mem.Addr(size) {
		size -= int(entry - start)
		return savingFrom(entry, min(size, maxSaving), v.UpTo(entry, min(size, maxBuilt)))
	}
	return nil
}

// savingFrom reads the instructions at entry, of which code is the beginning.
func savingFrom(entry mem.Addr, size int, code []byte) *saving {
	for i := 0; i+2*instruction <= len(code); i += instruction {
		n, sets := arm64.Word(code[i:]).SetsFP()
		if !sets {
			continue
		}
		text := arm64.Code{Start: uint64(entry), Data: code}
		row, ok := text.FromEntry(uint64(entry), text.End(), uint64(entry)+uint64(i))
		record := row.CFA.N - n // how far below the CFA the frame record is
		if !ok || row.CFA.Reg != uint64(regs.ARM64SP) || record <= 2*wordSize || row.RA.Kind != cfi.Offset ||
			row.RA.N != wordSize-record {
			return nil
		}
		row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.ARM64FP), N: record}
		return &saving{entry, size, row}
	}
	return nil
}

// savingAt is what the code does at pc, in a; nil if it saves a frame record alone, or that is not known.
func (r *Runtime) savingAt(a *area, pc mem.Addr, v *view.View) *saving {
	if !r.mayHaveSaving(a) {
		return nil
	}
	c, err := r.codeAt(a, pc, r.code(v))
	if err != nil {
		return nil
	}
	return c.saving
}

// mayHaveSaving reports whether code in a may save more than a frame record.
func (r *Runtime) mayHaveSaving(a *area) bool {
	return a.made && r.port.saving != nil
}

// mayBeRegexp reports whether code that has called, in the frame at fp, may be a regular expression's.
func (r *Runtime) mayBeRegexp(fp mem.Addr, v *view.View) bool {
	if r.layout.Code.Inline {
		return true // it does not say so
	}
	marker, err := v.Word(fp + mem.Addr(r.layout.Frame.Context))
	name, _ := r.layout.FrameType(int32(marker >> 1))
	return err == nil && marker&1 == 0 && name == irregexpFrame
}

// crossMade goes from code that was made to its caller; it is false where what the code is does not matter for that.
func (r *Runtime) crossMade(a *area, f *unwind.Frame, now *regs.Registers, v *view.View) (regs.Registers, bool, error) {
	if !r.mayHaveSaving(a) {
		return regs.Registers{}, false, nil
	}
	if fp, known := now.FP(); f.Interrupted || known && r.mayBeRegexp(fp, v) {
		if s := r.savingAt(a, f.LookupPC(), v); s != nil {
			next, err := s.caller(f.Interrupted, now, r.code(v), v)
			return next, true, err
		}
	}
	if f.Interrupted {
		return regs.Registers{}, false, nil
	}
	next, err := callerOf(now, v)
	return next, true, err
}

// caller are the registers of the caller of s, whose registers are now: at a return address, or interrupted.
func (s *saving) caller(interrupted bool, now *regs.Registers, code, v *view.View) (regs.Registers, error) {
	pc, _ := now.PC()
	row := s.row
	if interrupted && pc >= s.entry && pc-s.entry < mem.Addr(s.size) {
		text := arm64.Code{Start: uint64(s.entry), Data: code.UpTo(s.entry, s.size)}
		if r, ok := text.FromEntry(text.Start, text.End(), uint64(pc)); ok {
			row = r // which saves its registers, or has given them back
		}
	} else if interrupted && pc < s.entry && s.jumps(pc, code) {
		return atLink(now), nil
	}
	return applied(&row, now, v)
}

// jumps reports whether pc is the first instruction, which jumps to the entry.
func (s *saving) jumps(pc mem.Addr, code *view.View) bool {
	first := arm64.Code{Start: uint64(pc), Data: code.UpTo(pc, instruction)}
	to, _, ok := first.Jump(uint64(pc))
	return ok && mem.Addr(to) == s.entry
}

// applied are the registers that row says of the caller.
func applied(row *cfi.Row, now *regs.Registers, v *view.View) (regs.Registers, error) {
	base, ok := now.Get(regs.Reg(row.CFA.Reg))
	sp, _ := now.SP()
	cfa := mem.Addr(int64(base) + row.CFA.N)
	if row.CFA.Kind != cfi.Register || !ok || cfa < sp || cfa-sp > maxFrame || cfa%wordSize != 0 {
		return regs.Registers{}, fmt.Errorf("%#x is no end of a frame (stack pointer %#x)", uint64(cfa), uint64(sp))
	}
	next := *now
	next.Set(now.Arch.SP, uint64(cfa))
	for _, rule := range append(row.Regs[:len(row.Regs):len(row.Regs)], cfi.RegRule{Reg: row.RAReg, Rule: row.RA}) {
		reg := regs.Reg(rule.Reg)
		switch rule.Rule.Kind {
		case cfi.Offset:
			saved, err := v.Word(mem.Addr(int64(cfa) + rule.Rule.N))
			if err != nil {
				return regs.Registers{}, err
			}
			next.Set(reg, saved)
		case cfi.Unspecified:
		default:
			next.Forget(reg)
		}
	}
	if _, ok := next.Get(now.Arch.LR); !ok {
		return regs.Registers{}, unwind.ErrDeclined
	}
	return atLink(&next), nil
}
