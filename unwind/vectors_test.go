package unwind_test

import (
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
)

// A function that saves vectors has a frame as long as the processor makes them: its table says CFA = SP+32+8*VG, where
// VG is a register of the tables alone.
func TestFrameOfVectors(t *testing.T) {
	a := regs.ARM64
	d := newDrawn(a)
	d.tables = &ehFrame{order: a.Order}
	cie := d.tables.cie("zR", 30, defCFA, 31, 0)
	// DW_OP_breg31 32; DW_OP_bregx 46, 0; DW_OP_lit8; DW_OP_mul; DW_OP_plus
	d.tables.fde(cie, 0x10100, 16, defExpression, 8, 0x8f, 32, 0x92, 46, 0, 0x38, 0x1e, 0x22, offset|30, 1)
	d.tables.fde(cie, 0x10200, 16, undefined, 30)
	d.callTo(0x208, 0x100)
	d.stack.Skip(4 + 8 - 1).Word(0x10208)
	set := map[regs.Reg]uint64{regs.ARM64PC: 0x10108, regs.ARM64SP: stackBase + 0x1000, regs.ARM64VG: 8}
	s := d.walk(t, unwind.Options{}, set)
	if got, want := show(s), "0x10108(context) 0x10208(cfi) root"; got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
	}
	delete(set, regs.ARM64VG)
	s = d.walk(t, unwind.Options{}, set)
	if len(s.Frames) != 1 || s.Stop != unwind.BadCFA {
		t.Errorf("without the length: got %s (%v), want an end that says so", show(s), s.Err)
	}
}
