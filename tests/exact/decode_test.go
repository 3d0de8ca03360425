package exact

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// The bytes and forms are what objdump prints for them.
func TestDecode(t *testing.T) {
	rows := []struct {
		name, bytes string
		narrow      bool // 32-bit code
		want        instruction
	}{
		{"call rel32", "e8 36 10 00 00", false, instruction{kind: call, len: 5}},
		{"addr32 call", "67 e8 36 10 00 00", false, instruction{kind: call, len: 6}},
		{"call to a pop behind it", "e8 00 00 00 00 5b", true, instruction{kind: call, len: 5, reads: true}},
		{"call of the function behind it", "e8 00 00 00 00 8b 37", false, instruction{kind: call, len: 5}},
		{"call *%rax", "ff d0", false, instruction{kind: call, len: 2}},
		{"notrack call *%r11", "3e 41 ff d3", false, instruction{kind: call, len: 4}},
		{"call *0x2fe2(%rip)", "ff 15 e2 2f 00 00", false, instruction{kind: call, len: 6}},
		{"call *0x10(%rax)", "ff 50 10", false, instruction{kind: call, len: 3}},
		{"call *(%r12,%rbx,8)", "41 ff 14 dc", false, instruction{kind: call, len: 4}},
		{"call *0x0(,%rax,8)", "ff 14 c5 00 00 00 00", false, instruction{kind: call, len: 7}},
		{"call *0x158(%rax)", "ff 90 58 01 00 00", false, instruction{kind: call, len: 6}},
		{"call *0x8(%rsp)", "ff 54 24 08", false, instruction{kind: call, len: 4}},
		{"call *%gs:0x10", "65 ff 15 10 00 00 00", true, instruction{kind: call, len: 7}},
		{"ret", "c3", false, instruction{kind: ret}},
		{"bnd ret", "f2 c3", false, instruction{kind: ret}},
		{"repz ret", "f3 c3", false, instruction{kind: ret}},
		{"ret $0x8", "c2 08 00", false, instruction{kind: ret}},
		{"syscall", "0f 05", false, instruction{kind: syscall_, len: 2}},
		{"int $0x80", "cd 80", true, instruction{kind: syscall_, len: 2}},
		{"sysenter", "0f 34", true, instruction{kind: syscall_, len: 2}},
		{"pop %rbp", "5d", false, instruction{kind: pop}},
		{"pop %r15", "41 5f", false, instruction{kind: pop}},
		{"pop 0x40(%rdi)", "8f 47 40", false, instruction{kind: pop}},
		{"jmp *%r11", "41 ff e3", false, instruction{kind: jump}},
		{"bnd jmp *0x2f(%rip)", "f2 ff 25 2f 00 00 00", false, instruction{kind: jump}},
		{"sub $0x18,%rsp", "48 83 ec 18", false, instruction{kind: adjust}},
		{"and $-64,%rsp", "48 83 e4 c0", false, instruction{kind: adjust}},
		{"sub %rax,%rsp", "48 29 c4", false, instruction{kind: adjust}},
		{"lea 0x8(%rsp),%rsp", "48 8d 64 24 08", false, instruction{kind: adjust}},
		{"inc %eax has the byte of a prefix in 32-bit code", "40", true, instruction{}},
		{"push (%rax)", "ff 30", false, instruction{}},
		{"mov %r8,%rsp", "4c 89 c4", false, instruction{}},
		{"cut short", "e8 36", false, instruction{}},
		{"prefixes only", strings.Repeat("66 ", 16), false, instruction{}},
		{"nothing", "", false, instruction{}},
	}
	for _, r := range rows {
		b, err := hex.DecodeString(strings.ReplaceAll(r.bytes, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(b, !r.narrow); got != r.want {
			t.Errorf("%s: got %+v, want %+v", r.name, got, r.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x67, 0xe8, 1, 2, 3, 4}, true)
	f.Add([]byte{0xff, 0x14}, false)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		if in := decode(b, wide); in.len < 0 || in.len > 2*maxInstruction {
			t.Errorf("decode(% x): length %d", b, in.len)
		}
	})
}

// The comments are objdump's.
func TestDecodeARM64(t *testing.T) {
	for code, want := range map[uint32]instruction{
		0x94000010: {kind: call, len: 4}, 0xd63f0100: {kind: call, len: 4}, // bl; blr x8
		0xd65f03c0: {kind: ret}, 0xd65f0bff: {kind: ret}, // ret; retaa
		0xd61f0200: {kind: jump}, 0x14000010: {}, // br x16; b
		0xd4000001: {kind: syscall_, len: 4},                   // svc #0
		0xd10043ff: {kind: adjust}, 0x914007ff: {kind: adjust}, // sub sp, sp, #16; add sp, sp, #1, lsl #12
		0xcb3063ff: {kind: adjust}, 0x910003bf: {}, // sub sp, sp, x16; mov sp, x29
		// stp x29, x30, [sp, #-16]!; ldr x30, [sp], #96; ldr x30, [sp]; ldp x29, x30, [sp]; str x30, [x20, #-8]!
		0xa9bf7bfd: {kind: adjust}, 0xf84607fe: {kind: adjust}, 0xf94003fe: {}, 0xa9407bfd: {}, 0xf81f8e9e: {},
		// ldxr w1, [x0]; ldaxr x0, [x1]; ldaxp x0, x1, [x2]
		0x885f7c01: {kind: reserve, bits: 0x885f7c01}, 0xc85ffc20: {kind: reserve, bits: 0xc85ffc20},
		0xc87f8440: {kind: reserve, bits: 0xc87f8440},
		// stxr w3, w1, [x0]; stlxr w17, x0, [x1]; stxp w3, x0, x1, [x2]
		0x88037c01: {kind: store, bits: 0x88037c01}, 0xc811fc20: {kind: store, bits: 0xc811fc20},
		0xc8230440: {kind: store, bits: 0xc8230440},
		0x88dffc20: {}, 0x889ffc20: {}, 0x88a07c41: {}, 0x48207c82: {}, // ldar, stlr, cas, casp
	} {
		if got := decodeARM64(binary.LittleEndian.AppendUint32(nil, code)); got != want {
			t.Errorf("%#08x: got %+v, want %+v", code, got, want)
		}
	}
}

// TestTruthOfLinks: calls leave their return address in a register.
func TestTruthOfLinks(t *testing.T) {
	s := newScript()
	s.link = true
	step := func(k kind, pc, sp uint64) {
		after := point{pc, sp}
		s.step(instruction{kind: k, len: 4}, s.at, after)
		s.at = after
	}
	expect := func(what string, want ...uint64) {
		t.Helper()
		if got := s.chain(nil, s.at.pc); !slices.Equal(got, want) {
			t.Errorf("%s: got %#x, want %#x", what, got, want)
		}
	}
	step(call, 0x2000, 0x8000)
	expect("a leaf", 0x2000, 0x1004)
	step(other, 0x2004, 0x7ff0)
	step(call, 0x3000, 0x7ff0)
	expect("in a call", 0x3000, 0x2008, 0x1004)
	step(ret, 0x3000, 0x7ff0)
	expect("a return that has not run", 0x3000, 0x2008, 0x1004)
	step(ret, 0x2008, 0x7ff0)
	step(other, 0x200c, 0x8000)
	expect("behind its frame", 0x200c, 0x1004)
	step(jump, 0x5000, 0x8000)
	expect("behind a tail call", 0x5000, 0x1004)
	step(ret, 0x1004, 0x8000)
	expect("returned", 0x1004)

	step(other, 0x1008, 0x7f00)
	step(call, 0x2000, 0x7f00) // SP is that of a place which setjmp has noted
	step(other, 0x2004, 0x7ef0)
	step(call, 0x6000, 0x7ef0)
	step(other, 0x6004, 0x7f00) // longjmp
	if !s.inJump {
		t.Error("SP went over a frame, and that is no jump")
	}
	step(jump, 0x1010, 0x7f00)
	expect("behind a longjmp", 0x1010)

	step(call, 0, 0x7f00) // through a bad pointer
	s.signal(s.at, point{0x7000, 0x7800}, 0x9000)
	s.at = point{0x7000, 0x7800}
	expect("in a handler", 0x7000, 0x9000, 0, 0x1014)
	s.at = point{0x1014, 0x7f00}
	s.sigreturn(s.at, 0)
	expect("behind a handler that went on elsewhere", 0x1014)
	if s.Odd != 0 {
		t.Errorf("%d returns to elsewhere", s.Odd)
	}
}
