package v8

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// regexpARM64 is a regular expression of Node.js 18.20.8, as far as its frame goes: it jumps to the instructions that
// save registers, from there to what matches, and goes on where that has put onto its own stack.
var regexpARM64 = []uint32{
	0x14000004, 0xb84046ea, 0x8b2a428a, 0xd61f0140, // b entry; ldr w10, [x23], #4; add x10, x20, w10, uxtw; br x10
	0xa9be6bf9, 0xa90173fb, 0xa9be5bf5, 0xa90163f7, 0xa9bf53f3, // entry: stp x25, x26, [sp, #-32]! …
	0xa9bf7bfd, 0xa9be17e0, 0xa9011fe6, 0x910083fd, // stp x29, x30; stp x0, x5; stp x6, x7; add x29, sp, #32
	0xd10103ff, 0xeb2a63ff, 0x54000049, 0x17fffff1, // sub sp, sp, #64; cmp sp, x10; b.ls; b
	0xf85c83b7, 0x910003bf, 0xa8c17bfd, 0xa9415bf5, 0xa8c253f3, // ldur; mov sp, x29; ldp x29, x30, [sp], #16 …
	0xa9416bf9, 0xa8c263f7, 0xa8c173fb, 0xd65f03c0}

// TestSavingARM64: at each instruction of a regular expression up to V8 10 the registers of its caller are known, those
// too that C++ keeps.
func TestSavingARM64(t *testing.T) {
	const start, top, caller, callerFP = 0x5000, 0x7ff800, 0x6000, 0x7ffa00
	const own = top - 96
	kept := func(i int) uint64 { return uint64(0x1900 + i) }
	stack := memory.NewImage(top-96, 8, order).Word(callerFP).Word(caller)
	for i := 19; i <= 28; i++ {
		stack.Word(kept(i))
	}
	text := mem.Range{Start: start, Data: bytesOf(regexpARM64)}
	v := reader(stack.Range(), text)
	s := savingARM64(start, len(text.Data), v)
	if s == nil || s.entry != start+16 || s.row.CFA.N != 96 {
		t.Fatalf("%+v", s)
	}
	depth := []uint64{0, 192, 192, 192, 0, 32, 32, 64, 64, 80, 96, 128, 128, 128, 192, 192, 192, 192, 192, 96, 80, 80,
		48, 48, 16, 0}
	for i := range regexpARM64 {
		for _, interrupted := range []bool{true, false} {
			framed := i >= 1 && i <= 3 || i >= 13 && i <= 19
			if !framed && !interrupted {
				continue // it has called there
			}
			now := regs.New(regs.ARM64)
			now.Set(regs.ARM64PC, uint64(start+4*i))
			now.Set(regs.ARM64SP, top-depth[i])
			now.Set(regs.ARM64FP, callerFP)
			now.Set(regs.ARM64LR, caller)
			for k := 19; k <= 28; k++ {
				now.Set(regs.ARM64X0+regs.Reg(k), kept(k))
			}
			if framed {
				now.Set(regs.ARM64FP, own)
				now.Set(regs.ARM64LR, start)
				for k := 19; k <= 28; k++ {
					now.Set(regs.ARM64X0+regs.Reg(k), 0)
				}
			}
			next, err := s.caller(interrupted, &now, v, v)
			if err != nil {
				t.Errorf("instruction %d, interrupted %t: %v", i, interrupted, err)
				continue
			}
			pc, _ := next.PC()
			sp, _ := next.SP()
			fp, _ := next.FP()
			if pc != caller || sp != top || fp != callerFP {
				t.Errorf("instruction %d: pc %#x, sp %#x, x29 %#x", i, uint64(pc), uint64(sp), uint64(fp))
				continue
			}
			for k := 19; k <= 28; k++ {
				if w, ok := next.Get(regs.ARM64X0 + regs.Reg(k)); !ok || w != kept(k) {
					t.Errorf("instruction %d: x%d %#x, known %t", i, k, w, ok)
				}
			}
		}
	}
	for i := range text.Data {
		savingARM64(start, i, reader(mem.Range{Start: start, Data: text.Data[:i]}))
	}
	for _, other := range [][]uint32{interpretedARM64, recordARM64, {0x14000001, 0xa9bf7bfd, 0x910003fd, 0xd65f03c0}} {
		if s := savingARM64(start, 4*len(other), reader(mem.Range{Start: start, Data: bytesOf(other)})); s != nil {
			t.Errorf("%x: %+v", other, s)
		}
	}
}

// TestCrossRegexpARM64: a frame that says that it is a regular expression's ends above what that has saved, another one
// behind its frame record.
func TestCrossRegexpARM64(t *testing.T) {
	const start, stack, fp, caller, callerFP = 0x5000, 0x7ff000, 0x7ff040, 0x6000, 0x7ffa00
	const top = fp + 96
	text := mem.Range{Start: start, Data: bytesOf(regexpARM64)}
	objects := mem.Range{Start: 0x9000, Data: make([]byte, 128)}
	for _, tc := range []struct{ frameType, sp uint64 }{{6, top}, {7, fp + 16}} {
		r, _, _ := drawnARM64(t, "JSEntry", entryFromC, jsEntryARM64)
		all := &areas{list: []area{{start: start, end: start + 0x1000, made: true}}, low: start, high: start + 0x1000}
		r.areas.Store(all)
		image := memory.NewImage(stack, 8, order).Skip(7).Word(tc.frameType << 1).Word(callerFP).Word(caller).Skip(10)
		v := reader(image.Range(), text, objects)
		const ra = start + 8
		r.codes.byPC.Keep(ra-1, &code{Code: heap.Code{Addr: 0x9020, Start: start, Size: len(text.Data)}, stream: 0x9000,
			saving: savingARM64(start, len(text.Data), v)}, 0)
		now := regs.New(regs.ARM64)
		now.Set(regs.ARM64PC, ra)
		now.Set(regs.ARM64SP, stack)
		now.Set(regs.ARM64FP, fp)
		x, err := r.Cross([]unwind.Frame{{PC: ra, SP: stack}}, &now, v)
		if err != nil {
			t.Fatal(err)
		}
		pc, _ := x.Registers.PC()
		sp, _ := x.Registers.SP()
		if pc != caller || sp != mem.Addr(tc.sp) {
			t.Errorf("frame type %d: pc %#x, sp %#x, want %#x", tc.frameType, uint64(pc), uint64(sp), tc.sp)
		}
	}
}
