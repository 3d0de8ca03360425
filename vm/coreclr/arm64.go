package coreclr

import (
	"errors"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/coreclr/xdata"
)

// onARM64 is what the runtime does on arm64: a call leaves its return address in x30.
// Encodings: Arm Architecture Reference Manual for A-profile, C6.2.
var onARM64 = port{
	arch:         regs.ARM64,
	functionSize: xdata.FunctionSize,
	function: func(b []byte) unwindcode.Function {
		f := xdata.ParseFunction(b)
		return unwindcode.Function{Begin: f.Begin, Info: f.Data}
	},
	sized: func(f *unwindcode.Function, head []byte) error {
		if (xdata.Function{Begin: f.Begin, Data: f.Info}).Packed() {
			return errPacked
		}
		f.End = f.Begin + xdata.Length(head)
		return nil
	},
	headSize: xdata.HeadSize,
	maxInfo:  xdata.MaxRecord,
	infoSize: xdata.Size,
	row:      (*Runtime).rowARM64,
	stub: func(_ *Runtime, pc mem.Addr) (*cfi.Row, error) {
		return returnRow(regs.ARM64, pc, 0), nil // no stub has a frame, or changes x30
	},
	trip:  tripARM64,
	moved: movedARM64,
}

// movedARM64: a RangeSection has no table of unwind information for Windows here, a lock has 8 bytes more (a mutex of
// libc), and a Thread more before its link. Where a module of 8 and 9 has its precompiled code is found by the shape.
// Source: struct RangeSection in src/coreclr/vm/codeman.h; PAL_CS_NATIVE_DATA_SIZE in src/coreclr/pal/inc/pal.h. Seen
// in 8.0.6, 9.0.5 and 9.0.9.
func movedARM64(l *layout, major int) {
	l.sectionDeleted = 56
	switch major {
	case 8:
		l.moduleName, l.moduleR2R = 0x110, unknown
		l.storeFirst, l.threadLink, l.threadOSID, l.threadObject = 168, 272, 464, 472
	case 9:
		l.modulePath, l.moduleName, l.moduleBase, l.moduleR2R = 280, 0x110, 296, unknown
		l.storeFirst, l.threadLink, l.threadOSID, l.threadObject = 168, 152, 336, 344
	case 10:
		l.patchpointSaved = 16 // seen in 10.0.12
	}
}

// errPacked: neither the JIT nor the compiler of ReadyToRun images writes that.
var errPacked = errors.New("its unwind information is in a form that is not read")

const instruction = 4 // bytes

// maxPrologue is how many bytes a prologue has at most.
const maxPrologue = 0x70

// rowARM64 is the row at place at of c.
func (r *Runtime) rowARM64(c *code, at uint32, interrupted bool) (*cfi.Row, error) {
	var here, entry []byte
	var err error
	start, _ := c.span()
	if interrupted {
		if here, err = r.text(c, start+mem.Addr(at), instruction); err != nil {
			return nil, err
		}
	}
	if at < maxPrologue {
		if entry, err = r.text(c, start, instruction); err != nil && interrupted {
			return nil, err
		}
	}
	return xdata.Row(r.info(c, c.function.Info, xdata.MaxRecord), at, entry, here)
}

// tripARM64 is trip of arm64: it makes a frame, saves what its caller may want and what the function returned that came
// to it, and calls with that.
// Source: src/coreclr/vm/arm64/asmhelpers.S. Seen in 10.0.12.
func tripARM64(code []byte, at int) (t *trip, begin int) {
	for begin = at &^ (instruction - 1); begin >= 0; begin -= instruction {
		if begin+instruction > len(code) {
			continue
		}
		if _, before, saves := arm64.Word(code[begin:]).SavesRecord(); saves && before {
			return parseTripARM64(code[begin:]), begin
		}
	}
	return nil, 0
}

const (
	moveFP = 0x910003fd // mov x29, sp
	moveX0 = 0x910003e0 // mov x0, sp
)

// parseTripARM64 reads the function that b begins with; nil if it is another one.
func parseTripARM64(b []byte) *trip {
	b = b[:min(len(b), tripReach)]
	const most = 1 << 16 // of the frame that has returned
	t := &trip{arch: regs.ARM64, changed: regs.ARM64FP, above: most}
	size, depth, before, kept := int64(0), int64(0), arm64.Inst(0), false
	for at := 0; at+instruction <= len(b); at += instruction {
		i := arm64.Word(b[at:])
		_, behind, leaves := i.LoadsRecord()
		for range instruction {
			t.depth = append(t.depth, depth)
		}
		n := int64(int32(i<<10)>>25) * wordSize // of pairs
		first, second := regs.Reg(i&31), regs.Reg(i>>10&31)
		switch {
		case at == 0:
			size, depth = -n, -n
			t.ra = wordSize - size
			t.saved = append(t.saved, savedAt{regs.ARM64FP, -size})
		case i == moveFP && at == instruction, i == moveX0 && t.call == 0:
		case i>>26 == 0x25 && before == moveX0 && kept && t.call == 0: // bl
			t.call = at + instruction
		case i&0xffc003e0 == 0xa90003e0 && t.call == 0 && n >= 0 && n+wordSize < size: // stp, of two on the stack
			if first >= 19 && first < 28 && second == first+1 {
				t.saved = append(t.saved, savedAt{first, n - size}, savedAt{second, n + wordSize - size})
			}
			kept = kept || first == 0 && second == 1
		case i&0xffc003e0 == 0xa94003e0 && t.call != 0, i&0xff8003e0 == 0xad0003e0: // ldp, also q registers, or stp
		case i&0xff8003e0 == 0xf90003e0: // str, ldr
		case leaves && behind && n == size && t.call != 0:
			depth = 0
		case i == arm64.Ret && depth == 0 && t.call != 0:
			return t.sorted()
		default:
			return nil
		}
		before = i
	}
	return nil
}
