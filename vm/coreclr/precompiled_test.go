package coreclr

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/xdata"
)

// real are functions of .NET 10.0.12, precompiled for arm64: their records and their code.
var real = map[string]struct{ record, code string }{
	"a frame alone": {"0400500802004000e181e4e4", "fd7bbfa9fd030091fd7bc1a8c0035fd6"},
	"no frame pointer, one epilogue at the end": {"0400300881e4e4e4", "fd7bbfa9bf0f00f9fd7bc1a8c0035fd6"},
	"three pairs in a row": {"100050100c004000e1e6c80487e4e4e4",
		"fd7bbca9f35302a9f55b03a9fd030091a00f00f9001040f9eb2000f06b4107911f0040b9700140f900023fd61f2003d5f55b43a9" +
			"f35342a9fd7bc4a8c0035fd6"},
	"an odd register": {"0a003010d107e6c80387e4e4",
		"fd7bbca9f3d301a9f5db02a9f71f00f940ffff10f71f40f9f5db42a9f3d341a9fd7bc4a8c0035fd6"},
	"several epilogues": {"090090080400400007004000e181e4e4",
		"fd7bbfa9fd0300910020611e6d000054fd7bc1a8c0035fd6201ca10efd7bc1a8c0035fd6"},
	"a frame pointer in the middle": {"130090100c00800010008000e2014102e4e4e4e4",
		"ff8300d1fdfb00a9fd230091ab0f40f9eb0300f9631c00536b5e00d06b813c91700140f900023fd6a00000b4000440f9fdfb40a9" +
			"ff830091c0035fd6e0031faafdfb40a9ff830091c0035fd6"},
	"the record on top": {"0a003010d089c8074505e4e4",
		"ff4301d1fdfb02a9f3d303a9f52700f9e0fdff10f52740f9f3d343a9fdfb42a9ff430191c0035fd6"},
	"registers of vectors": {"110050100e004000e1d80283e4e4e4e4",
		"fd7bbea9e827016dfd030091081ca04e201ca14ee1e5004f011d214ecb2c00b06b4130910945086e700140f900023fd6" +
			"2805186e008d206ee827416dfd7bc2a8c0035fd6"},
	"a tail call": {"1400501010004000e1d003dc0283e4e4",
		"fd7bbea9e80b00fdf30f00f9fd030091f30301aa080040fd8b5d00906be11a91700140f900023fd6e10300aa0041601e" +
			"e00313aaeb5d00d06ba11191620140f9f30f40f9e80b40fdfd7bc2a840001fd6"},
}

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRealFunctions: at each place of real functions the row says what the instructions before it have done: where the
// caller's registers are, if they are not in themselves.
func TestRealFunctions(t *testing.T) {
	const base = 0x10000
	for name, f := range real {
		record, text := bytesOf(t, f.record), bytesOf(t, f.code)
		if int(xdata.Length(record)) != len(text) || xdata.Size(record) > len(record) {
			t.Fatalf("%s: %d bytes of code, %d of record, want %d and %d at most", name, xdata.Length(record),
				xdata.Size(record), len(text), len(record))
		}
		code := arm64.Code{Start: base, Data: text}
		for at := uint32(0); at < xdata.Length(record); at += instruction {
			row, err := xdata.Row(record, at, text, nil)
			if err != nil {
				t.Fatalf("%s at %#x: %v", name, at, err)
			}
			want, ok := code.FromEntry(base, base+uint64(len(text)), base+uint64(at))
			if !ok {
				t.Fatalf("%s: %#x is not reached", name, at)
			}
			if got, want := heldBy(row, text, at), heldBy(&want, text, at); got != want {
				t.Errorf("%s at %#x: %s, want %s", name, at, got, want)
			}
			if i := text[at:]; order.Uint32(i) == 0xd65f03c0 {
				if blind, err := xdata.Row(record, 0, nil, i); err != nil || heldBy(blind, text, at) != "x31+0" {
					t.Errorf("%s: where it returns %v, %v", name, blind, err)
				}
			}
		}
	}
}

// heldBy is a row as a line: what the caller's registers are found by, at a place in code. An epilogue has restored
// some of those that are on the stack still: they are left out where code, from that place on, restores none of them.
func heldBy(r *cfi.Row, code []byte, at uint32) string {
	base, n := r.CFA.Reg, r.CFA.N
	if base == uint64(regs.ARM64FP) {
		for i := 0; i < len(code); i += instruction {
			if w := order.Uint32(code[i:]); w&0xffc003ff == 0x910003fd { // add x29, sp, #n
				base, n = uint64(regs.ARM64SP), n+int64(w>>10&0xfff)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "x%d%+d", base, n)
	for _, s := range append(r.Regs, cfi.RegRule{Reg: r.RAReg, Rule: r.RA}) {
		if s.Rule.Kind == cfi.Offset && s.Reg >= 19 && s.Reg <= 30 && restored(code[at:], s.Reg) {
			fmt.Fprintf(&b, " x%d%+d", s.Reg, s.Rule.N)
		}
	}
	return b.String()
}

// restored reports whether code loads r before it leaves.
func restored(code []byte, r uint64) bool {
	for ; len(code) >= instruction; code = code[instruction:] {
		i := order.Uint32(code)
		first, second := uint64(i&31), uint64(i>>10&31)
		if i&0xfe400000 == 0xa8400000 && (first == r || second == r) || i&0xffc003e0 == 0xf94003e0 && first == r {
			return true // ldp, or ldr of the stack
		}
		if i == 0xd65f03c0 || i&0xfffffc1f == 0xd61f0000 {
			return false
		}
	}
	return false
}
