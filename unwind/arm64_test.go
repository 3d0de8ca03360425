package unwind_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
)

// putARM64 places instructions at an offset of the code page.
func (d *drawn) putARM64(off int, list ...uint32) *drawn {
	for i, w := range list {
		binary.LittleEndian.PutUint32(d.code[off+4*i:], w)
	}
	return d
}

// Instructions of arm64, as objdump names them.
const (
	armCall   = 0x94000010 // bl
	armRecord = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	armSetFP  = 0x910003fd // mov x29, sp
	armRet    = 0xd65f03c0
	armLoop   = 0x14000000 // b to itself
	armNop    = 0xd503201f
)

// TestRecordOfAnother: a frame record is only believed without a word of a function that was seen to point x29 to one
// of its own; of another one it may be that of a function further out.
func TestRecordOfAnother(t *testing.T) {
	for _, tc := range []struct {
		name string
		code []uint32 // up to a loop that never returns, at which the thread is
		note string
	}{
		{"made by this function", []uint32{armRet, armRecord, armSetFP, armLoop}, ""},
		{"made by the function before it", []uint32{armRecord, armSetFP, armRet, armNop, armLoop}, "may be missing"},
		{"made by nobody", []uint32{armNop, armNop, armNop, armLoop}, "may be missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDrawn(regs.ARM64)
			for i := range d.code {
				d.code[i] = 0 // udf
			}
			d.putARM64(0x100-4, armCall).putARM64(0x800, tc.code...)
			d.stack.Skip(2).Label("fp").Word(0).Word(0x10100)
			pc := uint64(codeBase + 0x800 + 4*(len(tc.code)-1))
			s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: pc, regs.ARM64SP: stackBase + 0x1000,
				regs.ARM64FP: uint64(d.stack.Addr("fp"))})
			if len(s.Frames) < 2 || s.Frames[1].PC != 0x10100 || s.Frames[1].Origin != unwind.FramePointer {
				t.Fatalf("got %s (%v), want a frame by x29", show(s), s.Err)
			}
			if note := s.Frames[1].Note; (note == "") != (tc.note == "") || !strings.Contains(note, tc.note) {
				t.Errorf("note %q, want %q in it", note, tc.note)
			}
		})
	}
}

// oneFunction is all that is known of functions.
type oneFunction struct{ start, end module.Vaddr }

func (f oneFunction) Bounds(_ *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool) {
	return f.start, f.end, f.start <= v && v < f.end
}

func (oneFunction) DebugFrame(*module.Module) ([]byte, error) { return nil, nil }

// Where musl's _start has jumped to has no caller: it was entered with a link register of 0, and no table says so. What
// saved another word, or where nothing says where the function begins, is cut.
func TestEnteredWithZero(t *testing.T) {
	const entry, back = codeBase + 0x800, codeBase + 0x810
	// stp x29, x30, [sp, #-48]!; then stp x19, x20, [sp, #16]
	code := []uint32{0xa9bd7bfd, armSetFP, 0xa90153f3, armCall, armNop, armLoop}
	for _, tc := range []struct {
		name      string
		functions unwind.Functions
		pc        uint64
		link      uint64 // saved, or in x30 up to there
		want      string
	}{
		{"it has called", oneFunction{entry, back + 8}, back, 0, "0x10810(context) root"},
		{"it has just begun", oneFunction{entry, back + 8}, entry, 0, "0x10800(context) root"},
		{"from elsewhere", oneFunction{entry, back + 8}, back, 0x99, "0x10810(context) no rule"},
		{"nothing says where it begins", nil, back, 0, "0x10810(context) no rule"},
	} {
		d := newDrawn(regs.ARM64)
		for i := range d.code {
			d.code[i] = 0 // udf
		}
		d.tables = &ehFrame{order: d.arch.Order}
		d.tables.fde(d.tables.cie("zR", 30, defCFA, 31, 0), 0x10100, 16)
		d.functions = tc.functions
		d.putARM64(0x800, code...)
		d.stack.Word(0).Word(tc.link).Skip(6)
		s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: tc.pc, regs.ARM64SP: stackBase + 0x1000,
			regs.ARM64FP: stackBase + 0x1000, regs.ARM64LR: tc.link})
		if got := show(s); got != tc.want {
			t.Errorf("%s: got %s (%v), want %s", tc.name, got, s.Err, tc.want)
		}
	}
}

// What is known to begin a little behind the entry of a program is not the outermost function.
func TestBehindEntry(t *testing.T) {
	const entry, other, leaf = codeBase + 0x800, codeBase + 0x820, codeBase + 0x880
	for _, tc := range []struct {
		name      string
		functions unwind.Functions
		want      string
	}{
		{"nothing says so", nil, "0x10880(context) 0x10828(code) root"},
		{"a symbol does", oneFunction{other, other + 0x20}, "0x10880(context) 0x10828(code) 0x10804(code) root"},
	} {
		d := newDrawn(regs.ARM64)
		for i := range d.code {
			d.code[i] = 0 // udf
		}
		d.tables = &ehFrame{order: d.arch.Order, entryPoint: entry}
		d.tables.fde(d.tables.cie("zR", 30, defCFA, 31, 0), 0x10100, 16)
		d.functions = tc.functions
		d.callTo(0x804, 0x820)
		d.putARM64(0x820, armRecord).putARM64(0x880, armLoop)
		d.callTo(0x828, 0x880)
		d.stack.Word(0).Word(entry + 4)
		s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: leaf, regs.ARM64SP: stackBase + 0x1000,
			regs.ARM64FP: 0, regs.ARM64LR: other + 8})
		if got := show(s); got != tc.want {
			t.Errorf("%s: got %s (%v), want %s", tc.name, got, s.Err, tc.want)
		}
	}
}

// Where glibc's swapcontext runs, x30 holds a place in it, and its return address is in the context that it writes: its
// table says x30 all the same.
func TestReturnAddressIsKept(t *testing.T) {
	a := regs.ARM64
	d := newDrawn(a)
	d.tables = &ehFrame{order: a.Order}
	cie := d.tables.cie("zR", 30, defCFA, 31, 0)
	d.tables.fde(cie, 0x10100, 36)
	d.tables.fde(cie, 0x10200, 16, undefined, 30)
	d.callTo(0x208, 0x100)
	// stp xzr, x30, [x0, #184]; adr x30, #24; add x2, x0, #40; mov x0, #0; nop; nop; ret; mov x30, x1; ret
	d.putARM64(0x100, 0xa90bf81f, 0x100000de, 0x9100a002, 0xd2800000, armNop, armNop, armRet, 0xaa0103fe, armRet)
	d.stack.Label("context").Skip(24).Word(0x10208) // 192 bytes into it
	context := uint64(d.stack.Addr("context"))
	for _, pc := range []uint64{0x10100, 0x10104, 0x10108, 0x1010c, 0x10110, 0x1011c} {
		set := map[regs.Reg]uint64{regs.ARM64PC: pc, regs.ARM64SP: stackBase + 0x1000, regs.ARM64LR: 0x1011c,
			0: context, 2: context + 40}
		if pc < 0x10108 {
			set[regs.ARM64LR] = 0x10208
		}
		if pc > 0x1010c {
			set[0] = 0
		}
		if pc == 0x1011c { // where it is returned to, from another context
			set[1], set[2] = 0x10208, 0
		}
		s := d.walk(t, unwind.Options{}, set)
		if len(s.Frames) != 2 || s.Frames[1].PC != 0x10208 || s.Stop != unwind.Root {
			t.Errorf("at %#x: got %s (%v), want 0x10208 and the root behind it", pc, show(s), s.Err)
		}
	}
}

// What ends a context of makecontext is returned to, and has no caller; x30 is as some function left it that ran since.
func TestEndOfContext(t *testing.T) {
	a := regs.ARM64
	d := newDrawn(a)
	d.tables = &ehFrame{order: a.Order}
	cie := d.tables.cie("zR", 30, defCFA, 31, 0)
	d.tables.fde(cie, 0x10100, 16, defCFAOffset, 32, offset|30, 3)
	d.tables.fde(cie, 0x10200, 16)
	d.tables.fde(cie, 0x10300, 16)
	d.callTo(0x208, 0x100)
	d.stack.Skip(1).Word(0x10300).Skip(2)
	s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: 0x10108, regs.ARM64SP: stackBase + 0x1000,
		regs.ARM64LR: 0x10208})
	if got, want := show(s), "0x10108(context) 0x10300(cfi) root"; got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
	}
}

// A handler of which nothing else is known returns to where the kernel let x30 point.
func TestHandlerThatNeverReturns(t *testing.T) {
	a := regs.ARM64
	d := newDrawn(a)
	for i := range d.code {
		d.code[i] = 0 // udf
	}
	d.tables = &ehFrame{order: a.Order}
	cie := d.tables.cie("zR", 30, defCFA, 31, 0)
	d.tables.fde(cie, 0x10900, 16, undefined, 30)
	d.putARM64(0x300, 0xd2801168, 0xd4000001)        // mov x8, #139; svc #0
	d.putARM64(0x800, armNop, armLoop)               // the handler
	d.stack.Skip(39).Skip(29).Ref("record").Word(0)  // siginfo, ucontext to x0; to x29, x30
	d.stack.Ref("interrupted").Word(0x10904).Skip(4) // sp, pc
	d.stack.Label("record").Word(0).Word(0x10904)
	d.stack.Label("interrupted").Skip(8)
	s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: 0x10804, regs.ARM64SP: stackBase + 0x1000,
		regs.ARM64FP: uint64(d.stack.Addr("record")), regs.ARM64LR: 0x10300})
	if got, want := show(s), "0x10804(context) 0x10300(link register) 0x10904(context) root"; got != want {
		t.Errorf("got  %s (%v)\nwant %s", got, s.Err, want)
	}
}

// TestTablesOfCalls: a table that describes calls alone has one row for the prologue and none for the end. The
// instructions say where SP is; where it says so itself, also behind an end in the middle, it is believed.
func TestTablesOfCalls(t *testing.T) {
	a := regs.ARM64
	const advance, frame = 0x40, 48
	for _, tc := range []struct {
		at    int   // instruction
		moved int64 // SP there, from the caller's
		inLR  bool
	}{{0, 0, true}, {1, -frame, true}, {2, -frame, true}, {3, -frame, false}, {4, -frame, false}, {5, -frame, true},
		{6, 0, true}, {7, -frame, false}, {8, -frame, false}} {
		d := newDrawn(a)
		d.tables = &ehFrame{order: a.Order}
		cie := d.tables.cie("zR", 30, defCFA, 31, 0)
		d.tables.fde(cie, 0x10100, 11*4, advance|12, defCFAOffset, frame, offset|30, 6, offset|19, 1)
		d.tables.fde(cie, 0x10200, 16, defCFAOffset, 16, offset|30, 2)
		d.tables.fde(cie, 0x10300, 16, undefined, 30)
		d.callTo(0x208, 0x100)
		d.callTo(0x308, 0x200)
		d.putARM64(0x100, 0xd100c3ff, 0xf90003fe, 0xf90017f3, // sub sp, sp, #48; str x30, [sp]; str x19, [sp, #40]
			0xb4000080, 0xf94003fe, 0x9100c3ff, armRet, // cbz x0, +16; ldr x30, [sp]; add sp, sp, #48; ret
			armNop, 0xf94003fe, 0x9100c3ff, armRet)
		d.stack.Skip(8).Word(0x10208).Skip(5).Label("caller").Word(0x10308).Skip(20)
		caller := int64(d.stack.Addr("caller"))
		set := map[regs.Reg]uint64{regs.ARM64PC: 0x10100 + 4*uint64(tc.at), regs.ARM64SP: uint64(caller + tc.moved),
			regs.ARM64LR: 0x10004}
		if tc.inLR {
			set[regs.ARM64LR] = 0x10208
		}
		s := d.walk(t, unwind.Options{}, set)
		if len(s.Frames) != 3 || s.Frames[1].PC != 0x10208 || int64(s.Frames[1].SP) != caller || s.Stop != unwind.Root {
			t.Errorf("at instruction %d: got %s (%v), want 0x10208 with SP %#x and the root behind it", tc.at, show(s),
				s.Err, caller)
		}
	}
}

// TestThreadBegins: a thread that a C library has just made has no caller, though x30 is what that of its maker was;
// its maker has one. Of musl there is no table, and the function of the thread returns to it.
func TestThreadBegins(t *testing.T) {
	a := regs.ARM64
	const svc = 0xd4000001
	for _, tc := range []struct {
		name  string
		code  []uint32 // from 0x200 on
		pc    uint64
		x0    uint64
		table bool
		want  int // frames
	}{
		{"in the new thread", []uint32{0xd2801b88, svc, 0xf100001f, 0x540000a0, 0x5400004b, armRet}, 0x208, 0, true, 1},
		{"in its maker", []uint32{0xd2801b88, svc, 0xf100001f, 0x540000a0, 0x5400004b, armRet}, 0x208, 77, true, 2},
		{"musl", []uint32{0xd2801b88, svc, 0xb4000040, armRet, 0xa8c103e1, 0xd63f0020, 0xd2800ba8, svc}, 0x214, 5,
			false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDrawn(a)
			d.tables = &ehFrame{order: a.Order}
			cie := d.tables.cie("zR", 30, defCFA, 31, 0)
			d.tables.fde(cie, 0x10300, 16, undefined, 30)
			if tc.table {
				d.tables.fde(cie, 0x10200, uint64(4*len(tc.code)))
			}
			d.putARM64(0x200, tc.code...).callTo(0x304, 0x200)
			s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.ARM64PC: 0x10000 + tc.pc, 0: tc.x0,
				regs.ARM64SP: stackBase + 0x1000, regs.ARM64LR: 0x10304})
			if len(s.Frames) != tc.want || s.Stop != unwind.Root {
				t.Errorf("got %s, ended by %v (%v), want %d frames", show(s), s.Stop, s.Err, tc.want)
			}
		})
	}
}
