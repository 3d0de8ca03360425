package unwindcode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// shown is a row as a line: "rsp+8 rbx-16".
func shown(r *cfi.Row) string {
	names := [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
		"r13", "r14", "r15"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%+d", names[r.CFA.Reg], r.CFA.N)
	for _, s := range r.Regs {
		fmt.Fprintf(&b, " %s%+d", names[s.Reg], s.Rule.N)
	}
	return b.String()
}

// at returns what reads the unwind information in b, which begins at offset 0x100.
func at(b []byte) func(offset uint32, n int) []byte {
	return func(offset uint32, n int) []byte {
		i := int(offset) - 0x100
		if i < 0 || i > len(b) {
			return nil
		}
		return b[i:min(len(b), i+n)]
	}
}

// seeds are UNWIND_INFOs with the prologues that they describe.
var seeds = map[string]string{
	// push rbp; push r15; push rbx; sub rsp, 0x10; lea rbp, [rsp+0x20]
	"framed": "\x01\x0d\x05\x00" + "\x0d\x03\x08\x12\x04\x30\x03\xf0\x01\x50",
	// sub rsp, 0x28
	"frameless": "\x01\x04\x01\x00\x04\x42",
	// push rbp; sub rsp, 0x1238 (in words); lea rbp, [rsp+0x50]; and the frame register named
	"large": "\x01\x10\x06\x55" + "\x10\x03\x08\x01\x47\x02\x01\x50" + "\x00\x00\x00\x00",
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name, info string
		at         uint32
		want       string
	}{
		{"where a function begins", "\x01\x04\x02\x00\x04\x42\x01\x50", 0, "rsp+8"},
		{"behind a push", "\x01\x05\x02\x00\x05\x42\x01\x50", 1, "rsp+16 rbp-16"},
		{"behind the prologue", "\x01\x05\x02\x00\x05\x42\x01\x50", 5, "rsp+56 rbp-16"},
		{"three registers, the last pushed lowest", "\x01\x08\x04\x00\x08\x12\x04\x30\x03\xf0\x01\x50", 40,
			"rsp+48 rbx-32 rbp-16 r15-24"},
		{"a frame pointer above what was allocated", "\x01\x0d\x05\x25\x0d\x03\x08\x32\x04\x30\x03\xf0\x01\x50", 40,
			"rbp+32 rbx-32 rbp-16 r15-24"},
		{"before the frame pointer is set", "\x01\x0d\x05\x25\x0d\x03\x08\x32\x04\x30\x03\xf0\x01\x50", 8,
			"rsp+64 rbx-32 rbp-16 r15-24"},
		{"an allocation of 16 bits", "\x01\x08\x03\x00\x08\x01\x47\x02\x01\x50", 9, "rsp+4680 rbp-16"},
		{"an allocation of 32 bits", "\x01\x08\x04\x00\x08\x11\x00\x00\x10\x00\x01\x50", 9, "rsp+1048592 rbp-16"},
		{"a large offset of the frame pointer", "\x01\x10\x05\x05\x10\x0b\x13\x00\x00\x00\x08\x01\x47\x02", 16,
			"rbp+4368"},
		{"registers stored by mov", "\x01\x08\x03\x00\x08\x34\x02\x00\x04\x42", 9, "rsp+48 rbx-32"},
		{"a register stored far away", "\x01\x08\x06\x00\x08\x35\x00\x00\x01\x00\x04\x11\x00\x00\x02\x00", 9,
			"rsp+131080 rbx-65544"},
		{"an XMM register, which no caller needs", "\x01\x08\x03\x00\x08\x68\x01\x00\x04\x42", 9, "rsp+48"},
	} {
		row, err := Row(Function{Begin: 0x1000, End: 0x1100, Info: 0x100}, c.at, at([]byte(c.info)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := shown(row); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestChained: a part of a function placed apart has the codes of its main part too, all of them.
func TestChained(t *testing.T) {
	info := "\x21\x04\x01\x00\x04\x42\x00\x00" + // sub rsp, 40; a code is padded to four bytes
		"\x00\x20\x00\x00\x00\x21\x00\x00\x14\x01\x00\x00" + // of the function whose information is at 0x114
		"\x01\x05\x02\x00\x05\x32\x01\x50" // push rbp; sub rsp, 32
	row, err := Row(Function{Begin: 0x3000, End: 0x3010, Info: 0x100}, 0, at([]byte(info)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown(row), "rsp+48 rbp-16"; got != want {
		t.Errorf("at its begin: %s, want %s", got, want)
	}
	if row, err = Row(Function{Begin: 0x3000, End: 0x3010, Info: 0x100}, 9, at([]byte(info))); err != nil {
		t.Fatal(err)
	}
	if got, want := shown(row), "rsp+88 rbp-16"; got != want {
		t.Errorf("behind its prologue: %s, want %s", got, want)
	}
}

func TestMalformed(t *testing.T) {
	self := "\x21\x00\x00\x00" + "\x00\x10\x00\x00\x00\x11\x00\x00\x00\x01\x00\x00"
	for name, info := range map[string]string{
		"nothing":                      "",
		"a cut header":                 "\x01\x00",
		"another version":              "\x02\x00\x00\x00",
		"fewer codes than it says":     "\x01\x04\x02\x00\x04\x42",
		"a cut code":                   "\x01\x04\x01\x00\x04\x01",
		"an unknown code":              "\x01\x04\x01\x00\x04\x07",
		"a machine frame":              "\x01\x04\x01\x00\x04\x0a",
		"a chain that leads to itself": self,
		"a register saved above":       "\x01\x08\x03\x00\x08\x34\x20\x00\x04\x42",
		"a cut chain":                  "\x21\x00\x00\x00\x00\x10",
		"cut before an even number":    "\x21\x04\x01\x00\x04\x42",
	} {
		if row, err := Row(Function{Info: 0x100}, 64, at([]byte(info))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, %v", name, row, err)
		}
	}
}

func TestEpilogues(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"add rsp, 40; pop rbx; pop r15; pop rbp; ret", "\x48\x83\xc4\x28\x5b\x41\x5f\x5d\xc3",
			"rsp+72 rbx-32 rbp-16 r15-24"},
		{"after the first pop", "\x41\x5f\x5d\xc3", "rsp+24 rbp-16 r15-24"},
		{"ret alone", "\xc3", "rsp+8"},
		{"lea rsp, [rbp-16]; pop rbx; pop r15; pop rbp; ret", "\x48\x8d\x65\xf0\x5b\x41\x5f\x5d\xc3",
			"rbp+16 rbx-32 rbp-16 r15-24"},
		{"lea rsp, [rbp-0x1000]; pop rbp; ret", "\x48\x8d\xa5\x00\xf0\xff\xff\x5d\xc3", "rbp-4080 rbp-16"},
		{"add rsp, 0x1000; ret", "\x48\x81\xc4\x00\x10\x00\x00\xc3", "rsp+4104"},
		{"vzeroupper; pop rbp; ret", "\xc5\xf8\x77\x5d\xc3", "rsp+16 rbp-16"},
		{"pop rbp; jmp out of the function", "\x5d\xe9\x00\x10\x00\x00", "rsp+16 rbp-16"},
		{"rex.jmp rax, a tail call", "\x48\xff\xe0", "rsp+8"},
		{"pop rbp; jmp rax", "\x5d\xff\xe0", "rsp+16 rbp-16"},
		{"jmp rax, of a switch", "\xff\xe0", ""},
		{"jmp within the function", "\xe9\x10\x00\x00\x00", ""},
		{"add rsp, 40; call", "\x48\x83\xc4\x28\xe8\x00\x00\x00\x00", ""},
		{"mov rax, rbx", "\x48\x8b\xc3", ""},
		{"cut", "\x48\x83\xc4", ""},
		{"cut in an opcode", "\x48\x8d", ""},
		{"nothing", "", ""},
	} {
		row, ok := Epilogue([]byte(c.code), 0x20, 0x100)
		got := ""
		if ok {
			got = shown(row)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, info := range seeds {
		f.Add([]byte(info), uint32(5))
	}
	f.Add([]byte("10\x0500000000000"), uint32(81))
	f.Add([]byte("\x21\x04\x01\x00\x04\x42\x00\x00\x00\x10\x00\x00\x00\x11\x00\x00\x00\x01\x00\x00"), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, place uint32) {
		row, err := Row(Function{Info: 0x100}, place, at(b))
		if (row == nil) == (err == nil) {
			t.Fatalf("%v, %v", row, err)
		}
		if row != nil {
			for i := 1; i < len(row.Regs); i++ {
				if row.Regs[i].Reg <= row.Regs[i-1].Reg {
					t.Fatalf("registers do not ascend: %v", row.Regs)
				}
			}
		}
	})
}

func FuzzEpilogue(f *testing.F) {
	f.Add([]byte("\x48\x83\xc4\x28\x5b\x41\x5f\x5d\xc3"), uint32(4), uint32(99))
	f.Add([]byte("\x48\x8d\xa5\x00\xf0\xff\xff\x5d\xe9\x01\x02\x03\x04"), uint32(4), uint32(99))
	f.Fuzz(func(t *testing.T, b []byte, place, size uint32) {
		if row, ok := Epilogue(b, place, size); ok != (row != nil) {
			t.Fatalf("%v, %t", row, ok)
		}
	})
}
