package arm64

import (
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// The comments are objdump's.
func TestForward(t *testing.T) {
	for _, tt := range []struct {
		name    string
		code    []byte
		cfa, ra cfi.Rule
	}{
		// add w0, w0, #1; ret
		{"leaf", words(0x11000400, 0xd65f03c0), cfi.Rule{Kind: cfi.Register, Reg: 31}, cfi.Rule{}},
		{"end of a frame", words(0xa8c27bfd, 0xd65f03c0), // ldp x29, x30, [sp], #32; ret
			cfi.Rule{Kind: cfi.Register, Reg: 31, N: 32}, cfi.Rule{Kind: cfi.Offset, N: -24}},
		{"end of a switch of stacks, which returns by another register",
			// ldp x29, x30, [sp, #80]; ldr x4, [sp, #96]; add sp, sp, #112; ret x4
			words(0xa9457bfd, 0xf94033e4, 0x9101c3ff, 0xd65f0080),
			cfi.Rule{Kind: cfi.Register, Reg: 31, N: 112}, cfi.Rule{Kind: cfi.Offset, N: -16}},
		{"return address in a register", words(0xaa0103fe, 0xd65f03c0), // mov x30, x1; ret
			cfi.Rule{Kind: cfi.Register, Reg: 31}, cfi.Rule{Kind: cfi.Register, Reg: 1}},
		{"signed", words(0xa8c27bfd, 0xd65f0bff), // ldp x29, x30, [sp], #32; retaa
			cfi.Rule{Kind: cfi.Register, Reg: 31, N: 32}, cfi.Rule{Kind: cfi.Offset, N: -24}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Code{Start: 0x1000, Data: tt.code}
			row, ok := c.Forward(c.Start, false)
			if _, returned := c.Forward(c.Start, true); returned != (tt.ra.Kind == cfi.Offset) {
				t.Errorf("as a return address: got a row %v; in a register it is lost there", returned)
			}
			if !ok || !same(row.CFA, tt.cfa) || !same(row.RA, tt.ra) {
				t.Errorf("got CFA %+v, RA %+v, %v; want %+v, %+v", row.CFA, row.RA, ok, tt.cfa, tt.ra)
			}
		})
	}
}

func same(a, b cfi.Rule) bool { return a.Kind == b.Kind && a.Reg == b.Reg && a.N == b.N }
