package unwind_test

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
)

// While an exception lands, the unwinder's frame has the registers of the landing place where it saved those of its
// caller. A CFA that rests on one of them is proved by the call that is before the return address, or found by it.
func TestLanding(t *testing.T) {
	for _, tc := range []struct {
		a       *regs.Arch
		fp, ra  byte // DWARF numbers
		sp      byte
		program []byte // of the unwinder: CFA = SP+64; saved are return address, frame pointer, and what landing takes
		caller  []byte // CFA = frame pointer+32, the record 32 below it, so that the return address is 24 below
	}{
		{regs.AMD64, 6, 16, 7, []byte{defCFA, 7, 64, offset | 16, 1, offset | 6, 2, offset, 3, offset | 1, 4},
			[]byte{defCFA, 6, 32, offset | 6, 4, offset | 16, 3}},
		{regs.ARM64, 29, 30, 31, []byte{defCFA, 31, 64, offset | 30, 1, offset | 29, 2, offset, 3, offset | 1, 4},
			[]byte{defCFA, 29, 32, offset | 29, 4, offset | 30, 3}},
	} {
		t.Run(tc.a.Name, func(t *testing.T) {
			d := newDrawn(tc.a)
			d.tables = &ehFrame{order: tc.a.Order}
			cie := d.tables.cie("zR", tc.ra, defCFA, tc.sp, 0)
			d.tables.fde(cie, 0x10100, 16, tc.program...)
			d.tables.fde(cie, 0x10200, 16, tc.caller...)
			for _, outermost := range []uint64{0x10300, 0x10500} {
				d.tables.fde(cie, outermost, 16, undefined, tc.ra)
			}
			d.callTo(0x208, 0x100)
			d.callTo(0x308, 0x200)
			d.callTo(0x508, 0x400)
			// The unwinder's frame of 64 bytes, with the frame pointer of the landing place; its caller's; the
			// landing place's.
			d.stack.Skip(6).Ref("landing").Word(0x10208)
			d.stack.Word(0).Word(0x10308).Skip(2)
			d.stack.Label("landing").Word(0).Word(0x10508).Skip(2)
			s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{tc.a.PC: 0x10108, tc.a.SP: stackBase + 0x1000})
			if got, want := show(s), "0x10108(context) 0x10208(cfi) 0x10308(cfi) root"; got != want {
				t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
			}
		})
	}
}

// callTo places a call to the code at offset to so that it ends at off.
func (d *drawn) callTo(off, to int) {
	if d.arch.LR != regs.NoReg {
		d.putARM64(off-4, armCall|uint32(to-off+4)>>2&0x03ffffff)
		return
	}
	d.put(off-5, binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(to-off))...)
}
