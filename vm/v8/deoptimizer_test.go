package v8

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
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
	g := givingUp{entry: e, sp: stack}
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
	code := bytesOf([]uint32{0xd63f0200, 0xf9402801, 0x910003f0, 0x910a83ff, // blr; ldr x1, [x0, #80]; 12: add sp, sp
		0xf9400022, 0x910d2023, 0x910003e1, 0x927ff842, 0x8b226fff, 0xa9bf7fe0, // the frame is moved; 36: stp x0, xzr
		0xf9535350, 0xd63f0200, 0xd503201f, 0xa8c17fe4, 0xf9403490, 0x9100021f, // 44: blr x16; 52: ldp x4; ldr x16; mov
		0xb9805881, 0xcb236fff, 0xeb01001f, 0x54fffe0b, 0x91044050}) // 68: sub sp, sp, x3; cmp; 76: b.lt
	e := deoptEntryARM64(code, 0x1000)
	if e == nil || *e != (deoptEntry{moves: 0x100c, returns: 0x1030, input: 80, content: 840, padding: 8, way: deoptWay{
		made: 0x1004, moved: 0x1024, popped: 0x1038, rebuilt: 0x1050, held: regs.ARM64X0 + 4, top: 104}}) {
		t.Fatalf("%+v", e)
	}
	for i := range code {
		if e := deoptEntryARM64(code[:i], 0x1000); e != nil && e.returns > module.Vaddr(0x1000+i) {
			t.Errorf("%d bytes return to %#x", i, e.returns)
		}
	}
	const stack, object, input, ra, callerFP = 0x7ff000, 0x100000, 0x200000, 0x5010, 0x7ff400
	// The rest of the frame of the C++, which has pairs with 0 too, one with what looks like a Deoptimizer, and that.
	const other = object + 0x1000
	s := memory.NewImage(stack, 8, order).Word(stack + 32).Word(0).Word(other).Word(0).Word(object).Word(0)
	const top = stack + 48 // of the frame: frame pointer, return address, an argument and what aligns it
	const fp, size = top - 32, 6 * 8
	d := memory.NewImage(object, 8, order).Skip(80 / 8).Word(input).Skip(2).Word(top).Skip(8)
	o := memory.NewImage(other, 8, order).Skip(80 / 8).Word(input).Skip(2).Word(top + 64).Skip(8)
	f := memory.NewImage(input, 8, order).Word(size).Skip(840/8 - 1).Skip(2).Word(callerFP).Word(ra).Word(1).Word(0)
	g := givingUp{entry: e, sp: stack}
	th := snapshot.Thread{Arch: regs.ARM64, Stack: s.Range()}
	fetcher := snapshot.Fetcher{Budget: snapshot.CopyBudget}
	fetcher.Run([]snapshot.Copier{copierFunc(g.fetch)}, &th, pieces{reader(d.Range(), o.Range(), f.Range())})
	copied := view.Copied(nil, append(th.Copied, s.Range())...)
	all := &areas{list: []area{{start: 0x5000, end: 0x6000, made: true}}, low: 0x5000, high: 0x6000}
	next, err := g.caller(regs.ARM64, all, fp, &copied)
	pc, _ := next.PC()
	got, _ := next.FP()
	if sp, _ := next.SP(); g.sp != stack+32 || err != nil || pc != ra || got != callerFP || sp != fp+16 {
		t.Errorf("it is at %#x; pc %#x, x29 %#x, sp %#x, %v", uint64(g.sp), uint64(pc), got, uint64(sp), err)
	}
	if _, err := (&givingUp{entry: e, sp: stack}).caller(regs.ARM64, all, fp, &copied); err == nil {
		t.Error("another pair is a Deoptimizer")
	}
	// Of one with an odd number of arguments a word is not dropped.
	order.PutUint64(d.Range().Data[104:], top+8)
	order.PutUint64(f.Range().Data, size+8)
	copied = view.Copied(nil, d.Range(), f.Range(), s.Range())
	if next, err := g.caller(regs.ARM64, all, fp, &copied); err != nil || next.Arch == nil {
		t.Errorf("an odd argument: %v", err)
	} else if pc, _ := next.PC(); pc != ra {
		t.Errorf("an odd argument: pc %#x", uint64(pc))
	}
	checkInterrupted(t, e)
}

// checkInterrupted: at each instruction from which on there is a Deoptimizer up to where the new frames are whole, it
// is found, and leads to the code that is given up, or where its frame is gone to its caller.
func checkInterrupted(t *testing.T, e *deoptEntry) {
	const stack, object, input, ra, callerFP, exit = 0x7ff000, 0x100000, 0x200000, 0x5010, 0x7ff400, 0x5028
	const fp, top = 0x7ff100, 0x7ff120
	r, b, a := drawnARM64(t, "DeoptimizationEntry_Eager", deoptimizer, make([]uint32, 32))
	a.bias, b.deopt = uint64(a.start)-0x1000, e
	b.start, b.end = 0x1000, 0x1080
	all := &areas{list: []area{{start: 0x5000, end: 0x6000, made: true}, *a}, low: 0x5000, high: a.end}
	r.areas.Store(all)
	code := mem.Range{Start: 0x5000, Data: make([]byte, 64)}
	order.PutUint32(code.Data[exit-4-0x5000:], 0x94000000) // bl
	d := memory.NewImage(object, 8, order).Word(1).Word(exit).Skip(8).Word(input).Skip(2).Word(top).Skip(8).Range()
	f := memory.NewImage(input, 8, order).Word(6 * 8).Skip(840/8 - 1).Skip(2).Word(callerFP).Word(ra).Word(1).Word(0)
	for v := e.way.made - 4; v <= e.way.rebuilt; v += 4 {
		now := regs.New(regs.ARM64)
		now.Set(regs.ARM64PC, uint64(v)+a.bias)
		now.Set(regs.ARM64FP, fp)
		now.Set(regs.ARM64SP, stack)
		held := uint64(0)
		switch {
		case v >= e.way.popped:
			now.Set(regs.ARM64X0+4, object)
		case v >= e.returns:
			held = object
		default:
			now.Set(regs.ARM64X0, object)
		}
		th := snapshot.Thread{Arch: regs.ARM64, Registers: &now,
			Stack: memory.NewImage(stack, 8, order).Word(held).Word(0).Skip(62).Range()}
		r.returns.Store(&deoptReturns{areas: all, list: []deoptReturn{{mem.Addr(uint64(e.returns) + a.bias), e}}})
		g := r.returns.Load().interrupted(&th)
		if inside := v >= e.way.made && v < e.way.rebuilt; inside != (g.object == object) {
			t.Errorf("%#x: the Deoptimizer is at %#x", uint64(v), uint64(g.object))
		} else if !inside {
			continue
		}
		fetcher := snapshot.Fetcher{Budget: snapshot.CopyBudget}
		fetcher.Run([]snapshot.Copier{copierFunc(g.fetch)}, &th, pieces{reader(d, f.Range())})
		v8 := view.Copied(nil, append(th.Copied, th.Stack, code)...)
		x, err := r.Cross([]unwind.Frame{{PC: mem.Addr(uint64(v) + a.bias), Interrupted: true}}, &now, &v8)
		if err != nil {
			t.Errorf("%#x: %v", uint64(v), err)
			continue
		}
		want := [2]uint64{exit, fp}
		if v >= e.way.moved {
			want = [2]uint64{ra, callerFP}
		}
		pc, _ := x.Registers.PC()
		next, _ := x.Registers.FP()
		if pc != mem.Addr(want[0]) || next != mem.Addr(want[1]) || e.standsFor(a, mem.Addr(uint64(v)+a.bias), true) !=
			(v >= e.way.moved) {
			t.Errorf("%#x: pc %#x, x29 %#x, want %#x", uint64(v), uint64(pc), uint64(next), want)
		}
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
