package v8

import (
	"debug/elf"
	"reflect"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Code of Node.js 22.23.3 for arm64.
var (
	// jsEntryARM64 is JSEntry: it calls as its instruction 36.
	jsEntryARM64 = []uint32{0x6dbf3fee, 0x6dbf37ec, 0x6dbf2fea, 0x6dbf27e8, 0xa9bf73fb, 0xa9bf6bf9, 0xa9bf63f7,
		0xa9bf5bf5, 0xa9bf53f3, 0xa9bf7bfd, 0x2f00e40f, 0xaa0003fa, 0x910003fd, 0xd280004c, 0xa9bf33ff, 0x9100434b,
		0xf940016a, 0xf900017f, 0x9102a34c, 0xf940018b, 0xf100017f, 0xd2800050, 0x9a9013eb, 0x54000041, 0xf900019d,
		0xa9bf2beb, 0x14000005, 0x9100e34a, 0xf9000140, 0xf9412b40, 0x1400000a, 0x9102634b, 0xf940016a, 0xa9bf7fea,
		0x910003f0, 0xf9000170, 0x9400009c, 0xa8c17fea, 0x9102634b, 0xf900016a, 0xa9402fea, 0xf100095f, 0x54000061,
		0x9102a34c, 0xf900019f, 0x9100434c, 0xf900018b, 0x910083ff, 0xa8c17bfd, 0xa8c153f3, 0xa8c15bf5, 0xa8c163f7,
		0xa8c16bf9, 0xa8c173fb, 0x6cc127e8, 0x6cc12fea, 0x6cc137ec, 0x6cc13fee, 0xd65f03c0}
	// interpretedARM64 is how InterpreterEntryTrampoline builds a frame, and how it gives it up.
	interpretedARM64 = []uint32{
		0xb9400c44, 0xa9bf7bfd, 0x910003fd, 0xa9bf6fe1, // ldr; stp x29, x30, [sp, #-16]!; mov x29, sp; stp x1, x27
		0xf8626aa2, 0xd63f0040, // it calls
		0x910003bf, 0xa8c17bfd, 0xd343fc42, 0x91000450, 0x927ffa10, 0x8b306fff, 0xd65f03c0}
	// recordARM64 saves x30 while it has no frame, for a call.
	recordARM64 = []uint32{0xf8017027, 0xa9bf7ffe, 0x91005c25, 0x97ffcb26, 0xa8c17ffe, 0xaa0703e2, 0xf8427042,
		0xaa0203f1, 0xd61f0220}
	// returnsARM64 is DefaultEmbeddedBlobCode.
	returnsARM64 = []uint32{0xf0004800, 0x91000000, 0xd65f03c0}
)

const drawnAt = 0x400000

func bytesOf(words []uint32) (out []byte) {
	for _, w := range words {
		out = order.AppendUint32(out, w)
	}
	return out
}

// drawnARM64 is a Runtime of an object that has those builtins alone.
func drawnARM64(t *testing.T, name string, kind builtinKind, words []uint32) (*Runtime, *builtin, *area) {
	t.Helper()
	code := bytesOf(words)
	b := harness.Object(elf.EM_AARCH64, drawnAt, code, 0)
	m, err := module.NewFile(&module.File{Data: b, Close: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	const start = drawnAt + harness.ObjectHeaders
	in := builtin{start: start, end: start + module.Vaddr(len(code)), name: name}
	in.classify(m, &onARM64)
	in.kind = kind
	r := newRuntime(layout(t), &builtins{list: []builtin{in}}, nil)
	r.m, r.port = m, &onARM64
	a := area{start: start, end: start + mem.Addr(len(code))}
	r.areas.Store(&areas{list: []area{a}, low: a.start, high: a.end})
	return r, &r.builtins.list[0], &r.areas.Load().list[0]
}

// TestStateARM64: at each instruction of a function the frame pointer is its own, or its caller is known.
func TestStateARM64(t *testing.T) {
	const stack, own, callerFP, caller, saved = 0x7ff000, 0x7ff100, 0x7ff200, 0x5000, 0x6000
	for _, tc := range []struct {
		name   string
		kind   builtinKind
		code   []uint32
		framed func(i int) bool
		onto   func(i int) bool // the return address is on the stack
	}{
		{"InterpreterEntryTrampoline", interpreterEntry, interpretedARM64, func(i int) bool { return i >= 3 && i <= 7 },
			nil},
		{"NoFrame", 0, recordARM64, nil, func(i int) bool { return i >= 2 && i <= 4 }},
		{"LdarHandler", bytecodeHandler, recordARM64, func(int) bool { return true }, nil},
	} {
		r, _, a := drawnARM64(t, tc.name, tc.kind, tc.code)
		text := mem.Range{Start: a.start, Data: append(bytesOf(tc.code), make([]byte, behind)...)}
		for i := range tc.code {
			now := regs.New(regs.ARM64)
			now.Set(regs.ARM64PC, uint64(a.start)+uint64(4*i))
			now.Set(regs.ARM64SP, stack)
			framed, onto := tc.framed != nil && tc.framed(i), tc.onto != nil && tc.onto(i)
			now.Set(regs.ARM64FP, callerFP)
			if framed {
				now.Set(regs.ARM64FP, own)
			}
			now.Set(regs.ARM64LR, caller)
			if onto {
				now.Set(regs.ARM64LR, uint64(a.start))
			}
			words := memory.NewImage(stack, 8, order).Word(caller).Word(saved).Range()
			s, err := onARM64.stateOf(r, a, &now, reader(words, text))
			if err != nil || s.framed != framed {
				t.Errorf("%s, instruction %d: framed %t, %v", tc.name, i, s.framed, err)
				continue
			}
			if s.framed {
				continue
			}
			pc, _ := s.caller.PC()
			fp, _ := s.caller.FP()
			if _, known := s.caller.Get(regs.ARM64LR); pc != caller || fp != callerFP || known {
				t.Errorf("%s, instruction %d: pc %#x, x29 %#x, x30 known %t", tc.name, i, uint64(pc), uint64(fp), known)
			}
		}
	}
}

// TestWasmBeginsARM64: at each instruction up to the frame record of WebAssembly its caller is in the link register.
func TestWasmBeginsARM64(t *testing.T) {
	const at, stack, caller, callerFP = 0x9000, 0x7ff000, 0x5000, 0x7ff200
	words := []uint32{0xd2800110, 0xa9be43e7, 0xa9017bfd, 0x910043fd, 0xd10083ff, 0xd503201f} // mov x16, 8; stp x7, x16
	r, _, _ := drawnARM64(t, "JSEntry", entryFromC, jsEntryARM64)
	a := area{start: at, end: at + 0x1000, made: true}
	text := mem.Range{Start: at, Data: append(bytesOf(words), make([]byte, behind)...)}
	for i := range words {
		now := regs.New(regs.ARM64)
		now.Set(regs.ARM64PC, uint64(at+4*i))
		now.Set(regs.ARM64SP, stack)
		now.Set(regs.ARM64FP, callerFP)
		now.Set(regs.ARM64LR, caller)
		s, err := onARM64.stateOf(r, &a, &now, reader(text))
		if pc, _ := now.PC(); err != nil || s.framed != (i > 3) {
			t.Errorf("%#x: framed %t, %v", uint64(pc), s.framed, err)
		}
	}
}

// TestEntryARM64: JSEntry says where it has the registers of C++, at each instruction.
func TestEntryARM64(t *testing.T) {
	r, _, a := drawnARM64(t, "JSEntry", entryFromC, jsEntryARM64)
	region, _ := r.Region(a.start)
	const handler = 27 // which exceptions go to
	for i := range jsEntryARM64 {
		_, ok, err := r.Row(region, a.start+mem.Addr(4*i), true)
		if err != nil || !ok && (i < handler || i > handler+3) {
			t.Fatalf("instruction %d: no row, %v", i, err)
		}
		if i != 36 {
			continue
		}
		row, _, _ := r.Row(region, a.start+mem.Addr(4*i)+3, false) // as a return address is looked up
		want := map[uint64]int64{19: -144, 20: -136, 27: -80, 28: -72, 29: -160}
		for _, rule := range row.Regs {
			if n, ok := want[rule.Reg]; ok && (rule.Rule.Kind != cfi.Offset || rule.Rule.N != n) {
				t.Errorf("x%d: %+v, want CFA%+d", rule.Reg, rule.Rule, n)
			}
			delete(want, rule.Reg)
		}
		if len(want) > 0 || row.RA.N != -152 {
			t.Errorf("return address at CFA%+d, no rule for %v", row.RA.N, want)
		}
	}
}

// TestUnnamedEntryARM64: in an object that names no builtin JSEntry is known by what it saves, and has the same rows.
func TestUnnamedEntryARM64(t *testing.T) {
	named, _, a := drawnARM64(t, "JSEntry", entryFromC, jsEntryARM64)
	unnamed, _, _ := drawnARM64(t, "JSEntry", entryFromC, jsEntryARM64)
	unnamed.builtins.list = nil
	region, _ := named.Region(a.start)
	const handler = 27 // which exceptions go to
	for i := range jsEntryARM64 {
		if i >= handler && i <= handler+3 {
			continue // no way leads there: it is walked like others
		}
		want, _, err := named.Row(region, a.start+mem.Addr(4*i)+3, false)
		got, ok, err2 := unnamed.Row(region, a.start+mem.Addr(4*i)+3, false)
		if err != nil || err2 != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("instruction %d: got %+v, want %+v; %v, %v", i, got, want, err, err2)
		}
	}
	// Code that ends inside of an instruction, and an address that nothing is at.
	end := module.Vaddr(a.start) + module.Vaddr(4*len(jsEntryARM64))
	for _, size := range []int{1, 2, 3} {
		short := append(bytesOf(jsEntryARM64), make([]byte, size)...)
		m, err := module.NewFile(&module.File{Data: harness.Object(elf.EM_AARCH64, drawnAt, short, 0),
			Close: func() error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		unnamed.m = m
		for _, v := range []module.Vaddr{end, end + 4, 0, 3} {
			if b := unnamed.port.entryHolding(unnamed, v); b != nil {
				t.Errorf("%d bytes behind the code: %+v at %#x", size, b, uint64(v))
			}
		}
	}
	for _, other := range [][]uint32{interpretedARM64, recordARM64} {
		r, _, a := drawnARM64(t, "NoFrame", 0, other)
		r.builtins.list = nil
		for i := range other {
			row, ok, err := r.Row(region, a.start+mem.Addr(4*i)+3, false)
			if row != onARM64.framed || !ok || err != nil {
				t.Errorf("instruction %d of another: %+v, %t, %v", i, row, ok, err)
			}
		}
	}
}

// TestReturnedARM64: what a function returns is read of its instructions.
func TestReturnedARM64(t *testing.T) {
	code := bytesOf(returnsARM64)
	if v, ok := returnedARM64(nil, code, 0x1345f50); !ok || v != 0x1c48000 {
		t.Errorf("%#x, %t", v, ok)
	}
	for i := range len(code) {
		if v, ok := returnedARM64(nil, code[:i], 0x1345f50); ok {
			t.Errorf("%d bytes return %#x", i, v)
		}
	}
}

// FuzzStateARM64: no code makes it panic.
func FuzzStateARM64(f *testing.F) {
	f.Add(bytesOf(interpretedARM64))
	f.Fuzz(func(t *testing.T, code []byte) {
		returnsSoon(code)
		prologueARM64(code)
		_, _ = returnedARM64(nil, code, 0)
	})
}
