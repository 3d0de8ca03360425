package arm64

import (
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// TestCases: a case of a switch inside another begins with what that has saved, also where it lies before the case that
// leads to it: of bti j it is known that an indirect jump leads there. The comments are llvm-objdump's.
func TestCases(t *testing.T) {
	c := Code{Start: 0x1000, Data: words(
		0xd503233f, // paciasp
		0xa9bd7bfd, // stp x29, x30, [sp, #-48]!
		0xd61f0040, // br x2
		0xa94163f7, // ldp x23, x24, [sp, #16]
		0x14000007, // b 0x102c
		0xd503249f, // bti j
		0xa90163f7, // stp x23, x24, [sp, #16]
		0xd2800017, // mov x23, #0
		0xd61f0040, // br x2
		0xd503249f, // bti j
		0x17fffff9, // b 0x100c
		0xd65f03c0, // ret
	)}
	for pc, want := range map[uint64]cfi.RuleKind{
		0x100c: cfi.Offset,      // the end of a case that lies first, reached from the last one
		0x1018: cfi.Unspecified, // the outer case
		0x1024: cfi.Offset,      // the inner case
	} {
		row, ok := c.FromEntry(c.Start, c.End(), pc)
		if got := row.Rule(23); !ok || got.Kind != want {
			t.Errorf("%#x: x23 is %+v, %t, want kind %d", pc, got, ok, want)
		}
	}
}

// TestMoved: the path goes on behind a jump to an instruction that a linker has moved away.
func TestMoved(t *testing.T) {
	c := Code{Start: 0x1000, Data: words(
		0xd10083ff, // sub sp, sp, #32
		0x14000004, // b 0x1014
		0xd65f03c0, // ret
		0xd503201f, // nop
		0xd503201f, // nop
		0xa9017bfd, // stp x29, x30, [sp, #16]
		0x17fffffc, // b 0x1008
	)}
	row, ok := c.FromEntry(c.Start, 0x100c, 0x1008)
	if !ok || row.CFA.N != 32 || row.RA.Kind != cfi.Offset || row.RA.N != -8 {
		t.Errorf("got %+v, %t", row, ok)
	}
}
