package unwind_test

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// FuzzWalk walks whatever bytes stand for code, stack and registers. Nothing of a target may
// make it panic, loop, or give a stack without a reason to end.
func FuzzWalk(f *testing.F) {
	stack := memory.NewImage(stackBase+0x1000, 8, binary.LittleEndian)
	stack.Label("a").Ref("b").Word(0x10100).Label("b").Ref("a").Word(0x10200).Skip(8)
	f.Add(stack.Range().Data, append([]byte{0xe8, 0, 0, 0, 0}, restoreRT...), uint64(0x10005), uint64(stackBase+0x1000),
		uint8(0))
	f.Add(stack.Range().Data, append([]byte{0x55, 0x48, 0x89, 0xe5, 0xc3}, restoreRT386...), uint64(0x10001),
		uint64(stackBase+0x1000), uint8(1))
	f.Add([]byte{}, []byte{}, uint64(0), uint64(1<<64-1), uint8(2))
	f.Fuzz(func(t *testing.T, stack, code []byte, pc, sp uint64, arch uint8) {
		a := regs.All[int(arch)%len(regs.All)]
		d := newDrawn(a).put(0, code[:min(len(code), len(newDrawn(a).code))]...)
		d.stack.Bytes(stack[:min(len(stack), 0x4000)]...)
		for _, mode := range []unwind.Mode{unwind.Auto, unwind.FramePointersOnly} {
			set := map[regs.Reg]uint64{a.PC: pc, a.SP: sp}
			if a.FP != regs.NoReg {
				set[a.FP] = sp + 16
			}
			s := d.walk(t, unwind.Options{Mode: mode, MaxFrames: 4096}, set)
			if len(s.Frames) == 0 || len(s.Frames) > 4096 {
				t.Errorf("%s: %d frames", a.Name, len(s.Frames))
			}
			if (s.Stop == unwind.Root) != (s.Err == nil) {
				t.Errorf("%s: stop %v with reason %v", a.Name, s.Stop, s.Err)
			}
		}
	})
}
