package arm64

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/work"
)

// Instructions of the tests below.
const (
	nop, retX30, brX3, blrX3 = 0xd503201f, 0xd65f03c0, 0xd61f0060, 0xd63f0060
	bl8, b8, bBack8          = 0x94000002, 0x14000002, 0x17fffffe
	cbz8, pushLR             = 0xb4000040, 0xf81b0ffe // cbz x0; str x30, [sp, #-80]!
)

// TestCalls: where a function's direct calls lead. One that has others lists none.
func TestCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		code []byte
		want []Call
		ok   bool
	}{
		{"none", words(nop, retX30), nil, true},
		{"two", words(bl8, nop, bl8, retX30), []Call{{0x1000, 0x1008}, {0x1008, 0x1010}}, true},
		{"and one through a register", words(bl8, blrX3, retX30), nil, false},
		{"cut off", words(bl8, nop)[:7], nil, false},
	} {
		c := &Code{Start: 0x1000, Data: tc.code}
		got, ok := c.Calls(0x1000, 0x1000+uint64(len(tc.code)+3)&^3)
		if ok != tc.ok || ok && !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, %v, want %v, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
	spent := work.New(0, 0)
	spent.Spend(1)
	if _, ok := (&Code{Data: words(nop), Budget: spent}).Calls(0, 4); ok {
		t.Error("calls without a budget")
	}
}

// TestStays: whether a function is left by a return alone.
func TestStays(t *testing.T) {
	for _, tc := range []struct {
		name string
		code []byte
		want bool
	}{
		{"a return", words(nop, retX30), true},
		{"a loop", words(nop, cbz8, 0x17ffffff, retX30), true},
		{"a call", words(bl8, retX30), true},
		{"a jump behind the end", words(nop, b8), false},
		{"a jump before the begin", words(nop, bBack8), false},
		{"a branch to the end", words(cbz8, retX30), false},
		{"a jump to where a register says", words(nop, brX3), false},
	} {
		c := &Code{Start: 0x1000, Data: append(tc.code, words(nop, nop)...)}
		if got := c.Stays(0x1000, 0x1000+uint64(len(tc.code))); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestOnlyReads: which instructions may write memory.
func TestOnlyReads(t *testing.T) {
	for _, tc := range []struct {
		name string
		inst uint32
		want bool
	}{
		{"add x0, x1, #2", 0x91000820, true},
		{"svc #0", 0xd4000001, true},
		{"ldr x0, [sp, #8]", 0xf94007e0, true},
		{"ldrsw x1, [sp, #16]", 0xb98013e1, true},
		{"ldur x29, [sp, #-8]", 0xf85f83fd, true},
		{"ldr x30, [sp], #48", 0xf84307fe, true},
		{"ldr x0, [x1, x2]", 0xf8626820, true},
		{"ldp x29, x30, [sp, #176]", 0xa94b7bfd, true},
		{"ldr q0, [sp]", 0x3dc003e0, true},
		{"ldr x0, literal", 0x58000040, true},
		{"str w0, [sp, #48]", 0xb90033e0, false},
		{"str x0, [x1, x2]", 0xf8226820, false},
		{"str x30, [sp, #-80]!", 0xf81b0ffe, false},
		{"stp xzr, xzr, [sp, #24]", 0xa901ffff, false},
		{"str q0, [sp, #160]", 0x3d802be0, false},
		{"str d0, [sp]", 0xfd0003e0, false},
		{"ldadd x1, x0, [x2]", 0xf8210040, false},
		{"stxr w2, x0, [x1]", 0xc8027c20, false},
		{"stlr x0, [x1]", 0xc89ffc20, false},
		{"st1 {v0.4s}, [x0]", 0x4c007800, false},
		{"st1d {z0.d}, p0, [x0]", 0xe5e0e000, false},
	} {
		c := &Code{Data: words(nop, tc.inst, retX30)}
		if got := c.OnlyReads(0, 12); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestWritten: what a function has surely written to its stack when it comes to a call.
func TestWritten(t *testing.T) {
	const (
		zeros  = 0xa901ffff // stp xzr, xzr, [sp, #24]
		toSP   = 0x9100e3e0 // add x0, sp, #0x38
		both   = 0xa901ffe0 // stp x0, xzr, [sp, #24]
		number = 0xd2800ba8 // mov x8, #93
		eight  = 0xf90007e8 // str x8, [sp, #8]
		half   = 0xb9001bff // str wzr, [sp, #24]
		other  = 0xf9000fe1 // str x1, [sp, #24]
		down   = 0xd10043ff // sub sp, sp, #16
	)
	none := Stored{24, 0, false}
	for _, tc := range []struct {
		name string
		code []uint32 // the call is behind it
		want []Stored
	}{
		{"zeros", []uint32{pushLR, zeros}, []Stored{none, {32, 0, false}}},
		{"an address of the stack", []uint32{toSP, both}, []Stored{{24, 56, true}, {32, 0, false}}},
		{"a number", []uint32{number, eight}, []Stored{{8, 93, false}}},
		{"what is not known", []uint32{other}, nil},
		{"half of it again", []uint32{zeros, half}, []Stored{{32, 0, false}}},
		{"something else again", []uint32{zeros, other}, []Stored{{32, 0, false}}},
		{"before SP moved", []uint32{zeros, down}, []Stored{{40, 0, false}, {48, 0, false}}},
		{"address before SP moved", []uint32{toSP, both, down}, []Stored{{40, 72, true}, {48, 0, false}}},
		{"before a call", []uint32{zeros, bl8}, nil},
		{"before a branch", []uint32{zeros, cbz8}, nil},
		{"before a place that is jumped to", []uint32{cbz8, zeros}, nil},
		{"with something behind it", []uint32{zeros, nop}, []Stored{none, {32, 0, false}}},
		{"beside cases of a switch", []uint32{brX3, zeros}, nil},
	} {
		c := &Code{Data: words(append(slices.Clone(tc.code), bl8, nop, retX30)...)}
		at := uint64(4 * len(tc.code))
		if got := c.Written(0, at+12, at); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
