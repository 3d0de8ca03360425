package hotspot

import (
	"testing"

	"github.com/fpstack/fpstack/code/arm64"

	"github.com/fpstack/fpstack/regs"
)

// Code of OpenJDK 17.0.19 and 25.0.5 for arm64, as it was read from processes.
var (
	// Of a method that C1 compiled: a nop, the stack bang, sub sp, stp, and the barrier at its entry.
	prologueARM64 = []arm64.Inst{0xd503201f, 0xd14053e9, 0xf900013f, 0xd10183ff, 0xa9057bfd, 0x18000128, 0xb9402389}
	// Of one with a large frame: stp x29, x30, [sp, #-16]!; mov x8, #8176; sub sp, sp, x8.
	largeARM64 = []arm64.Inst{0xd503201f, 0xa9bf7bfd, 0xd283fe08, 0xcb2863ff, 0xd503201f}
	// The end of one: ldp, add sp, the poll, ret.
	epilogueARM64 = []arm64.Inst{0xa9457bfd, 0x910183ff, 0xf941f788, 0xeb2863ff, 0x54000048, 0xd65f03c0}
	// The poll out of line: adr x8; str x8, [x28, #n]; b.
	pollARM64 = []arm64.Inst{0xd65f03c0, 0x10fffec8, 0xf9020f88, 0x17ffede3}
)

func TestBuildsFrameARM64(t *testing.T) {
	type want struct {
		up            int64
		pushed, whole bool
	}
	for _, row := range []struct {
		name string
		code []arm64.Inst
		want []want
	}{
		{"small", prologueARM64, []want{{}, {}, {}, {}, {up: 96}, {whole: true}, {whole: true}, {whole: true}}},
		{"large", largeARM64, []want{{}, {}, {pushed: true}, {pushed: true}, {whole: true}, {whole: true}}},
	} {
		for i, w := range row.want {
			var got want
			if got.up, got.pushed, got.whole = buildsFrame(row.code[:i]); got != w {
				t.Errorf("%s: behind %d instructions %+v, want %+v", row.name, i, got, w)
			}
		}
	}
}

func TestTakenARM64(t *testing.T) {
	type want struct {
		up int64
		ok bool
	}
	for _, row := range []struct {
		name string
		code []arm64.Inst
		want []want
	}{
		{"epilogue", epilogueARM64, []want{{}, {96, true}, {0, true}, {0, true}, {0, true}, {0, true}, {}}},
		{"poll", pollARM64, []want{{}, {0, true}, {0, true}, {0, true}, {}}},
		{"call", []arm64.Inst{0xa9457bfd, 0x94000000, 0xd503201f}, []want{{}, {96, true}, {}, {}}},
		{"of a record", []arm64.Inst{popsRecord, arm64.Ret}, []want{{}, {0, true}, {}}},
	} {
		for i, w := range row.want {
			var got want
			if got.up, got.ok = taken(row.code[:i], row.code[i:]); got != w {
				t.Errorf("%s: at instruction %d %+v, want %+v", row.name, i, got, w)
			}
		}
	}
}

func TestUnpushed(t *testing.T) {
	for _, row := range []struct {
		name string
		code []arm64.Inst
		want int64
	}{
		{"trace for the JVM", []arm64.Inst{0x910043ff, 0xb9400fa1}, 16},       // add sp, sp, #16
		{"arguments", []arm64.Inst{0xa8c103e0, 0xa8c10fe1, 0xb9400fa1}, 32},   // ldp, ldp
		{"one register", []arm64.Inst{0xf84107e0, 0xd65f03c0}, 16},            // ldr x0, [sp], #16
		{"the record", []arm64.Inst{popsRecord, arm64.Ret}, 0},                // the frame's own
		{"a large frame", []arm64.Inst{0x913fc3ff, popsRecord, arm64.Ret}, 0}, // add sp, then the record
		{"a small frame", []arm64.Inst{0xa9457bfd, 0x910183ff, arm64.Ret}, 0}, // ldp x29, x30, [sp, #80]
		{"less than an instruction", nil, 0},                                  //
		{"what goes on", []arm64.Inst{0xb9400fa1, 0x910043ff}, 0},             // ldr w1, [x29, #12]
		{"vectors", []arm64.Inst{0x6cc107e0, 0xacc107e0, 0x6cc107e0}, 64},     // ldp d, q, d, [sp], #n
		{"stack pointer lowered", []arm64.Inst{0xd10043ff, 0xb9400fa1}, 0},    // sub sp, sp, #16
	} {
		if got := unpushed(row.code); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// TestPushedBefore is of what C1 does to check a cast in JDK 17: stp x4, x3, [sp, #-16]!; bl; ldr x4, [sp], #16.
func TestPushedBefore(t *testing.T) {
	cast := []arm64.Inst{0x540000c0, 0xa9bf0fe4, 0x97fd7d2c, 0xf84107e4, 0x34000a24, 0x14000001}
	for i, want := range []int64{0, 0, 16, 16, 0, 0, 0} {
		if got := pushedBefore(cast[:i]); got != want {
			t.Errorf("behind %d instructions of a cast %d, want %d", i, got, want)
		}
	}
	for name, code := range map[string][]arm64.Inst{"a small frame": prologueARM64, "a large one": largeARM64,
		"what a jump is before": {0xa9bf0fe4, 0x14000001}} {
		if got := pushedBefore(code); got != 0 {
			t.Errorf("behind %s %d bytes are pushed", name, got)
		}
	}
}

func TestSavedAt(t *testing.T) {
	for _, row := range []struct {
		expr []byte
		base regs.Reg
		off  int64
	}{
		{[]byte{0x8f, 0}, regs.ARM64SP, 0}, {[]byte{0x8d, 0x70}, regs.ARM64FP, -16},
		{[]byte{0x8f, 0x3f}, regs.ARM64SP, 63},
		{nil, regs.NoReg, 0}, {[]byte{0x8f, 0x80, 1}, regs.NoReg, 0}, {[]byte{0x8f, 0x80}, regs.NoReg, 0},
	} {
		if base, off := savedAt(row.expr); base != row.base || off != row.off {
			t.Errorf("%x: %d and %d, want %d and %d", row.expr, base, off, row.base, row.off)
		}
	}
}

// fixedARM64 begins a method in the interpreter of JDK 25, and nativeARM64 is what a native one has of a record of its
// own in JDK 17, and its end.
var (
	fixedARM64 = []arm64.Inst{0xa9ba5be8, 0xf9400988, 0xb4000048, 0x91034108, 0xa90333e8, 0xa9057bfd, 0x910143fd,
		0xf94004ab, 0xa9016be8, 0xa9044fff, 0xf9400d6a}
	recordARM64 = []arm64.Inst{0xa9bf7bfd, 0x910003fd, 0x3940e391, 0x910003bf, 0xa8c17bfd, 0x14000002}
	leaveARM64  = []arm64.Inst{0x910003bf, 0xa8c17bfd, 0x9100029f, 0xd65f03c0, 0xd2800001}
)

func TestEntersARM64(t *testing.T) {
	for i := range fixedARM64 {
		want := outside
		switch {
		case i >= 10:
			want = entered
		case i >= 7:
			want = chained
		}
		if e, record := enters(fixedARM64[:i]); e != want || record {
			t.Errorf("behind %d instructions %d, a record %v; want %d", i, e, record, want)
		}
	}
	native := append(append([]arm64.Inst{}, fixedARM64...), recordARM64...)
	for i := range recordARM64 {
		if e, record := enters(native[:len(fixedARM64)+i]); e != entered || record != (i >= 2 && i <= 4) {
			t.Errorf("in a native method %d instructions later: %d, a record %v", i, e, record)
		}
	}
}

func TestUnlinkedARM64(t *testing.T) {
	throws := []arm64.Inst{0x910003bf, 0xa8c17bfd, 0x927cee9f, // its frame is gone
		0xa9bf7be0, // stp x0, x30, [sp, #-16]!
		0xa9bf33e8, // stp x8, x12, [sp, #-16]!
		0xd63f0100, // blr x8
		0xa8c133e8, // ldp x8, x12, [sp], #16
		0xaa0003e1,
		0xa8c17be0, // ldp x0, x30, [sp], #16
		0xaa1e03e3, 0xd61f0020}
	const no = -2
	for _, row := range []struct {
		name string
		code []arm64.Inst
		want []int64
	}{
		{"native", leaveARM64, []int64{no, no, -1, -1, no}},
		{"throws", throws, []int64{no, no, -1, -1, 8, 24, 24, 8, 8, -1, -1}},
		{"barrier", recordARM64, []int64{no, no, no, no, no, no}},
	} {
		for i, want := range row.want {
			got, ok := unlinked(row.code, i)
			if !ok {
				got = no
			}
			if got != want {
				t.Errorf("%s: at instruction %d %d, want %d", row.name, i, got, want)
			}
		}
	}
}
