package x86

import "testing"

// The bytes are what gcc 12, clang 14 and Go 1.26 write for such functions; the comments are objdump's.
func TestRecords(t *testing.T) {
	tests := []struct {
		name  string
		code  []byte
		mode  bool
		grows bool
		want  Records
	}{
		{"frame record, then a call", []byte{
			0xf3, 0x0f, 0x1e, 0xfa, // endbr64
			0x55,             // push %rbp
			0x48, 0x89, 0xe5, // mov %rsp,%rbp
			0xe8, 0x10, 0, 0, 0, // call
			0x5d, 0xc3, // pop %rbp; ret
		}, true, false, Records{Calls: 1, Made: true, Whole: true}},
		{"call without a record", []byte{
			0x48, 0x83, 0xec, 0x08, // sub $8,%rsp
			0xe8, 0x10, 0, 0, 0,
			0x48, 0x83, 0xc4, 0x08, 0xc3,
		}, true, false, Records{Calls: 1, Bare: 1, Whole: true}},
		{"rbp saved but used for a value", []byte{
			0x55, 0x48, 0x89, 0xfd, // push %rbp; mov %rdi,%rbp
			0xe8, 0x10, 0, 0, 0, 0x5d, 0xc3,
		}, true, false, Records{Calls: 1, Bare: 1, Whole: true}},
		{"rbp moved but never saved", []byte{
			0x50, 0x48, 0x89, 0xe5, // push %rax; mov %rsp,%rbp
			0xe8, 0x10, 0, 0, 0, 0x58, 0xc3,
		}, true, false, Records{Calls: 1, Bare: 1, Whole: true}},
		{"leaf", []byte{0x8d, 0x47, 0x01, 0xc3}, true, false, Records{Whole: true}}, // lea 1(%rdi),%eax; ret
		{"leaf with a record", []byte{0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3}, true, false,
			Records{Made: true, Whole: true}},
		{"early return before the record", []byte{
			0x85, 0xff, 0x75, 0x01, 0xc3, // test %edi,%edi; jne +1; ret
			0x55, 0x48, 0x89, 0xe5, 0xe8, 0x10, 0, 0, 0, 0x5d, 0xc3,
		}, true, false, Records{Calls: 1, Made: true, Whole: true}},
		{"call behind the end of the record", []byte{
			0x55, 0x48, 0x89, 0xe5, 0x5d, // push; mov; pop
			0x50, 0xe8, 0x10, 0, 0, 0, 0x58, 0xc3, // push %rax; call
		}, true, false, Records{Calls: 1, Bare: 1, Made: true, Whole: true}},
		{"realigned stack: the return address is copied above the record", []byte{
			0x4c, 0x8d, 0x54, 0x24, 0x08, // lea 8(%rsp),%r10
			0x48, 0x83, 0xe4, 0xc0, // and $-64,%rsp
			0x41, 0xff, 0x72, 0xf8, // push -8(%r10)
			0x55, 0x48, 0x89, 0xe5, // push %rbp; mov %rsp,%rbp
			0x41, 0x52, // push %r10
			0xe8, 0x10, 0, 0, 0, 0xf4,
		}, true, false, Records{Calls: 1, Made: true, Whole: true}},
		{"Go before 1.21: stored and pointed to", []byte{
			0x48, 0x83, 0xec, 0x18, // sub $24,%rsp
			0x48, 0x89, 0x6c, 0x24, 0x10, // mov %rbp,16(%rsp)
			0x48, 0x8d, 0x6c, 0x24, 0x10, // lea 16(%rsp),%rbp
			0xe8, 0x10, 0, 0, 0, 0xf4,
		}, true, true, Records{Calls: 1, Made: true, Whole: true}},
		{"Go asks for more stack first", goFunction, true, true, Records{Calls: 1, Made: true, Whole: true}},
		{"the same call where it counts", goFunction, true, false, Records{Calls: 2, Bare: 1, Made: true, Whole: true}},
		{"386", []byte{0x55, 0x89, 0xe5, 0xe8, 0x10, 0, 0, 0, 0x5d, 0xc3}, false, false,
			Records{Calls: 1, Made: true, Whole: true}},
		{"386 learns its address and calls nobody", []byte{
			0xe8, 0x02, 0, 0, 0, // call of what follows the ret
			0xc3, 0x90,
			0x8b, 0x04, 0x24, 0xc3, // mov (%esp),%eax; ret
		}, false, false, Records{Whole: true}},
		{"bytes that are no instruction", []byte{0x90, 0x06, 0x06}, true, false, Records{}},
		{"nothing", nil, true, false, Records{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: tt.code, Mode64: tt.mode}
			if got := c.Records(0x1000, c.End(), tt.grows); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

var goFunction = []byte{
	0x49, 0x3b, 0x66, 0x10, // cmp 16(%r14),%rsp
	0x76, 0x0b, // jbe +11
	0x55, 0x48, 0x89, 0xe5, // push %rbp; mov %rsp,%rbp
	0xe8, 0x10, 0, 0, 0, // call
	0x5d, 0xc3, // pop %rbp; ret
	0xe8, 0x10, 0, 0, 0, // call runtime.morestack_noctxt
	0xeb, 0xe8, // jmp to the start
}
