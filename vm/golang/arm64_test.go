package golang

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// instructions is code of arm64, as an assembler gave it.
func instructions(words ...uint32) (code []byte) {
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

// gogo is what Go 1.26 has of it from the call of runtime.save_g on.
var gogo = instructions(
	0x94000fcf, // bl runtime.save_g
	0xf94000a0, // ldr x0, [x5]
	0x9100001f, // mov sp, x0
	0xf94014bd, // ldr x29, [x5, #40]
	0xf94010be, // ldr x30, [x5, #32]
	0xf9400cba, // ldr x26, [x5, #24]
	0xf90000bf, // str xzr, [x5]
	0xf94004a6, // ldr x6, [x5, #8]
	0xd61f00c0, // br x6
)

// TestResumesARM64: at each instruction of gogo behind the one that sets SP, PC, x29 and x30 of the goroutine are in
// its gobuf or, once they were loaded, in registers; before it nothing leads there.
func TestResumesARM64(t *testing.T) {
	const buf, pc, fp, lr = 0x4000001000, 0x10040, 0x4000002ff8, 0x10980
	saved := map[mem.Addr]uint64{buf + 8: pc, buf + 40: fp, buf + 32: lr}
	word := func(a mem.Addr) (uint64, error) {
		v, ok := saved[a]
		if !ok {
			t.Errorf("read %#x, which is no word that gogo has yet to load", a)
		}
		return v, nil
	}
	for i := range len(gogo) / 4 {
		now := regs.New(regs.ARM64)
		now.Set(5, buf)
		for _, loaded := range []struct {
			at int
			r  regs.Reg
			v  uint64
		}{{4, regs.ARM64.FP, fp}, {5, regs.ARM64.LR, lr}, {8, 6, pc}} {
			if i >= loaded.at {
				now.Set(loaded.r, loaded.v)
				delete(saved, map[int]mem.Addr{4: buf + 40, 5: buf + 32, 8: buf + 8}[loaded.at])
			}
		}
		next, ok, err := resumedARM64(gogo[i*4:], &now, word)
		if err != nil || ok != (i > 2) {
			t.Fatalf("instruction %d: got %v, %v", i, ok, err)
		}
		if !ok {
			continue
		}
		gotPC, _ := next.PC()
		gotFP, _ := next.Get(regs.ARM64.FP)
		gotLR, _ := next.Get(regs.ARM64.LR)
		if gotPC != pc || gotFP != fp || gotLR != lr {
			t.Errorf("instruction %d: got PC %#x, x29 %#x, x30 %#x", i, gotPC, gotFP, gotLR)
		}
	}
	now := regs.New(regs.ARM64)
	if _, ok, _ := resumedARM64(gogo[12:], &now, word); ok {
		t.Error("x5 is not known, and yet it leads somewhere")
	}
	if _, ok, _ := resumedARM64(gogo[12:20], &now, word); ok {
		t.Error("code that ends before the jump leads somewhere")
	}
}

// TestReadsTPIDR: the place of a thread's g on arm64 is what runtime.load_g loads by the thread pointer.
func TestReadsTPIDR(t *testing.T) {
	const at, slot = 0x45d7c, 0x1e3fa8
	r := &Runtime{memory: mem.NewOverlay(nil, mem.Range{Start: slot, Data: []byte{0x30, 1, 0, 0, 0, 0, 0, 0}})}
	const mrs, load = 0xd53bd040, 0xf87b681c // mrs x0, tpidr_el0; ldr x28, [x0, x27]
	for _, c := range []struct {
		what string
		code []byte
		want int64
	}{
		{"a constant", instructions(0x39c3f760, mrs, 0xd280021b, load), 16},
		{"a long constant", instructions(mrs, 0xd2a0003b, 0xf280021b, load), 1<<16 + 16},
		{"a word of the loader", instructions(mrs, 0xd0000cfb, 0xf947d77b, load), 0x130},
		{"nothing by the thread pointer", instructions(0xd280021b, load), 0},
		{"another register", instructions(mrs, 0xd280021a, load), 0},
		{"cut", instructions(mrs, 0xd280021b)[:6], 0},
	} {
		if got := r.readsTPIDR(c.code, at); got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.what, got, c.want)
		}
	}
}

// TestRefersARM64: code of runtime.allgadd (Go 1.26) refers to allglock, allgs, its second word and the flag of the
// write barrier, and to nothing by other registers.
func TestRefersARM64(t *testing.T) {
	got := refersARM64(instructions(
		0x900011c0, 0x911a2000, // adrp x0; add x0, x0, #1672
		0x97ff36e1, 0xb000109b, 0x912d437b, 0xa9400760, // bl; adrp x27; add x27, x27, #2896; ldp x0, x1, [x27]
		0x91000421, 0xb000109b, 0xf945b362, // add x1, x1, #1; adrp x27; ldr x2, [x27, #2912]
		0x900011db, 0xb9485365, // adrp x27; ldr w5, [x27, #2128]
		0x900011db, 0xf945b3a2, // adrp x27; ldr x2, [x29, #2912]
		0xb000109b), 0x5b0c4)
	want := []mem.Addr{0x293688, 0x26cb50, 0x26cb60, 0x293850}
	if !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// TestFrameOfCgocallback: what crosscall2 has of the C that called it is found on arm64, whatever runtime.nanotime1
// left below the frame of runtime.cgocallback, where that kept its frame pointer.
func TestFrameOfCgocallback(t *testing.T) {
	const ra, fp, g0 = 0x50caac, 0xffff80001230, 0xffff80001400
	i := memory.NewImage(0xffff80001000, 8, binary.LittleEndian)
	i.Label("below").Word(0)
	i.Label("frame").Word(ra).Skip(1).Word(g0).Skip(3)
	i.Label("crosscall2").Skip(22).Word(fp).Word(0x51d410)
	v := view.Lasting(mem.NewOverlay(nil, i.Range()), nil)
	gotRA, gotFP, gotG0 := arm64.frame.words(i.Addr("frame"), &v)
	if gotRA != ra || gotFP != fp || gotG0 != g0 {
		t.Errorf("got %#x, %#x, %#x, want %#x, %#x, %#x", gotRA, gotFP, gotG0, uint64(ra), uint64(fp), uint64(g0))
	}
}
