package waits

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// instructions is code of arm64, at the end of n bytes.
func instructions(n int, list ...uint32) []byte {
	var b []byte
	for _, i := range list {
		b = binary.LittleEndian.AppendUint32(b, i)
	}
	return append(make([]byte, n-len(b)), b...)
}

// The comments are objdump's.
func TestInstructionsOfARM64(t *testing.T) {
	const svc = 0xd4000001
	for _, tt := range []struct {
		name   string
		code   []uint32
		number int64
		ok     bool
	}{
		{"number right before the call", []uint32{0xd2800c48, svc}, 98, true}, // mov x8, #98
		// mov w1, #0; mov x0, x19; mov x3, #0
		{"arguments in between", []uint32{0xd2800e68, 0x52800001, 0xaa1303e0, 0xd2800003, svc}, 115, true},
		{"number from another register", []uint32{0xd2800c48, 0xaa0003e8, svc}, 0, false}, // mov x8, x0
		{"no call", []uint32{0xd2800c48, 0xd65f03c0}, 0, false},
		{"syscall(2)", []uint32{0x2a0003e8, 0xaa0703e6, svc}, 0, false},
	} {
		if n, ok := loadsARM64(instructions(numberBytes, tt.code...)); n != tt.number || ok != tt.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", tt.name, n, ok, tt.number, tt.ok)
		}
	}
	for i, want := range map[uint32]bool{0x94000010: true, 0xd63f0100: true, 0xd73f0a1f: true, 0xd65f03c0: false,
		0x14000010: false, 0xd61f0200: false} {
		if got := calledARM64(instructions(callBytes+1, i)[1:]); got != want {
			t.Errorf("%#08x: a call: %v, want %v", i, got, want)
		}
	}
}

// TestContextsOfMachines: the fields of a context lie apart, and within what is looked at.
func TestInCall(t *testing.T) {
	const call = 0x7ead4 // behind the instruction
	for _, c := range []struct {
		arch string
		pc   mem.Addr
		want bool
	}{
		{"amd64", call, true}, {"amd64", call - 2, false}, // the kernel steps back after the stop
		{"arm64", call, true}, {"arm64", call - 4, true}, {"arm64", call - 8, false}, {"arm64", call + 4, false},
		{"", call, true}, {"", call - 4, false},
	} {
		if got := InCall(c.arch, call, c.pc); got != c.want {
			t.Errorf("%q at %#x: got %v", c.arch, uint64(c.pc), got)
		}
	}
}

func TestContextsOfMachines(t *testing.T) {
	for name, m := range machines {
		f := m.frame
		if f.size == 0 {
			continue
		}
		seen := map[int]bool{}
		for _, at := range append(f.args[:], f.sp, f.pc, f.flags, f.link) {
			if at%8 != 0 || at+8 > f.size || seen[at] {
				t.Errorf("%s: field at %d of %d bytes", name, at, f.size)
			}
			seen[at] = true
		}
	}
}
