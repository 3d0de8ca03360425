package arm64

import (
	"encoding/binary"
	"testing"
)

// The comments are llvm-objdump's.
func TestRecords(t *testing.T) {
	for _, tt := range []struct {
		name  string
		code  []byte
		grows bool
		want  Records
	}{
		{"record, then a call", words(
			0xa9bf7bfd, // stp x29, x30, [sp, #-16]!
			0x910003fd, // mov x29, sp
			0x94000010, // bl
			0xa8c17bfd, // ldp x29, x30, [sp], #16
			0xd65f03c0, // ret
		), false, Records{Calls: 1, Made: true, Whole: true}},
		{"record above other registers", words(
			0xd10103ff, // sub sp, sp, #64
			0xa9037bfd, // stp x29, x30, [sp, #48]
			0x9100c3fd, // add x29, sp, #48
			0xd63f0100, // blr x8
			0xd65f03c0,
		), false, Records{Calls: 1, Made: true, Whole: true}},
		{"only the link register is saved", words(
			0xf81f0ffe,                         // str x30, [sp, #-16]!
			0x94000010, 0xf84107fe, 0xd65f03c0, // bl; ldr x30, [sp], #16; ret
		), false, Records{Calls: 1, Bare: 1, Whole: true}},
		{"x29 is used for a value", words(
			0xa9bf7bfd, 0xaa0003fd, 0x94000010, 0xa8c17bfd, 0xd65f03c0, // stp; mov x29, x0; bl; ldp; ret
		), false, Records{Calls: 1, Bare: 1, Whole: true}},
		{"leaf", words(0x11000400, 0xd65f03c0), false, Records{Whole: true}}, // add w0, w0, #1; ret
		{"leaf behind an early return and a tail call", words(
			0x34000040, // cbz w0, +8
			0x14000010, // b, out of the function
			0xd65f03c0,
		), false, Records{Whole: true}},
		{"early return before the record", words(
			0x35000040, 0xd65f03c0, // cbnz w0, +8; ret
			0xa9bf7bfd, 0x910003fd, 0x94000010, 0xa8c17bfd, 0xd65f03c0,
		), false, Records{Calls: 1, Made: true, Whole: true}},
		{"a case of a switch", words(
			0xa9bf7bfd, 0x910003fd, 0xd61f0120, // stp; mov; br x9
			0x94000010, 0xa8c17bfd, 0xd65f03c0,
		), false, Records{Calls: 1, Made: true, Whole: true}},
		// adrp; ldr x17; br x17
		{"stub of a PLT", words(0x90000010, 0xf9400211, 0xd61f0220), false, Records{Whole: true}},
		{"Go: more stack first, then its record", words(
			0xf9400b90, // ldr x16, [x28, #16]
			// cmp sp, x16; b.ls +24; str x30, [sp, #-32]!; stur x29, [sp, #-8]
			0xeb3063ff, 0x540000c9, 0xf81e0ffe, 0xf81f83fd,
			0xd10023fd, 0x94000010, 0xd65f03c0, // sub x29, sp, #8; bl; ret
			0xaa1e03e3, 0x94000020, 0x17fffff6, // mov x3, x30; bl runtime.morestack_noctxt; b to the start
		), true, Records{Calls: 1, Made: true, Whole: true}},
		{"nothing", nil, false, Records{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Code{Start: 0x1000, Data: tt.code}
			if got := c.Records(c.Start, c.End(), tt.grows); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// words is the code of instructions.
func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
