package unwind

import (
	"cmp"
	"errors"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Code of arm64 may put its frame record anywhere into its frame ([regs.Record.Anywhere]): GCC puts
// it lowest, clang below the other saved registers, Go below SP. So a step by the record alone tells
// the caller's PC and frame pointer, but of its SP only a lower bound: the end of the record.
// So does a step by LR out of a function that has moved SP. SP is only a bound then, until a
// frame is found whose CFA does not rest on SP.
// Source: Procedure Call Standard for the Arm 64-bit Architecture, "The Frame Pointer".

var errLoose = errors.New("CFA rests on SP, which is not known behind a callee without table")

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

// fixBetweenCalls replaces the row at v where the table describes calls alone. LLVM writes such tables if asked for
// none that are asynchronous, and Rust for small code: one row has the whole prologue, as if SP did not move there, and
// none has the end. So SP moves between where the row begins and the PC, near one of the two; of other tables a row
// ends there.
// Source: needsAsyncDwarfUnwindInfo in llvm/lib/Target/AArch64/AArch64MachineFunctionInfo.cpp.
func (c *cursor) fixBetweenCalls(s *site, v module.Vaddr) {
	const near = 64 * 4 // bytes
	pc := uint64(v)
	if s.row == nil || s.origin != CFI || s.row.CFA.Kind != cfi.Register || s.row.CFA.Reg != uint64(regs.ARM64SP) {
		return
	}
	fde, err := c.w.table(s.module).cfi.FDE(pc)
	if err != nil || fde.Start > pc {
		return
	}
	t, bias, ok := c.codeAt(s.pc, s.module)
	code, isARM64 := t.instructions.(*arm64.Code)
	if !ok || !isARM64 || bias != s.module.Base() {
		return
	}
	if from := max(s.row.Start, fde.Start, pc-min(pc, near)); !code.Before(from, pc).MovesSP {
		return
	}
	c.earn(t.budget)
	row, ok := code.FromEntry(fde.Start, fde.End, pc)
	c.refused = cmp.Or(c.refused, t.budget.Err())
	if ok && row.CFA.Kind == cfi.Register && row.CFA.Reg == s.row.CFA.Reg && row.CFA.N != s.row.CFA.N {
		s.row, s.origin = &row, Code
	}
}

// prologueWindow is how many bytes before the PC are searched for what a prologue does where nobody knows where the
// function begins.
const prologueWindow = 4096

// functionCode is the code of the top frame's function up to its PC: from start, which is known to be where it begins,
// or else as far before the PC as can be said.
func (c *cursor) functionCode() (code *arm64.Code, start, pc uint64, known bool) {
	f := c.top()
	t, bias, ok := c.codeAt(f.LookupPC(), f.Module)
	if !ok {
		return nil, 0, 0, false
	}
	code, _ = t.instructions.(*arm64.Code)
	pc = uint64(f.PC) - bias
	if start, _, known = c.bounds(f, bias); known && start <= pc {
		return code, start, pc, true
	}
	return code, max(pc-min(pc, prologueWindow), t.start), pc, false
}

// setsFP reports whether the function of the top frame has made x29 point to a record of its own: an instruction before
// the PC does so. Else x29 is that of a function further out, or anything.
func (c *cursor) setsFP() bool {
	s := c.at
	if s == nil {
		return false
	}
	c.reread(s)
	if !s.setsFPRead {
		s.setsFP, s.setsFPRead = c.readSetsFP(), true
	}
	return s.setsFP
}

func (c *cursor) readSetsFP() bool {
	code, start, pc, known := c.functionCode()
	if code == nil {
		return false
	}
	if !known {
		start = code.BehindEnd(start, pc)
	}
	return code.Before(start, pc).SetsFP
}

// movesSP reports whether the function of the top frame may have moved SP.
func (c *cursor) movesSP() bool {
	code, start, pc, _ := c.functionCode()
	return code == nil || code.Before(start, pc).MovesSP
}

// entered reports whether a direct call that ends at ra leads to the function of the interrupted
// frame f: to an address before its PC with no return between the two.
func (c *cursor) entered(f *Frame, ra mem.Addr) bool {
	code, _, pc, _ := c.functionCode()
	s := c.returnSite(ra)
	if code == nil || s == nil || s.call.kind != directCall {
		return false
	}
	target := pc - uint64(f.PC-s.call.to)
	return s.call.to <= f.PC && f.PC-s.call.to <= prologueWindow && code.Contains(target) && !code.Returns(target, pc)
}

// Notes of frames that were found by a frame record which may be another function's.
const (
	linkNote  = "a frame may be missing before this one: whether the link register holds a caller is not known"
	otherNote = "frames may be missing before this one: its callee was not seen to make a frame record"
)

// doubtRecord says what speaks against x29 being that of the top frame's function; "" for nothing.
func (c *cursor) doubtRecord() string {
	switch {
	case !c.arch.Record.Anywhere:
		return ""
	case c.top().Interrupted && c.linkRegisterUnproved():
		return linkNote
	case !c.setsFP():
		return otherNote
	}
	return ""
}

// linkRegisterUnproved reports whether the link register of the interrupted top frame may or may
// not hold its caller: the bounds of its function are not known, and its frame record, if it is
// its own, has another return address.
func (c *cursor) linkRegisterUnproved() bool {
	f := c.top()
	v, ok := c.regs.Get(c.arch.LR)
	if !ok || !c.executable(c.code(v)) || c.recordHolds(c.code(v)) {
		return false
	}
	if f.Module == nil {
		return true
	}
	_, _, known := c.bounds(f, f.Module.Base())
	return !known
}

// maxSignalFrame bounds the search for a signal frame: the handler's own frame, and the frame
// with the largest vector registers.
const maxSignalFrame = 128 << 10

// signalFrame returns where the signal frame of the trampoline at the top begins: at SP. Where
// that is only a lower bound it is searched: behind the signal frame, where x29 points, the
// kernel puts a frame record of the interrupted x29 and x30, which the signal frame holds too.
// Source: setup_return in linux/arch/arm64/kernel/signal.c.
func (c *cursor) signalFrame(sp mem.Addr, layout savedContext) (mem.Addr, *ending) {
	if !c.spIsBound {
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
