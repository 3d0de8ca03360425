package xdata

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// made is a record of codes, for a function of 64 instructions.
func made(codes string) []byte {
	b := []byte(codes + "\xe4")
	for len(b)%word != 0 || len(b) < word {
		b = append(b, 0xe3)
	}
	return append(order.AppendUint32(nil, 64|uint32(len(b)/word)<<27), b...)
}

// TestCodes: what each code says, behind the prologue. Source: the table of the documentation.
func TestCodes(t *testing.T) {
	for _, c := range []struct{ name, codes, want string }{
		{"nothing", "", "x31+0"},
		{"alloc_s", "\x1f", "x31+496"},
		{"alloc_m", "\xc7\xff", "x31+32752"},
		{"alloc_l", "\xe0\x01\x02\x03", "x31+1056816"},
		{"save_r19r20_x", "\x24", "x31+32 x19-32 x20-24"},
		{"save_fplr", "\x42\x04", "x31+64 x29-48 x30-40"},
		{"save_fplr_x", "\x85", "x31+48 x29-48 x30-40"},
		{"save_regp", "\xc8\x82\x04", "x31+64 x21-48 x22-40"},
		{"save_regp_x", "\xcc\x83", "x31+32 x21-32 x22-24"},
		{"save_reg", "\xd0\xc1\x02", "x31+32 x22-24"},
		{"save_reg_x", "\xd4\x61", "x31+16 x22-16"},
		{"save_lrpair", "\xd6\x81\x02", "x31+32 x23-24 x30-16"},
		{"save_fregp, save_freg", "\xd8\x02\xdc\x44\x04", "x31+64"},
		{"save_fregp_x", "\xda\x03", "x31+32"},
		{"save_freg_x", "\xde\x01", "x31+16"},
		{"save_next", "\xe6\xe6\xc8\x00\x08", "x31+128 x19-128 x20-120 x21-112 x22-104 x23-96 x24-88"},
		{"save_next behind save_r19r20_x", "\xe6\x28", "x31+64 x19-64 x20-56 x21-48 x22-40"},
		{"save_next of vectors is not of others", "\xe6\xd8\x00\xc8\x02\x04", "x31+64 x19-48 x20-40"},
		{"set_fp", "\xe1\x83", "x29+32 x29-32 x30-24"},
		{"add_fp", "\xe2\x02\x42\x04", "x29+48 x29-48 x30-40"},
		{"what is saved below the frame pointer", "\xc8\x00\x02\xe1\x83", "x29+32 x19-64 x20-56 x29-32 x30-24"},
		{"nop, pac_sign_lr", "\xe3\x81\xfc", "x31+16 x29-16 x30-8"},
	} {
		row, err := Row(made(c.codes), 0x80, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "x%d%+d", row.CFA.Reg, row.CFA.N)
		for _, r := range row.Regs {
			fmt.Fprintf(&b, " x%d%+d", r.Reg, r.Rule.N)
		}
		if row.RA.Kind == cfi.Offset {
			fmt.Fprintf(&b, " x30%+d", row.RA.N)
		}
		if b.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, b.String(), c.want)
		}
	}
}

// TestPhantom: a method that takes over from one that runs has that one's frame from its first instruction on.
func TestPhantom(t *testing.T) {
	record := made("\x81\x04") // as if sub sp, sp, #64; stp x29, x30, [sp, #-16]!
	for _, c := range []struct {
		name  string
		entry string
		want  []int64 // the CFA before each instruction, from SP
	}{
		{"its own frame", "\xff\x03\x01\xd1", []int64{0, 64, 80}},
		{"that of another", "\xfd\x7b\xbf\xa9", []int64{64, 80, 80}},
		{"not known", "", []int64{0, 64, 80}},
	} {
		for i, want := range c.want {
			row, err := Row(record, uint32(i*instruction), []byte(c.entry), nil)
			if err != nil || row.CFA.N != want {
				t.Errorf("%s, instruction %d: %+v, %v, want a CFA at %d", c.name, i, row, err, want)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	many := order.AppendUint32(order.AppendUint32(nil, 64), 0xffff)
	for name, b := range map[string][]byte{
		"nothing":                       nil,
		"a cut header":                  made("\x81")[:4],
		"cut codes":                     made("\x81\x01\x01\x01\x01")[:8],
		"another version":               append(order.AppendUint32(nil, 64|1<<18|1<<27), 0x81, 0xe4, 0xe3, 0xe3),
		"no end":                        append(order.AppendUint32(nil, 64|1<<27), 0x81, 0x81, 0x81, 0x81),
		"a code cut by the end":         append(order.AppendUint32(nil, 64|1<<27), 0x81, 0x81, 0x81, 0xc8),
		"an unknown code":               made("\xe7\x00\x00"),
		"a vector of variable length":   made("\xdf\x01"),
		"a machine frame":               made("\xe9"),
		"x31":                           made("\xd3\x00\x04"),
		"saved twice":                   made("\xd0\x00\xd0\x00\x04"),
		"saved above its frame":         made("\xd0\x04\x01"),
		"an epilogue without its codes": append(order.AppendUint32(nil, 64|1<<21|31<<22|1<<27), 0x81, 0xe4, 0xe3, 0xe3),
		"an epilogue longer than it":    append(order.AppendUint32(nil, 2|1<<21|1<<27), 0x81, 0x81, 0x81, 0xe4),
		"more epilogues than are read":  append(many, make([]byte, 1<<19)...),
	} {
		if row, err := Row(b, 0xf0, nil, nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, row, err)
		}
	}
	if !(Function{0x1000, 0x2001}).Packed() || ParseFunction(make([]byte, FunctionSize)).Packed() {
		t.Error("what is packed is not told from what is not")
	}
}

func FuzzRow(f *testing.F) {
	f.Add(made("\xe1\xe6\xc8\x04\x87"), uint32(8), []byte("\xfd\x7b\xbc\xa9"))
	f.Add(made("\x81\x04"), uint32(4), []byte("\xff\x03\x01\xd1"))
	f.Add(append(order.AppendUint32(nil, 9|2<<22|2<<27),
		"\x04\x00\x40\x00\x07\x00\x40\x00\xe1\x81\xe4\xe4\xe4\xe4\xe4\xe4"...), uint32(16), []byte(nil))
	f.Fuzz(func(t *testing.T, b []byte, at uint32, entry []byte) {
		row, err := Row(b, at, entry, nil)
		if err != nil {
			return
		}
		if row.CFA.Reg != fp && row.CFA.Reg != sp {
			t.Errorf("the CFA rests on x%d", row.CFA.Reg)
		}
		for _, r := range append(row.Regs, cfi.RegRule{Reg: lr, Rule: row.RA}) {
			if r.Reg < 19 || r.Reg > lr || r.Rule.N > 0 {
				t.Errorf("x%d is at %+d", r.Reg, r.Rule.N)
			}
		}
	})
}
