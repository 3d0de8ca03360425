package unwind

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// When an exception lands, libgcc writes the registers of the landing place over those that
// its own frame saved for its caller, some 40 instructions before it jumps. What the table
// restores from that frame is then true of the landing place and no longer of the caller, and a
// CFA that rests on such a register skips frames. So these registers are in doubt until a frame
// further up restores them, and a CFA that rests on one must be proved by the call at its
// return address.

// exceptionData are the registers in which a landing place gets its arguments, by DWARF
// number. Only functions that end by an eh_return save them in their frame.
// Source: EH_RETURN_DATA_REGNO of gcc's i386 and aarch64 ports.
var exceptionData = map[*regs.Arch][2]uint64{regs.AMD64: {0, 1}, regs.I386: {0, 2}, regs.ARM64: {0, 1}}

// landsExceptions reports whether row is of a function that can end by an eh_return.
func landsExceptions(row *cfi.Row, a *regs.Arch) bool {
	data, ok := exceptionData[a]
	return ok && row.Rule(data[0]).Kind == cfi.Offset && row.Rule(data[1]).Kind == cfi.Offset
}

// doubtAfter updates the registers in doubt when row was applied.
func (c *cursor) doubtAfter(row *compiled) {
	for i := range row.Regs {
		if row.Regs[i].Rule.Kind != cfi.Offset || row.Regs[i].Reg >= 64 {
			continue
		}
		bit := uint64(1) << row.Regs[i].Reg
		c.doubt &^= bit
		if row.lands {
			c.doubt |= bit
		}
	}
}

// inDoubt reports whether the CFA of row rests on a register in doubt.
func (c *cursor) inDoubt(row *compiled) bool {
	return row.CFA.Kind == cfi.Register && row.CFA.Reg < 64 && c.doubt>>row.CFA.Reg&1 == 1
}

// proveCFA returns the CFA of the top frame, for which row gave cfa on a register in doubt. A
// direct call to this function must be before the return address; where one to another
// function is there, the word above SP is looked for that such a call left. An indirect
// call proves nothing, and the table is believed.
func (c *cursor) proveCFA(row *compiled, cfa mem.Addr) mem.Addr {
	start, ok := c.functionStart()
	slot := c.returnSlot(row, cfa)
	if !ok || slot == 0 {
		return cfa
	}
	width := mem.Addr(c.arch.WordSize)
	if direct, here := c.calls(slot, start); here || !direct {
		return cfa
	}
	sp, _ := c.regs.SP()
	left := c.search(c.w.modules.Budget())
	for i, at := 0, sp; i < searchWords && at < c.hi && left(); i, at = i+1, at+width {
		if _, here := c.calls(at, start); here {
			return at - slot + cfa
		}
	}
	c.next.Note = landingNote
	return cfa
}

const landingNote = "frames before this one may be missing: an exception is landing"

// noteLanding marks the frame to be pushed if the return address of the top frame, whose
// function lands exceptions, is not behind a call of that function: then it was written
// over too, and the true one is lost.
func (c *cursor) noteLanding(row *compiled, cfa mem.Addr) {
	start, ok := c.functionStart()
	slot := c.returnSlot(row, cfa)
	if !ok || slot == 0 {
		return
	}
	if direct, here := c.calls(slot, start); direct && !here {
		c.next.Note = landingNote
	}
}

// functionStart is where the function of the top frame begins by its table.
func (c *cursor) functionStart() (mem.Addr, bool) {
	f := c.top()
	if f.Module == nil || !hasCode(c.arch) || c.w.table(f.Module).cfi == nil {
		return 0, false
	}
	fde, err := c.w.table(f.Module).cfi.FDE(uint64(f.Module.Vaddr(f.LookupPC())))
	return mem.Addr(fde.Start + f.Module.Base()), err == nil
}

// calls looks at the word at a: is it the return address of a direct call, and of one to target?
func (c *cursor) calls(a, target mem.Addr) (direct, here bool) {
	v, err := c.word(a)
	if err != nil {
		return true, false
	}
	s := c.returnSite(c.code(v))
	if s == nil || !c.mayReturn(s) || s.call.kind == noCall {
		return true, false // no call at all proves that the table is wrong
	}
	to, fixed := c.target(s)
	if !fixed {
		return false, false
	}
	return true, to == target || c.throughPLT(to) == target
}
