package unwind_test

import (
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
)

// Call frame instructions, DWARF 5, section 7.24.
const (
	defCFA        = 0x0c // register, offset
	defCFAOffset  = 0x0e
	defExpression = 0x0f
	advance       = 0x40 // | bytes
	offset        = 0x80 // | register, units of -8
	undefined     = 0x07
	valOffset     = 0x14 // register, units of -8
	valExpression = 0x16
)

// newTabled is a drawn process whose code has tables. On amd64 the CIE that is returned has the row of
// a function's first instruction: CFA = rsp+8, the return address at CFA-8.
func newTabled(a *regs.Arch) (d *drawn, cie int) {
	d = newDrawn(a)
	d.tables = &ehFrame{order: a.Order}
	return d, d.tables.cie("zR", 16, defCFA, 7, 8, offset|16, 1)
}

// outermost gives the code [from, from+16) a table that ends a stack.
func (d *drawn) outermost(cie int, from uint64) {
	d.tables.fde(cie, from, 16, undefined, 16)
}

// A row that has the augmentation S is of a signal trampoline: it is one itself, also where its
// instructions are not known, and what comes next was interrupted.
func TestSignalRows(t *testing.T) {
	for _, a := range []*regs.Arch{regs.RISCV64, regs.S390X, regs.PPC64LE, regs.LOONG64} {
		t.Run(a.Name, func(t *testing.T) {
			d := newDrawn(a)
			d.tables = &ehFrame{order: a.Order}
			const column = 60 // of no register
			sp := byte(a.SP)
			signal := d.tables.cie("zRS", column, defCFA, sp, 32, offset|column, 1)
			plain := d.tables.cie("zR", column, defCFA, sp, 16, offset|column, 2)
			end := d.tables.cie("zR", column, defCFA, sp, 16, undefined, column)
			// The handler returns to 0x10204, four bytes into the trampoline's table as in the kernel's vDSO.
			d.tables.fde(plain, 0x10100, 16)
			d.tables.fde(signal, 0x10200, 16)
			d.tables.fde(end, 0x10300, 16)
			d.stack.Word(0x10204).Skip(1).Skip(3).Word(0x10300)
			s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{a.PC: 0x10108, a.SP: stackBase + 0x1000})
			if got, want := show(s), "0x10108(context) 0x10204(cfi) 0x10300(cfi) root"; got != want {
				t.Fatalf("got  %s (%v)\nwant %s", got, s.Err, want)
			}
			for i, f := range s.Frames {
				if want := i == 1; f.Signal != want {
					t.Errorf("frame %d: got Signal %v, want %v", i, f.Signal, want)
				}
				if want := i != 1; f.Interrupted != want {
					t.Errorf("frame %d: got Interrupted %v, want %v", i, f.Interrupted, want)
				}
			}
		})
	}
}

// What was put on the stack for a function to begin there was not called, but those above it were: a return
// address without a call is believed there as elsewhere, however often the stack is walked.
func TestUncalledFunctionInTheMiddle(t *testing.T) {
	d, cie := newTabled(regs.AMD64)
	d.tables.fde(cie, 0x10100, 16)
	d.tables.fde(cie, 0x10200, 16) // its first instruction is on the stack
	d.tables.fde(cie, 0x10300, 16) // returned to from there, by a call
	d.tables.fde(cie, 0x10400, 16) // no call before it
	d.outermost(cie, 0x10500)
	d.call(0x308)
	d.stack.Word(0x10200).Word(0x10308).Word(0x10404).Word(d.call(0x508))
	s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.AMD64RIP: 0x10100, regs.AMD64RSP: stackBase + 0x1000})
	if got, want := show(s), "0x10100(context) 0x10200(cfi) 0x10308(cfi) 0x10404(cfi) 0x10508(cfi) root"; got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
	}
}
