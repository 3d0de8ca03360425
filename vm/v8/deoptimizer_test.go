package v8

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// TestDeoptEntry reads what the builtin of Node.js 26 does, and goes from it to the caller of code that is given up.
func TestDeoptEntry(t *testing.T) {
	code := []byte("\xff\xd0" + // call rax: it makes the Deoptimizer
		"\x48\x8b\x24\x24" + // mov rsp, [rsp]
		"\x48\x8b\x58\x50" + // mov rbx, [rax + 0x50]
		"\x8f\x83\x88\x00\x00\x00" + // pop [rbx + 0x88]
		"\x48\x83\xc4\x08" + // 16: add rsp, 8
		"\x48\x8b\x0b\x48\x01\xe1\x48\x8d\x93\xc8\x01\x00\x00" + // the frame is moved
		"\x50\x4c\x89\x14\x24" +
		"\xff\xd0" + // 38: call rax
		"\x58")
	e := deoptEntryOf(code, 0x1000)
	if e == nil || *e != (deoptEntry{moves: 0x1010, returns: 0x1028, input: 0x50, content: 0x1c8}) {
		t.Fatalf("%+v", e)
	}
	for i := range code {
		if e := deoptEntryOf(code[:i], 0x1000); e != nil && e.returns > module.Vaddr(0x1000+i) {
			t.Errorf("%d bytes return to %#x", i, e.returns)
		}
	}
	const stack, object, input, ra, callerFP = 0x7ff000, 0x100000, 0x200000, 0x5010, 0x7ff400
	s := memory.NewImage(stack, 8, order).Word(stack + 16).Skip(1).Word(object)
	const top = stack + 24 // of the frame: an argument, return address, frame pointer, two words more
	const fp, size = top - 24, 5 * 8
	d := memory.NewImage(object, 8, order).Skip(0x50 / 8).Word(input)
	f := memory.NewImage(input, 8, order).Word(size).Skip(0x1c8/8 - 1).Skip(2).Word(callerFP).Word(ra).Word(1)
	copied := view.Copied(nil, s.Range(), d.Range(), f.Range())
	m := &copied
	all := &areas{list: []area{{start: 0x5000, end: 0x6000, made: true}}, low: 0x5000, high: 0x6000}
	g := givingUp{e, stack}
	next, err := g.caller(regs.AMD64, all, fp, m)
	pc, _ := next.PC()
	got, _ := next.Get(regs.AMD64RBP)
	if sp, _ := next.SP(); err != nil || pc != ra || got != callerFP || sp != fp+16 {
		t.Errorf("pc %#x, rbp %#x, rsp %#x, %v", uint64(pc), got, uint64(sp), err)
	}
	for _, bad := range []mem.Addr{0, fp - 64, top, top + 8, 1 << 63} {
		if _, err := g.caller(regs.AMD64, all, bad, m); err == nil {
			t.Errorf("the frame pointer %#x leads somewhere", uint64(bad))
		}
	}
	if _, err := g.caller(regs.AMD64, &areas{}, fp, m); err == nil {
		t.Error("a caller that is no code of V8")
	}
}

// TestDeoptEntryARM64 reads what the builtin of Node.js 26 does there, finds the Deoptimizer above the frame of the C++
// that computes frames, wherever that has its record, and goes to the caller of the code that is given up.
func TestDeoptEntryARM64(t *testing.T) {
	code := bytesOf([]uint32{0xf9402801, 0x910003f0, 0x910a83ff, // ldr x1, [x0, #80]; 8: add sp, sp, #n
		0xf9400022, 0x910d2023, 0x910003e1, 0x927ff842, 0x8b226fff, 0xa9bf7fe0, // the frame is moved
		0xf9535350, 0xd63f0200, 0xd503201f}) // 40: blr x16
	e := deoptEntryARM64(code, 0x1000)
	if e == nil || *e != (deoptEntry{moves: 0x1008, returns: 0x102c, input: 80, content: 840, padding: 8}) {
		t.Fatalf("%+v", e)
	}
	for i := range code {
		if e := deoptEntryARM64(code[:i], 0x1000); e != nil && e.returns > module.Vaddr(0x1000+i) {
			t.Errorf("%d bytes return to %#x", i, e.returns)
		}
	}
	const stack, object, input, ra, callerFP = 0x7ff000, 0x100000, 0x200000, 0x5010, 0x7ff400
	// The rest of the frame of the C++, which has pairs with 0 too, and the Deoptimizer.
	s := memory.NewImage(stack, 8, order).Word(stack + 32).Word(0).Word(77).Word(0).Word(object).Word(0)
	const top = stack + 48 // of the frame: frame pointer, return address, an argument and what aligns it
	const fp, size = top - 32, 6 * 8
	d := memory.NewImage(object, 8, order).Skip(80 / 8).Word(input).Skip(16)
	f := memory.NewImage(input, 8, order).Word(size).Skip(840/8 - 1).Skip(2).Word(callerFP).Word(ra).Word(1).Word(0)
	g := givingUp{e, stack}
	th := snapshot.Thread{Arch: regs.ARM64, Stack: s.Range()}
	fetcher := snapshot.Fetcher{Budget: snapshot.CopyBudget}
	fetcher.Run([]snapshot.Copier{copierFunc(g.fetch)}, &th, pieces{reader(d.Range(), f.Range())})
	copied := view.Copied(nil, append(th.Copied, s.Range())...)
	all := &areas{list: []area{{start: 0x5000, end: 0x6000, made: true}}, low: 0x5000, high: 0x6000}
	next, err := g.caller(regs.ARM64, all, fp, &copied)
	pc, _ := next.PC()
	got, _ := next.FP()
	if sp, _ := next.SP(); g.sp != stack+32 || err != nil || pc != ra || got != callerFP || sp != fp+16 {
		t.Errorf("it is at %#x; pc %#x, x29 %#x, sp %#x, %v", uint64(g.sp), uint64(pc), got, uint64(sp), err)
	}
	if _, err := (&givingUp{e, stack}).caller(regs.ARM64, all, fp, &copied); err == nil {
		t.Error("another pair is a Deoptimizer")
	}
}

type copierFunc func(*snapshot.Thread, *snapshot.Fetcher)

func (c copierFunc) Copy(t *snapshot.Thread, f *snapshot.Fetcher) { c(t, f) }

// pieces reads by a reader.
type pieces struct{ mem.Reader }

func (p pieces) ReadPieces(list []snapshot.Piece) error {
	for i := range list {
		list[i].Got, _ = p.ReadMem(list[i].Data, list[i].Addr)
	}
	return nil
}
