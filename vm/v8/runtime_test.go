package v8

import (
	"math/rand/v2"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// layout is that of V8 12.4 where it has symbols that are needed.
func layout(t testing.TB) *heap.Layout {
	t.Helper()
	constants := map[string]int32{
		"v8dbg_SmiTagMask": 1, "v8dbg_SmiShiftSize": 31, "_ZN2v88internal7Version6major_E": 12,
		"_ZN2v88internal7Version6minor_E": 4, "_ZN2v88internal7Version6build_E": 254,
		"v8dbg_type_JSFunction__JS_FUNCTION_TYPE":                  2060,
		"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE": 265,
		"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE":                    263, "v8dbg_type_Script__SCRIPT_TYPE": 170,
		"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE": 223, "v8dbg_type_Code__CODE_TYPE": 224,
		"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE": 225, "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE": 180,
		"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE": 186, "v8dbg_type_Oddball__ODDBALL_TYPE": 131,
		"v8dbg_type_Map__MAP_TYPE": 254, "v8dbg_frametype_BuiltinExitFrame": 20,
		"v8dbg_frametype_IrregexpFrame": 6,
	}
	l, err := heap.Read(func(s string) (int32, bool) { v, ok := constants[s]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const (
	codeStart  = 0x7f0000100000
	codeSize   = 0x10000
	stackStart = 0x7ffe00000000
	heapStart  = 0x100000000
)

// runtimeWithoutBuiltins is a Runtime whose code is one mapping, without builtins.
func runtimeWithoutBuiltins(t testing.TB) *Runtime {
	r := newRuntime(layout(t), &builtins{}, nil)
	r.areas.Store(&areas{list: []area{{start: codeStart, end: codeStart + codeSize, made: true}}, low: codeStart,
		high: codeStart + codeSize})
	return r
}

// chain draws a stack of n frames, each of a function of its own, and the functions.
func chain(n int) (stack, objects *memory.Image, th *snapshot.Thread) {
	stack, objects = memory.NewImage(stackStart, 8, order), memory.NewImage(heapStart, 8, order)
	for i := range n {
		closure := heapStart + mem.Addr(16*8*i)
		// SFI behind it
		objects.Word(heapStart | 1).Skip(3).Word(uint64(closure) + 8*8 | 1).Skip(3).Word(heapStart | 1).Skip(7)
		stack.Word(0).Word(uint64(closure) | 1).Word(heapStart | 1)
		stack.Word(uint64(stackStart) + uint64(5*8*(i+1)) + 3*8).Word(codeStart + 0x100)
	}
	stack.Word(0).Word(0).Word(0).Word(0)
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, codeStart+0x80)
	r.Set(regs.AMD64RSP, stackStart)
	r.Set(regs.AMD64RBP, stackStart+3*8)
	return stack, objects, &snapshot.Thread{TID: 1, Arch: regs.AMD64, Registers: &r, Stack: stack.Range()}
}

// counted is a memory that counts what is asked for.
type counted struct {
	mem.Range
	calls, pieces int
}

func (c *counted) ReadPieces(pieces []snapshot.Piece) error {
	c.calls++
	c.pieces += len(pieces)
	for i := range pieces {
		p := &pieces[i]
		if p.Addr >= c.Start && p.Addr < c.End() {
			p.Got = copy(p.Data, c.Data[p.Addr-c.Start:])
		}
	}
	return nil
}

// TestCopy: the functions of all frames are copied with what they refer to, neighbours by one read; warm it allocates
// nothing.
func TestCopy(t *testing.T) {
	const n = 20
	_, objects, th := chain(n)
	r, m := runtimeWithoutBuiltins(t), &counted{Range: objects.Range()}
	var f snapshot.Fetcher
	f.Run([]snapshot.Copier{r}, th, m)
	if m.calls > 3 || m.pieces > 4 || len(th.Shortfalls) > 0 {
		t.Errorf("%d calls, %d pieces, %v; want code, functions and what they refer to", m.calls, m.pieces,
			th.Shortfalls)
	}
	all := mem.NewOverlay(nil, th.Copied...)
	for i := range n {
		closure := heapStart + mem.Addr(16*8*i)
		if !all.Holds(closure, functionHead) || !all.Holds(closure+8*8, sharedHead) {
			t.Errorf("function %d was not copied", i)
		}
	}
	if allocs := testing.AllocsPerRun(50, func() { f.Run([]snapshot.Copier{r}, th, m) }); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// TestHostileCopy: whatever is on the stack, what is copied stays within its bounds.
func TestHostileCopy(t *testing.T) {
	r := runtimeWithoutBuiltins(t)
	random := rand.New(rand.NewPCG(1, 2))
	var f snapshot.Fetcher
	for range 200 {
		_, objects, th := chain(500)
		for range 300 {
			at := random.IntN(len(th.Stack.Data)/8) * 8
			order.PutUint64(th.Stack.Data[at:], random.Uint64()>>random.IntN(64))
		}
		m := &counted{Range: objects.Range()}
		f.Run([]snapshot.Copier{r}, th, m)
		if m.calls > 4 || m.pieces > 3*maxCopied+1 {
			t.Fatalf("%d calls, %d pieces", m.calls, m.pieces)
		}
	}
}

// FuzzIdentify: no memory makes what names frames panic, loop, or name something.
func FuzzIdentify(f *testing.F) {
	_, objects, th := chain(3)
	f.Add(objects.Range().Data, th.Stack.Data)
	f.Fuzz(func(t *testing.T, objects, stack []byte) {
		r := runtimeWithoutBuiltins(t)
		now := regs.New(regs.AMD64)
		now.Set(regs.AMD64RIP, codeStart+0x80)
		now.Set(regs.AMD64RSP, stackStart)
		now.Set(regs.AMD64RBP, stackStart+24)
		th := &snapshot.Thread{TID: 1, Arch: regs.AMD64, Registers: &now,
			Stack: mem.Range{Start: stackStart, Data: stack}}
		// Code is what the heap is: it may hold objects too.
		m := mem.NewOverlay(nil, th.Stack, mem.Range{Start: heapStart, Data: objects},
			mem.Range{Start: codeStart, Data: objects})
		r.live = m
		s := unwind.Stack{Frames: []unwind.Frame{{PC: codeStart + 0x80, SP: stackStart, CFA: stackStart + 40,
			Interrupted: true}, {PC: codeStart + 0x100, SP: stackStart + 40, CFA: stackStart + 80}}}
		if c, err := r.Cross(s.Frames[:1], &now, m); err == nil && c.Registers.Arch != regs.AMD64 {
			t.Errorf("crossed to %+v", c)
		}
		r.Identify(th, &s, m)
		for i := range s.Frames {
			if f := &s.Frames[i]; f.Site != 0 && len(r.Frames(f.Site)) == 0 {
				t.Errorf("frame %d has site %d, which has no frames", i, f.Site)
			}
		}
	})
}

// TestMovedFunction: while the garbage collector moves a function its map word is the new address; that is copied, and
// what it refers to there.
func TestMovedFunction(t *testing.T) {
	_, objects, th := chain(1)
	const to mem.Addr = heapStart + 0x8000
	m := objects.Range()
	order.PutUint64(m.Data, uint64(to))
	grown := make([]byte, 0x8100)
	copy(grown, m.Data)
	order.PutUint64(grown[0x8000:], heapStart|1)
	order.PutUint64(grown[0x8000+32:], uint64(to)+0x80|1)
	r := runtimeWithoutBuiltins(t)
	var f snapshot.Fetcher
	f.Run([]snapshot.Copier{r}, th, &counted{Range: mem.Range{Start: heapStart, Data: grown}})
	all := mem.NewOverlay(nil, th.Copied...)
	if !all.Holds(to, functionHead) || !all.Holds(to+0x80, sharedHead) {
		t.Errorf("copied %v, want the function at %#x and what it refers to", th.Copied, to)
	}
}

// TestForeignCode: memory without a file in which no code object is found is not V8's; where it cannot be read that is
// not known.
func TestForeignCode(t *testing.T) {
	r := runtimeWithoutBuiltins(t)
	r.live = mem.NewOverlay(nil, mem.Range{Start: codeStart, Data: make([]byte, codeSize/2)})
	if _, ok := r.Region(codeStart + 0x1000); ok {
		t.Error("code of somebody else is taken for V8's")
	}
	if _, ok := r.Region(codeStart + codeSize - 0x1000); !ok {
		t.Error("code that cannot be read is taken for somebody else's")
	}
	r.prove(r.areas.Load().find(codeStart))
	if _, ok := r.Region(codeStart + 0x1000); !ok {
		t.Error("an area in which code was met is not V8's")
	}
}
