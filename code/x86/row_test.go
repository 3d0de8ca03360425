package x86

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// describe writes a row shortly: "7+8 ra@-8 6@-16" is CFA = register 7 + 8, the return
// address at CFA-8, register 6 at CFA-16. Numbers are DWARF's.
func describe(row cfi.Row) string {
	var b strings.Builder
	if row.CFA.Kind == cfi.ValExpression {
		fmt.Fprintf(&b, "[% x]", row.CFA.Expr)
	} else {
		fmt.Fprintf(&b, "%d%+d", row.CFA.Reg, row.CFA.N)
	}
	rule := func(name string, r cfi.Rule) {
		switch r.Kind {
		case cfi.Offset:
			fmt.Fprintf(&b, " %s@%+d", name, r.N)
		case cfi.Register:
			fmt.Fprintf(&b, " %s=%d", name, r.Reg)
		case cfi.Expression:
			fmt.Fprintf(&b, " %s@[% x]", name, r.Expr)
		case cfi.Undefined:
			fmt.Fprintf(&b, " %s=?", name)
		}
	}
	rule("ra", row.RA)
	for _, r := range row.Regs {
		rule(fmt.Sprint(r.Reg), r.Rule)
	}
	return b.String()
}

// Code of the tests, with the addresses of objdump. All begin at 0x1000.
const (
	// 1000 push %rbp; 1001 mov %rsp,%rbp; 1004 push %rbx; 1005 sub $0x18,%rsp; 1009 call .;
	// 100e mov -8(%rbp),%rbx; 1012 leave; 1013 ret
	framed = "\x55\x48\x89\xe5\x53\x48\x83\xec\x18\xe8\xf2\xff\xff\xff\x48\x8b\x5d\xf8\xc9\xc3"
	// 1000 lea 8(%rsp),%r10; 1005 and $-64,%rsp; 1009 push -8(%r10); 100d push %rbp;
	// 100e mov %rsp,%rbp; 1011 push %r10; 1013 sub $0x68,%rsp; 1017 call .; 101c mov -8(%rbp),%r10;
	// 1020 leave; 1021 lea -8(%r10),%rsp; 1025 ret
	realigned = "\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52\x48\x83\xec\x68" +
		"\xe8\xe4\xff\xff\xff\x4c\x8b\x55\xf8\xc9\x49\x8d\x62\xf8\xc3"
	// 1000 push %rbp; 1001 mov %rsp,%rbp; 1004 and $-32,%rsp; 1008 sub $0x20,%rsp; 100c leave; 100d ret
	rounded = "\x55\x48\x89\xe5\x48\x83\xe4\xe0\x48\x83\xec\x20\xc9\xc3"
	// 386: 1000 lea 4(%esp),%ecx; 1004 and $-16,%esp; 1007 push -4(%ecx); 100a push %ebp;
	// 100b mov %esp,%ebp; 100d push %ecx; 100e sub $0x14,%esp; 1011 mov -4(%ebp),%ecx; 1014 leave;
	// 1015 lea -4(%ecx),%esp; 1018 ret
	realigned386 = "\x8d\x4c\x24\x04\x83\xe4\xf0\xff\x71\xfc\x55\x89" +
		"\xe5\x51\x83\xec\x14\x8b\x4d\xfc\xc9\x8d\x61\xfc\xc3"
	// 1000 pop %rdi; 1001 mov $58,%eax; 1006 syscall; 1008 push %rdi; 1009 ret (vfork)
	popsReturn = "\x5f\xb8\x3a\x00\x00\x00\x0f\x05\x57\xc3"
	// 1000 push %rbx; 1001 cmp $3,%edi; 1004 ja 100f; 1006 notrack jmp *%rax; 1009 inc %eax;
	// 100b jmp 100f; 100d dec %eax; 100f pop %rbx; 1010 ret
	switched = "\x53\x83\xff\x03\x77\x09\x3e\xff\xe0\xff\xc0\xeb\x02\xff\xc8\x5b\xc3"
	// 1000 push %rbx; 1001 test %edi,%edi; 1003 je 100c; 1005 push %rax; 1006 push %rax; 1007 call .
	// (never returns); 100c pop %rbx; 100d ret
	noReturn = "\x53\x85\xff\x74\x07\x50\x50\xe8\xf4\xff\xff\xff\x5b\xc3"
	// 1000 call 100c; 1005 pause; 1007 lfence; 100a jmp 1005; 100c lea 8(%rsp),%rsp; 1011 ret
	returnThunk = "\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x8d\x64\x24\x08\xc3"
	// 1000 lea -0x8000(%rsp),%r11; 1008 sub $0x1000,%rsp; 100f orq $0,(%rsp); 1014 cmp %r11,%rsp;
	// 1017 jne 1008; 1019 push %rbx; 101a ret
	probed = "\x4c\x8d\x9c\x24\x00\x80\xff\xff\x48\x81\xec\x00\x10\x00\x00" +
		"\x48\x83\x0c\x24\x00\x4c\x39\xdc\x75\xef\x53\xc3"
)

func TestFromEntry(t *testing.T) {
	for _, test := range []struct {
		name, code string
		mode64     bool
		pc         uint64
		want       string // "" : no row
	}{
		{"first instruction", framed, true, 0x1000, "7+8 ra@-8"},
		{"frame pointer pushed", framed, true, 0x1001, "7+16 ra@-8 6@-16"},
		{"inside the call, as a return address looks it up", framed, true, 0x100d, "6+16 ra@-8 3@-24 6@-16"},
		{"behind leave", framed, true, 0x1013, "7+8 ra@-8"},
		{"realigned: CFA in r10", realigned, true, 0x1009, "10+0 ra@-8"},
		{"realigned: CFA in a slot", realigned, true, 0x101b, "[76 78 06] ra@-8 6@[76 00]"},
		{"realigned: behind leave", realigned, true, 0x1021, "10+0 ra@-8"},
		{"realigned: at ret", realigned, true, 0x1025, "7+8 ra@-8"},
		{"rounded below a frame pointer", rounded, true, 0x100c, "6+16 ra@-8 6@-16"},
		{"386 realigned: CFA in ecx", realigned386, false, 0x1011, "1+0 ra@-4 5@[75 00]"},
		{"386 realigned: behind leave", realigned386, false, 0x1015, "1+0 ra@-4"},
		{"386 realigned: at ret", realigned386, false, 0x1018, "4+4 ra@-4"},
		{"return address popped", popsReturn, true, 0x1006, "7+0 ra=5"},
		{"code behind a switch jump", switched, true, 0x1009, "7+16 ra@-8 3@-16"},
		{"second case, behind a jump", switched, true, 0x100d, "7+16 ra@-8 3@-16"},
		{"behind a call that never returns", noReturn, true, 0x100c, "7+16 ra@-8 3@-16"},
		{"return thunk, inner call", returnThunk, true, 0x100c, "7+16 ra@-8"},
		{"return thunk, loop", returnThunk, true, 0x1007, "7+8 ra@-8"},
		{"probe loop", probed, true, 0x100f, "11+32776 ra@-8"},
		{"behind a probe loop", probed, true, 0x101a, "7+32784 ra@-8 3@-32784"},
		{"not code", "\x06\x06\xc3", true, 0x1002, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: []byte(test.code), Mode64: test.mode64}
			got := ""
			if row, ok := c.FromEntry(c.Start, c.End(), test.pc); ok {
				got = describe(row)
			}
			if got != test.want {
				t.Errorf("%#x: got %q, want %q", test.pc, got, test.want)
			}
			if row, ok := c.FromEntry(c.Start, 0, test.pc); ok != (test.want != "") || ok &&
				describe(row) != test.want {
				t.Errorf("%#x, end unknown: got %q (%v), want %q", test.pc, describe(row), ok, test.want)
			}
		})
	}
}

func TestFromEntrySP(t *testing.T) {
	for _, test := range []struct {
		name, code string
		pc         uint64
		want       string // "" : no row
	}{
		{"first instruction", framed, 0x1000, "7+8 ra@-8"},
		{"frame pointer, SP moved by 24 and two pushes", framed, 0x100d, "7+48 ra@-8 3@-24 6@-16"},
		{"behind leave", framed, 0x1013, "7+8 ra@-8"},
		{"SP rounded below a frame pointer", rounded, 0x100c, ""},
		{"SP realigned", realigned, 0x101b, ""},
		// push rbp; mov rsp, rbp; test edi, edi; je 1f; sub rax, rsp; 1: nop; leave; ret
		{"SP moved by a variable on one way here", "\x55\x48\x89\xe5\x85\xff\x74\x03\x48\x29\xc4\x90\xc9\xc3", 0x100b,
			""},
		// the same with je and jne to each other's place: the moving way is not the first that is followed
		{"SP moved on the other way", "\x55\x48\x89\xe5\x85\xff\x75\x02\xeb\x03\x48\x29\xc4\x90\xc9\xc3", 0x100d, ""},
		{"not code", "\x06\x06\xc3", 0x1002, ""},
	} {
		c := &Code{Start: 0x1000, Data: []byte(test.code), Mode64: true}
		got := ""
		if row, ok := c.FromEntrySP(c.Start, c.End(), test.pc); ok {
			got = describe(row)
		}
		if got != test.want {
			t.Errorf("%s, %#x: got %q, want %q", test.name, test.pc, got, test.want)
		}
	}
}

func TestForward(t *testing.T) {
	for _, test := range []struct {
		name, code string
		mode64     bool
		pc         uint64
		want       string
	}{
		{"frame pointer not set up", framed, true, 0x1013, "7+8 ra@-8"},
		{"through leave", framed, true, 0x100e, "6+16 ra@-8 3@-24 6@-16"},
		{"at leave", framed, true, 0x1012, "6+16 ra@-8 6@-16"},
		{"at ret", "\x90\xc3", true, 0x1001, "7+8 ra@-8"},
		{"at endbr64", "\xf3\x0f\x1e\xfa\xc3", true, 0x1000, "7+8 ra@-8"},
		{"before push of the frame pointer", framed, true, 0x1000, "7+8 ra@-8"},
		{"behind push of the frame pointer", framed, true, 0x1001, "7+16 ra@-8 6@-16"},
		{"realigned", realigned, true, 0x101c, "[76 78 06] ra@-8 6@[76 00]"},
		{"switch case", switched, true, 0x100d, "7+16 ra@-8 3@-16"},
		{"386 realigned", realigned386, false, 0x1011, "[75 7c 06] ra@-4 5@[75 00]"},
		{"no return", "\xeb\xfe", true, 0x1000, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: []byte(test.code), Mode64: test.mode64}
			got := ""
			if row, ok := c.Forward(test.pc); ok {
				got = describe(row)
			}
			if got != test.want {
				t.Errorf("%#x: got %q, want %q", test.pc, got, test.want)
			}
		})
	}
}
