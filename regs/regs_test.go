package regs

import (
	"errors"
	"testing"
)

// TestNoteLayout has the words of NT_PRSTATUS as a real kernel of each architecture showed
// them: a value was put into the register by an instruction and looked for in the note.
func TestNoteLayout(t *testing.T) {
	const none = -1
	for _, row := range []struct {
		arch           *Arch
		bytes          int
		pc, sp, fp, lr int // word
	}{
		{AMD64, 216, 16, 19, 4, none},
		{I386, 68, 12, 15, 5, none},
		{ARM64, 272, 32, 31, 29, 30},
		{ARM, 72, 15, 13, 11, 14},
		{RISCV64, 256, 0, 2, 8, 1},
		{S390X, 216, 1, 17, none, 16},
		{PPC64LE, 384, 32, 1, none, 36},
		{LOONG64, 360, 33, 3, 22, 1},
	} {
		t.Run(row.arch.Name, func(t *testing.T) {
			a := row.arch
			if a.NoteSize != row.bytes {
				t.Errorf("NoteSize = %d, want %d", a.NoteSize, row.bytes)
			}
			for _, r := range []struct {
				name string
				reg  Reg
				word int
			}{{"pc", a.PC, row.pc}, {"sp", a.SP, row.sp}, {"fp", a.FP, row.fp}, {"lr", a.LR, row.lr}} {
				if r.word == none {
					if r.reg != NoReg {
						t.Errorf("%s = %d, want none", r.name, r.reg)
					}
					continue
				}
				note := make([]byte, row.bytes)
				at := r.word * a.WordSize
				if a.WordSize == 4 {
					a.Order.PutUint32(note[at:], 0x11223344)
				} else {
					a.Order.PutUint64(note[at:], 0x11223344)
				}
				regs, err := a.Decode(note)
				if err != nil {
					t.Fatal(err)
				}
				if v, ok := regs.Get(r.reg); v != 0x11223344 || !ok {
					t.Errorf("%s from word %d = %#x, %v; want 0x11223344", r.name, r.word, v, ok)
				}
			}
		})
	}
}

// TestNoteNames checks the whole x86 layouts against struct user_regs_struct, by name:
// linux/arch/x86/include/asm/user_64.h and user_32.h.
func TestNoteNames(t *testing.T) {
	for _, row := range []struct {
		arch  *Arch
		words []string // "" is not kept
	}{
		{AMD64, []string{"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi",
			"rdi",
			"orig_rax", "rip", "", "", "rsp", "", "", "", "", "", "", ""}},
		{I386, []string{"ebx", "ecx", "edx", "esi", "edi", "ebp", "eax", "", "", "", "", "orig_eax", "eip", "", "",
			"esp", ""}},
	} {
		note := make([]byte, row.arch.NoteSize)
		for i := range row.words {
			note[i*row.arch.WordSize] = byte(i + 1)
		}
		r, err := row.arch.Decode(note)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i, name := range row.words {
			if name == "" {
				continue
			}
			kept++
			for reg := range Reg(Max) {
				if v, ok := r.Get(reg); ok && v == uint64(i+1) && row.arch.RegName(reg) != name {
					t.Errorf("%s word %d is %s, want %s", row.arch.Name, i, row.arch.RegName(reg), name)
				}
			}
		}
		has := 0
		for _, s := range row.arch.slots {
			has += max(1, s.count)
		}
		if has != kept {
			t.Errorf("%s keeps %d registers, want %d", row.arch.Name, has, kept)
		}
	}
}

func TestFromDWARF(t *testing.T) {
	for _, row := range []struct {
		arch *Arch
		n    uint64
		want string // "" is not followed
	}{
		// System V ABI AMD64, figure 3.36: rdx is 1, rcx 2.
		{AMD64, 0, "rax"}, {AMD64, 1, "rdx"}, {AMD64, 2, "rcx"}, {AMD64, 3, "rbx"}, {AMD64, 4, "rsi"},
		{AMD64, 5, "rdi"},
		{AMD64, 6, "rbp"}, {AMD64, 7, "rsp"}, {AMD64, 8, "r8"}, {AMD64, 15, "r15"}, {AMD64, 16, "rip"},
		{AMD64, 17, ""}, {AMD64, 33, ""}, {AMD64, 49, ""},
		// System V ABI i386, table 2.14: esp is 4, ebp 5 (Darwin's tables have them the other way round).
		{I386, 0, "eax"}, {I386, 1, "ecx"}, {I386, 2, "edx"}, {I386, 3, "ebx"}, {I386, 4, "esp"}, {I386, 5, "ebp"},
		{I386, 6, "esi"}, {I386, 7, "edi"}, {I386, 8, "eip"}, {I386, 9, ""}, {I386, 33, ""},
		// DWARF for the Arm 64-bit Architecture, 4.1: 34 is RA_SIGN_STATE.
		{ARM64, 0, "x0"}, {ARM64, 29, "x29"}, {ARM64, 30, "x30"}, {ARM64, 31, "sp"}, {ARM64, 32, "pc"}, {ARM64, 34, ""},
		{ARM64, 46, "vg"}, {ARM64, 47, ""}, {ARM64, 64, ""},
		{ARM, 7, "r7"}, {ARM, 11, "r11"}, {ARM, 13, "r13"}, {ARM, 15, "r15"}, {ARM, 16, ""}, {ARM, 32, ""},
		// RISC-V ELF psABI, DWARF register numbers: 0 is the constant zero, 32 is f0.
		{RISCV64, 0, ""}, {RISCV64, 1, "x1"}, {RISCV64, 8, "x8"}, {RISCV64, 32, ""},
		// ELF ABI s390x supplement: 16-31 are floating point, 65 is the address of the PSW.
		{S390X, 15, "r15"}, {S390X, 16, ""}, {S390X, 32, ""}, {S390X, 64, ""}, {S390X, 65, "pswa"},
		// 64-bit ELF V2 ABI, 2.4: 32-63 are floating point, 65 is LR.
		{PPC64LE, 1, "r1"}, {PPC64LE, 32, ""}, {PPC64LE, 33, ""}, {PPC64LE, 65, "lr"},
		{LOONG64, 1, "r1"}, {LOONG64, 3, "r3"}, {LOONG64, 22, "r22"}, {LOONG64, 32, ""},
		{AMD64, 1 << 40, ""}, {AMD64, 256 + 6, ""},
	} {
		r, ok := row.arch.FromDWARF(row.n)
		got := ""
		if ok {
			got = row.arch.RegName(r)
		}
		if got != row.want {
			t.Errorf("%s DWARF %d = %q, want %q", row.arch.Name, row.n, got, row.want)
		}
	}
}

func TestByNote(t *testing.T) {
	for _, row := range []struct {
		name string
		host *Arch
		size int
		want *Arch // nil: error
	}{
		{"64-bit thread", AMD64, 216, AMD64},
		{"32-bit thread of a 64-bit kernel", AMD64, 68, I386},
		{"arm thread of an arm64 kernel", ARM64, 72, ARM},
		{"64-bit thread under a 32-bit tracer", I386, 216, nil},
		{"s390x has the length of amd64", S390X, 216, S390X},
		{"386 note on arm64", ARM64, 68, nil},
		{"31-bit s390 thread", S390X, 144, nil},
		{"no bytes", AMD64, 0, nil},
		{"riscv64", RISCV64, 256, RISCV64},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ByNote(row.host, row.size)
			var layout *LayoutError
			if got != row.want || (row.want == nil) != errors.As(err, &layout) {
				t.Errorf("ByNote(%s, %d) = %v, %v", row.host.Name, row.size, got, err)
			}
		})
	}
}

func TestArchTables(t *testing.T) {
	if len(All) != 8 {
		t.Errorf("%d architectures, want 8", len(All))
	}
	for _, a := range All {
		t.Run(a.Name, func(t *testing.T) {
			if got, ok := Lookup(a.Name); !ok || got != a {
				t.Errorf("Lookup(%q) = %v, %v", a.Name, got, ok)
			}
			regs, words := map[Reg]bool{}, map[int]bool{}
			for _, s := range a.slots {
				for k := range max(1, s.count) {
					reg, word := s.reg+Reg(k), s.word+k
					if reg >= Max || regs[reg] || words[word] || (word+1)*a.WordSize > a.NoteSize {
						t.Errorf("slot %+v is double or outside at %d", s, k)
					}
					regs[reg], words[word] = true, true
				}
			}
			for _, r := range append([]Reg{a.PC, a.SP}, a.Callee...) {
				if !regs[r] {
					t.Errorf("register %s is not in the note", a.RegName(r))
				}
			}
			for _, r := range []Reg{a.FP, a.LR, a.Syscall, a.Result} {
				if r != NoReg && !regs[r] {
					t.Errorf("register %s is not in the note", a.RegName(r))
				}
			}
		})
	}
	if _, ok := Lookup("mips"); ok {
		t.Error("Lookup knows mips")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, a := range All {
		note := make([]byte, a.NoteSize)
		for i := range note {
			note[i] = byte(i*7 + 1)
		}
		r, err := a.Decode(note)
		if err != nil {
			t.Fatal(err)
		}
		again, err := a.Decode(r.Encode())
		if err != nil || again != r {
			t.Errorf("%s: Decode(Encode()) differs: %v", a.Name, err)
		}
		r.Forget(a.SP)
		if _, ok := r.SP(); ok {
			t.Errorf("%s: forgotten SP is known", a.Name)
		}
		if again, _ := a.Decode(r.Encode()); func() bool { v, _ := again.SP(); return v != 0 }() {
			t.Errorf("%s: forgotten SP is in the note", a.Name)
		}
	}
}

func TestDecodeOfAnotherLength(t *testing.T) {
	for _, a := range All {
		for _, n := range []int{0, a.NoteSize - 1, a.NoteSize + 1} {
			var layout *LayoutError
			if r, err := a.Decode(make([]byte, n)); !errors.As(err, &layout) || layout.Size != n || r != (Registers{}) {
				t.Errorf("%s: Decode of %d bytes = %v", a.Name, n, err)
			}
		}
	}
	err := &LayoutError{Host: "amd64", Size: 5}
	if want := "decode registers: note of 5 bytes fits no layout of a amd64 kernel"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	r := New(S390X)
	if _, ok := r.PC(); ok {
		t.Error("PC of new Registers is known")
	}
	r.Set(32, 0)
	if v, ok := r.PC(); v != 0 || !ok {
		t.Errorf("PC = %#x, %v; want a known 0", v, ok)
	}
	if _, ok := r.FP(); ok {
		t.Error("an architecture without frame pointer has one")
	}
	r.Set(NoReg, 1)
	r.Set(Max, 1)
	r.Forget(Max)
	if _, ok := r.Get(Max); ok {
		t.Error("a register out of range is known")
	}
	copied := r
	copied.Set(1, 5)
	if _, ok := r.Get(1); ok {
		t.Error("a copy shares its values")
	}
}

// Return sets what the words hold, the program counter and the stack pointer, and leaves all else.
func TestReturn(t *testing.T) {
	for _, tc := range []struct {
		arch *Arch
		want uint64 // of the word behind the first one
	}{{AMD64, 0x100f0e0d0c0b0a09}, {I386, 0x08070605}} {
		words := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		r := New(tc.arch)
		r.Set(0, 7)
		at := int32(tc.arch.WordSize) - 32
		r.Return(0x1000, 0x2000, []Saved{{Reg: 3, At: at}, {Reg: NoReg, At: at}}, words, 32)
		want := New(tc.arch)
		want.Set(0, 7)
		want.Set(3, tc.want)
		want.Set(tc.arch.PC, 0x1000)
		want.Set(tc.arch.SP, 0x2000)
		if r != want {
			t.Errorf("%s: got %+v, want %+v", tc.arch.Name, r, want)
		}
	}
}

func TestStripPAC(t *testing.T) {
	// A signed return address and the mask as a kernel with 48-bit addresses gave them.
	if got := StripPAC(0x0017000000400914, 0x007f000000000000); got != 0x400914 {
		t.Errorf("StripPAC = %#x, want 0x400914", got)
	}
	if got := StripPAC(0x400914, 0); got != 0x400914 {
		t.Errorf("StripPAC without mask = %#x, want 0x400914", got)
	}
}
