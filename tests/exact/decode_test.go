package exact

import (
	"encoding/hex"
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
