package unwind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// A drawn process has one page of code without a file at codeBase and a stack at stackBase.
const (
	codeBase  = 0x10000
	codeEnd   = 0x11000
	stackBase = 0x7ffe0000
	stackEnd  = 0x7fff0000
	altBase   = 0x7ff00000
	altEnd    = 0x7ff10000
)

// drawn is a process whose memory a test lays out word by word.
type drawn struct {
	arch  *regs.Arch
	code  []byte
	stack *memory.Image
	alt   *memory.Image
	// tables is the .eh_frame of the code, which then is of a file; nil: no file holds the code.
	tables *ehFrame
	// functions know where functions begin and end, nil: nobody does.
	functions unwind.Functions
}

func newDrawn(a *regs.Arch) *drawn {
	code := make([]byte, codeEnd-codeBase)
	for i := range code {
		code[i] = 0xcc
	}
	return &drawn{arch: a, code: code, stack: memory.NewImage(stackBase+0x1000, a.WordSize, a.Order)}
}

// put places machine code at an offset of the code page.
func (d *drawn) put(off int, b ...byte) *drawn {
	copy(d.code[off:], b)
	return d
}

// call places "call next" so that it ends at off.
func (d *drawn) call(off int) uint64 {
	d.put(off-5, 0xe8, 0, 0, 0, 0)
	return uint64(codeBase + off)
}

func (d *drawn) walk(t *testing.T, opt unwind.Options, set map[regs.Reg]uint64) unwind.Stack {
	t.Helper()
	code := maps.Mapping{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Exec}
	if d.tables != nil {
		code.Inode, code.Offset, code.Path = 1, objectCode, "/drawn"
	}
	table := maps.NewTable([]maps.Mapping{code,
		{Start: altBase, End: altEnd, Perm: maps.Read | maps.Write},
		{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
	})
	ranges := []mem.Range{{Start: codeBase, Data: d.code}, d.stack.Range()}
	if d.alt != nil {
		ranges = append(ranges, d.alt.Range())
	}
	memory := mem.NewOverlay(nil, ranges...)
	r := regs.New(d.arch)
	for reg, v := range set {
		r.Set(reg, v)
	}
	w := unwind.NewWalker(module.NewSet(table, module.Image{Mapping: d.open, Memory: memory}), d.functions)
	th := &snapshot.Thread{TID: 1, Arch: d.arch, Registers: &r, Stack: d.stack.Range()}
	s := w.Walk(th, memory, opt)
	// What the Walker learned changes nothing.
	again := unwind.Stack{Frames: make([]unwind.Frame, 0, 1)}
	for range 2 {
		w.WalkInto(&again, th, memory, opt)
		if d := differ(again, s); d != "" {
			t.Errorf("walked again: %s", d)
		}
		w.Renew()
	}
	if sp, _ := r.SP(); table.Find(sp) != nil { // else what was copied together is the stack
		if d := differ(w.Walk(th, wordByWord(d.arch, sp, ranges...), opt), s); d != "" {
			t.Errorf("walked word by word: %s", d)
		}
	}
	return s
}

// show prints a stack as "pc pc … stop".
func show(s unwind.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%#x(%v) ", uint64(f.PC), f.Origin)
	}
	return b.String() + s.Stop.String()
}

func TestFramePointerChain(t *testing.T) {
	for _, tc := range []struct {
		name string
		draw func(d *drawn)
		fp   string
		want string
		err  string
	}{
		{"three records, then a frame pointer of 0", func(d *drawn) {
			d.stack.Skip(2).Label("fp").Ref("fp2").Word(0x10100).Skip(4).
				Label("fp2").Word(0).Word(0x10200)
		}, "fp", "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) root", ""},
		{"return address of 0", func(d *drawn) {
			d.stack.Label("fp").Word(0x7ffe8000).Word(0)
		}, "fp", "0x10800(context) root", ""},
		{"frame pointer moved backwards", func(d *drawn) {
			d.stack.Label("low").Word(0).Word(0).Label("fp").Ref("low").Word(0x10100)
		}, "fp", "0x10800(context) 0x10100(frame pointer) not advancing", "did not grow"},
		{"frame pointer that points to itself", func(d *drawn) {
			d.stack.Label("fp").Ref("fp").Word(0x10100)
		}, "fp", "0x10800(context) 0x10100(frame pointer) not advancing", "did not grow"},
		{"misaligned frame pointer", func(d *drawn) {
			d.stack.Label("fp").Word(0x7ffe1203).Word(0x10100)
		}, "fp", "0x10800(context) 0x10100(frame pointer) bad CFA", "not aligned"},
		{"frame pointer outside of the stack", func(d *drawn) {
			d.stack.Label("fp").Word(0x7fff8000).Word(0x10100)
		}, "fp", "0x10800(context) 0x10100(frame pointer) bad CFA", "outside of the stack"},
		{"return address into data", func(d *drawn) {
			d.stack.Label("fp").Ref("fp2").Word(0x7ffe0000).Label("fp2").Word(0).Word(0)
		}, "fp", "0x10800(context) no rule", "no executable mapping"},
		{"record behind what was copied", func(d *drawn) {
			d.stack.Label("fp").Word(0x7ffee000).Word(0x10100)
		}, "fp", "0x10800(context) 0x10100(frame pointer) read fault", "not mapped"},
		{"return address without a call before it", func(d *drawn) {
			d.stack.Label("fp").Ref("fp2").Word(0x10300).Label("fp2").Word(0).Word(0)
		}, "fp", "0x10800(context) no rule", "no call precedes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDrawn(regs.AMD64)
			d.call(0x100)
			d.call(0x200)
			tc.draw(d)
			s := d.walk(t, unwind.Options{Mode: unwind.FramePointersOnly}, map[regs.Reg]uint64{
				regs.AMD64RIP: 0x10800, regs.AMD64RSP: stackBase + 0x1000, regs.AMD64RBP: uint64(d.stack.Addr(tc.fp))})
			if got := show(s); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if (tc.err == "") != (s.Err == nil) || s.Err != nil && !strings.Contains(s.Err.Error(), tc.err) {
				t.Errorf("reason: got %v, want %q in it", s.Err, tc.err)
			}
		})
	}
}

// The list of mappings may be older than the stack of a new thread.
func TestStackInNoMapping(t *testing.T) {
	d := newDrawn(regs.AMD64)
	d.call(0x100)
	d.call(0x200)
	d.alt = memory.NewImage(0x70000000, 8, regs.AMD64.Order)
	d.alt.Skip(2).Label("fp").Ref("fp2").Word(0x10100).Skip(4).Label("fp2").Word(0x70001000).Word(0x10200)
	s := d.walk(t, unwind.Options{Mode: unwind.FramePointersOnly}, map[regs.Reg]uint64{
		regs.AMD64RIP: 0x10800, regs.AMD64RSP: 0x70000000, regs.AMD64RBP: uint64(d.alt.Addr("fp"))})
	const want = "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) bad CFA"
	if got := show(s); got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
	}
}

func TestDepthLimit(t *testing.T) {
	for _, tc := range []struct {
		limit int
		want  string
	}{
		{1, "0x10800(context) depth limit"},
		{2, "0x10800(context) 0x10100(frame pointer) root"},
		{0, "0x10800(context) 0x10100(frame pointer) root"},
	} {
		d := newDrawn(regs.AMD64)
		d.stack.Label("fp").Word(0).Word(d.call(0x100))
		s := d.walk(t, unwind.Options{Mode: unwind.FramePointersOnly, MaxFrames: tc.limit}, map[regs.Reg]uint64{
			regs.AMD64RIP: 0x10800, regs.AMD64RSP: stackBase + 0x1000, regs.AMD64RBP: uint64(d.stack.Addr("fp"))})
		if got := show(s); got != tc.want {
			t.Errorf("limit %d:\ngot  %s\nwant %s", tc.limit, got, tc.want)
		}
	}
}

// A call through a null pointer leaves the return address at SP and no other trace.
func TestCallThroughNull(t *testing.T) {
	d := newDrawn(regs.AMD64)
	ra := d.call(0x100)
	d.stack.Word(ra).Skip(2).Label("fp").Word(0).Word(d.call(0x200))
	s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{
		regs.AMD64RIP: 0, regs.AMD64RSP: stackBase + 0x1000, regs.AMD64RBP: uint64(d.stack.Addr("fp"))})
	want := "0x0(context) 0x10100(stack top) 0x10200(frame pointer) no rule"
	if got := show(s); got != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, s.Err)
	}
}

// Restorers as glibc (amd64, 386) and the vDSO have them.
var (
	restoreRT    = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}
	restoreRT386 = []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}
	restore386   = []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}
)

func TestSignalFrames(t *testing.T) {
	t.Run("amd64, on an alternate stack above the interrupted one", func(t *testing.T) {
		d := newDrawn(regs.AMD64).put(0x300, restoreRT...)
		// Drawn at the handler's return: SP is at the ucontext. 40 bytes in stand r8-r15,
		// rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
		d.stack.Label("interrupted").Skip(4).Label("fp").Word(0).Word(d.call(0x200))
		d.stack.Skip(16).Label("uc").Skip(5).Skip(10).Ref("fp").Skip(4).Ref("interrupted").Word(0x10900)
		s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{
			regs.AMD64RIP: 0x10300, regs.AMD64RSP: uint64(d.stack.Addr("uc")), regs.AMD64RBP: 1})
		want := "0x10300(context) 0x10900(context) 0x10200(frame pointer) no rule"
		if got := show(s); got != want {
			t.Errorf("got  %s\nwant %s (%v)", got, want, s.Err)
		}
		if len(s.Frames) == 3 && (!s.Frames[0].Signal || !s.Frames[1].Interrupted || s.Frames[2].Interrupted) {
			t.Errorf("signal, interrupted marks wrong: %+v", s.Frames)
		}
	})
	t.Run("386 with siginfo", func(t *testing.T) {
		d := newDrawn(regs.I386).put(0x300, restoreRT386...)
		// SP is at the signal number; the third word points to the ucontext, in which 20 bytes
		// in stand gs fs es ds edi esi ebp esp ebx edx ecx eax trapno err eip.
		d.stack.Word(10).Skip(1).Ref("uc").Skip(3).Label("uc").Skip(5).Skip(4).Skip(2).Ref("fp").Ref("sp").Skip(6).Word(
			0x10900)
		d.stack.Label("sp").Skip(4).Label("fp").Word(0).Word(d.call(0x200))
		s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{
			regs.I386EIP: 0x10300, regs.I386ESP: stackBase + 0x1000, regs.I386EBP: 1})
		want := "0x10300(context) 0x10900(context) 0x10200(frame pointer) no rule"
		if got := show(s); got != want {
			t.Errorf("got  %s\nwant %s (%v)", got, want, s.Err)
		}
	})
	t.Run("386 without siginfo, behind its pop", func(t *testing.T) {
		d := newDrawn(regs.I386).put(0x300, restore386...)
		d.stack.Word(10).Label("sc").Skip(4).Skip(2).Ref("fp").Ref("sp").Skip(6).Word(0x10900)
		d.stack.Label("sp").Skip(4).Label("fp").Word(0).Word(d.call(0x200))
		s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{
			regs.I386EIP: 0x10301, regs.I386ESP: uint64(d.stack.Addr("sc")), regs.I386EBP: 1})
		want := "0x10301(context) 0x10900(context) 0x10200(frame pointer) no rule"
		if got := show(s); got != want {
			t.Errorf("got  %s\nwant %s (%v)", got, want, s.Err)
		}
	})
}

// Signal frames that lead into each other must end.
func TestSignalFramesInACircle(t *testing.T) {
	d := newDrawn(regs.AMD64).put(0x300, restoreRT...)
	d.stack.Label("uc").Skip(5).Skip(10).Word(0).Skip(4).Ref("uc").Word(0x10300)
	s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{
		regs.AMD64RIP: 0x10300, regs.AMD64RSP: uint64(d.stack.Addr("uc")), regs.AMD64RBP: 0})
	if s.Stop != unwind.NotAdvancing || len(s.Frames) > 100 {
		t.Errorf("got %d frames and stop %v (%v), want a few and %v", len(s.Frames), s.Stop, s.Err, unwind.NotAdvancing)
	}
}

func TestNoRegisters(t *testing.T) {
	w := unwind.NewWalker(module.NewSet(maps.NewTable(nil), module.Image{}), nil)
	s := w.Walk(&snapshot.Thread{TID: 7}, mem.NewOverlay(nil), unwind.Options{})
	if s.Stop != unwind.NoContext || len(s.Frames) != 0 || s.Err == nil {
		t.Errorf("got %+v, want no frames and %v with a reason", s, unwind.NoContext)
	}
}

// A thread that could not be stopped is walked from the SP and PC of its system call, in which
// the registers of the arguments are known too.
func TestWalkFromSystemCall(t *testing.T) {
	d := newDrawn(regs.AMD64).put(0x400, 0x0f, 0x05, 0xc3) // syscall; ret
	d.stack.Word(d.call(0x100)).Skip(2)
	table := maps.NewTable([]maps.Mapping{
		{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Exec},
		{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
	})
	memory := mem.NewOverlay(nil, mem.Range{Start: codeBase, Data: d.code}, d.stack.Range())
	th := &snapshot.Thread{TID: 1, Arch: regs.AMD64, NotStopped: "state D",
		Syscall: &snapshot.Syscall{Number: 58, SP: stackBase + 0x1000, PC: codeBase + 0x402}}
	s := unwind.NewWalker(module.NewSet(table, module.Image{Memory: memory}), nil).Walk(th, memory, unwind.Options{})
	if got, want := show(s), "0x10402(context) 0x10100(code) no rule"; got != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, s.Err)
	}
	th.Arch = nil
	if s := unwind.NewWalker(module.NewSet(table, module.Image{Memory: memory}), nil).Walk(th, memory,
		unwind.Options{}); s.Stop != unwind.NoContext {
		t.Errorf("unknown architecture: got %s, want %v", show(s), unwind.NoContext)
	}
}

// A frame found by a word that was read after the thread ran again says so.
func TestWordsReadLate(t *testing.T) {
	d := newDrawn(regs.AMD64)
	d.stack.Label("fp").Ref("fp2").Word(d.call(0x100)).Skip(4).Label("fp2").Word(0).Word(d.call(0x200))
	whole := d.stack.Range()
	copied := mem.Range{Start: whole.Start, Data: whole.Data[:32]}
	table := maps.NewTable([]maps.Mapping{
		{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Exec},
		{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
	})
	running := mem.NewOverlay(nil, mem.Range{Start: codeBase, Data: d.code}, whole)
	memory := mem.NewOverlay(running, copied)
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, 0x10800)
	r.Set(regs.AMD64RSP, stackBase+0x1000)
	r.Set(regs.AMD64RBP, uint64(d.stack.Addr("fp")))
	w := unwind.NewWalker(module.NewSet(table, module.Image{Memory: memory}), nil)
	s := w.Walk(&snapshot.Thread{TID: 1, Registers: &r, Stack: copied}, memory,
		unwind.Options{Mode: unwind.FramePointersOnly})
	if got, want := show(s), "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) root"; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	for i, want := range []string{"", "", "read while the thread ran again"} {
		if got := s.Frames[i].Note; got != want {
			t.Errorf("frame %d: got note %q, want %q", i, got, want)
		}
	}
	if !s.Late {
		t.Error("the stack is not marked late")
	}
	all := mem.NewOverlay(running, whole)
	if s := w.Walk(&snapshot.Thread{TID: 1, Registers: &r, Stack: whole}, all,
		unwind.Options{Mode: unwind.FramePointersOnly}); s.Late {
		t.Error("a stack that was copied whole is marked late")
	}
}
