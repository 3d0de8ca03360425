package v8

import (
	"fmt"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// onARM64 is what V8 does on arm64: a call leaves its return address in x30, and code has that until it calls.
// Sources: src/builtins/arm64/builtins-arm64.cc, src/codegen/arm64/macro-assembler-arm64.cc, AssembleReturn in
// src/compiler/backend/arm64/code-generator-arm64.cc of V8. Encodings: Arm Architecture Reference Manual for
// A-profile, C6.2.
var onARM64 = port{
	arch:     regs.ARM64,
	numbered: numberedARM64(),
	// Source: src/codegen/arm64/register-arm64.h, src/codegen/arm64/interface-descriptors-arm64-inl.h
	fallback: map[string]int32{"JSFunctionRegister": 1, "ContextRegister": 27, "InterpreterBytecodeArrayRegister": 20,
		"InterpreterBytecodeOffsetRegister": 19},
	framed:       framedARM64(),
	entry:        (*Runtime).entryARM64,
	entryHolding: (*Runtime).entryHoldingARM64,
	stateOf:      (*Runtime).stateARM64,
	prologueSize: 3 * instruction, // of a frame with a type: mov x16, type; stp xzr, x16; stp x29, x30
	prologue:     prologueARM64,
	baseline:     prologueARM64,
	saving:       savingARM64,
	called: func(b []byte, start, ra uint64) bool {
		code := arm64.Code{Start: start, Data: b}
		_, _, ok := code.CallBefore(ra)
		return ok
	},
	deoptEntry: deoptEntryARM64,
	returned:   returnedARM64,
}

const instruction = 4 // bytes

func numberedARM64() []regs.Reg {
	out := make([]regs.Reg, 32)
	for i := range out {
		out[i] = regs.ARM64X0 + regs.Reg(i)
	}
	return out
}

func framedARM64() *cfi.Row {
	out := &cfi.Row{RAReg: uint64(regs.ARM64LR), CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.ARM64FP), N: 16},
		RA: cfi.Rule{Kind: cfi.Offset, N: -8}}
	for _, reg := range regs.ARM64.Callee {
		rule := cfi.Rule{Kind: cfi.Undefined}
		if reg == regs.ARM64FP {
			rule = cfi.Rule{Kind: cfi.Offset, N: -16}
		}
		out.Regs = append(out.Regs, cfi.RegRule{Reg: uint64(reg), Rule: rule})
	}
	return out
}

// textOf are the instructions of b.
func (r *Runtime) textOf(b *builtin) (arm64.Code, bool) {
	code, ok := r.m.Text(b.start)
	return arm64.Code{Start: uint64(b.start), Data: code[:min(len(code), int(b.end-b.start))], Budget: r.budget}, ok
}

// entryARM64 is the row at v in b, a JSEntry, which saves the registers of C++.
func (r *Runtime) entryARM64(b *builtin, v module.Vaddr, _ bool) *cfi.Row {
	code, ok := r.textOf(b)
	row, known := code.FromEntry(uint64(b.start), uint64(b.end), uint64(v))
	if !ok || !known {
		return nil
	}
	return &row
}

// entryHoldingARM64 finds the JSEntry that holds v by its first instruction: of all builtins it alone saves the
// registers d8 to d15, which are C++'s, and it puts each pair in front of the last.
// Source: MacroAssembler::PushCalleeSavedRegisters in src/codegen/arm64/macro-assembler-arm64.cc.
func (r *Runtime) entryHoldingARM64(v module.Vaddr) *builtin {
	const most = 128 * instruction              // it has some 70
	const first, signs = 0x6dbf3fee, 0xd503233f // stp d14, d15, [sp, #-16]!; paciasp
	at := func(v module.Vaddr) (i arm64.Inst, ok bool) {
		code, _ := r.m.Text(v)
		if ok = len(code) >= instruction; ok {
			i = arm64.Word(code)
		}
		return i, ok
	}
	v -= v % instruction
	start := v
	for {
		i, ok := at(start)
		if i == first {
			break
		} else if !ok || v-start >= most || i == arm64.Ret && start != v || start < instruction {
			return nil
		}
		start -= instruction
	}
	if i, _ := at(start - instruction); i == signs {
		start -= instruction
	}
	b := &builtin{start: start, end: v + instruction, name: "JSEntry", kind: entryFromC, prologue: -1}
	if r.entryARM64(b, v, true) == nil {
		return nil
	}
	return b
}

// prologueARM64 is where code saves the frame pointer.
func prologueARM64(code []byte) int {
	for i := 0; i+instruction <= len(code); i += instruction {
		if _, _, saves := arm64.Word(code[i:]).SavesRecord(); saves {
			return i
		}
	}
	return -1
}

// stateARM64 finds the state at PC, in a.
func (r *Runtime) stateARM64(a *area, now *regs.Registers, v *view.View) (state, error) {
	pc, _ := now.PC()
	var window [behind]byte // what is read later takes the memory of what was read before
	code := window[:copy(window[:], v.UpTo(pc, behind))]
	if len(code) < instruction {
		return state{}, fmt.Errorf("read code: %w", v.Fault())
	}
	b := r.builtinAt(a, pc)
	_, _, saves := arm64.Word(code).SavesRecord()
	_, sets := arm64.Word(code).SetsFP()
	switch {
	case b != nil && (b.kind == bytecodeHandler || b.inFrame()):
		return state{framed: true}, nil // its own frame, or that of the function
	case b != nil && b.kind == baselinePrologue && r.builds(b, module.Vaddr(uint64(pc)-a.bias)):
		return state{framed: true}, nil // the baseline code has saved the frame pointer
	case saves, sets, a.made && willSave(code), r.notBegun(a, b, pc, v):
		return state{caller: atLink(now), entered: true}, nil
	case returnsSoon(code):
		return state{caller: atLink(now)}, nil
	case b != nil:
		return r.inBuiltin(a, b, now, v)
	}
	return state{framed: true}, nil
}

// willSave reports whether code begins a frame with a type, and saves the frame record next: WebAssembly has no object
// that says where it begins.
// Source: TurboAssembler::EnterFrame in src/codegen/arm64/macro-assembler-arm64.cc.
func willSave(code []byte) bool {
	for range 3 {
		if len(code) < instruction {
			return false
		}
		i := arm64.Word(code)
		n, pushes := i.Pushes()
		_, _, saves := i.SavesRecord()
		switch {
		case saves:
			return true
		case i&0xffe0001f == 0xd2800010: // mov x16, type
		case pushes && n > 0 && i>>10&31 == 16: // stp x, x16, [sp, #-n]!
		default:
			return false
		}
		code = code[instruction:]
	}
	return false
}

// builds reports whether b, at v, fills the frame of the baseline code that has called it: it has not left that for
// other code of the function.
// Source: Builtins::Generate_BaselineOutOfLinePrologue in src/builtins/arm64/builtins-arm64.cc.
func (r *Runtime) builds(b *builtin, v module.Vaddr) bool {
	code, _ := r.m.Text(b.start)
	for i := 0; i+instruction <= min(len(code), int(v-b.start)); i += instruction {
		if _, _, leaves := arm64.Word(code[i:]).LoadsRecord(); leaves {
			return false
		}
	}
	return true
}

// returnsSoon reports whether code has given up its frame, or has none: it drops arguments and returns.
func returnsSoon(code []byte) bool {
	for ; len(code) >= instruction; code = code[instruction:] {
		i := arm64.Word(code)
		to := i & 31
		switch {
		case i == arm64.Ret:
			return true
		case i&0xff000010 == 0x54000000: // b.cond: as many arguments as are declared, or more
		case to == 29 || to == 30:
			return false
		case i>>26&7 == 4: // data processing, immediate
		case i>>25&7 == 5: // and of registers
		default:
			return false
		}
	}
	return false
}

// inBuiltin is the state of b by the way from its entry to PC.
func (r *Runtime) inBuiltin(a *area, b *builtin, now *regs.Registers, v *view.View) (state, error) {
	code, ok := r.textOf(b)
	pc, _ := now.PC()
	row, known := code.FromEntry(uint64(b.start), uint64(b.end), uint64(pc)-a.bias)
	left := b.kind == baselinePrologue // the frame that it was called in, for other code of the function
	if !ok || !known {
		return state{framed: !left, caller: atLink(now)}, nil
	}
	for _, rule := range row.Regs {
		if rule.Reg == uint64(regs.ARM64FP) {
			return state{framed: !left || rule.Rule.Kind == cfi.Offset, caller: atLink(now)}, nil
		}
	}
	base, ok := now.Get(regs.Reg(row.CFA.Reg))
	switch {
	case row.RA.Kind == cfi.Unspecified:
		return state{caller: atLink(now)}, nil
	case row.RA.Kind != cfi.Offset || row.CFA.Kind != cfi.Register || !ok:
		return state{framed: true}, nil
	}
	link, err := v.Word(mem.Addr(int64(base) + row.CFA.N + row.RA.N))
	if err != nil {
		return state{}, err
	}
	saved := *now
	saved.Set(regs.ARM64LR, link)
	return state{caller: atLink(&saved)}, nil
}

// returnedARM64 is what the function at that address returns, if all that it does is return something fixed.
func returnedARM64(m *module.Module, code []byte, at module.Vaddr) (module.Vaddr, bool) {
	const most = 8
	x0, known := module.Vaddr(0), false
	for range most {
		if len(code) < instruction {
			return 0, false
		}
		switch i := arm64.Word(code); {
		case i == arm64.Ret:
			return x0, known
		case i&0xfffff01f == 0xd503201f: // hints, those of signed return addresses among them
		case i&0x9f00001f == 0x90000000: // adrp x0
			pages := int64(int32(i<<8)>>13)<<2 | int64(i>>29&3)
			x0, known = at&^0xfff+module.Vaddr(pages<<12), true
		case i&0xffc003ff == 0x91000000 && known: // add x0, x0, #n
			x0 += module.Vaddr(i >> 10 & 0xfff)
		case i&0xbfc003ff == 0xb9400000 && known: // ldr w0, [x0, #n], or x0
			size := module.Vaddr(4 << (i >> 30 & 1))
			b, ok := m.Loaded(x0 + module.Vaddr(i>>10&0xfff)*size)
			if !ok || len(b) < int(size) {
				return 0, false
			}
			if x0 = module.Vaddr(order.Uint32(b)); size == wordSize {
				x0 = module.Vaddr(order.Uint64(b))
			}
		case i&0xffe0001f == 0x52800000: // mov w0, #n
			x0, known = module.Vaddr(i>>5&0xffff), true
		case i&0xffe0001f == 0x72a00000 && known: // movk w0, #n, lsl #16
			x0 |= module.Vaddr(i>>5&0xffff) << 16
		default:
			return 0, false
		}
		code, at = code[instruction:], at+instruction
	}
	return 0, false
}

// deoptEntryARM64 reads the instructions of the deoptimizer's entry that begins at start; nil if they are others.
func deoptEntryARM64(code []byte, start module.Vaddr) *deoptEntry {
	const loadsSize, calls = 0xf9400022, 0xd63f0200 // ldr x2, [x1]; blr x16
	e := deoptEntry{padding: wordSize, way: deoptWay{held: regs.ARM64X0 + 4}}
	at := func(i int) uint32 { return order.Uint32(code[i:]) }
	for i := 0; i+2*instruction <= len(code) && e.way.rebuilt == 0; i += instruction {
		behind := start + module.Vaddr(i+instruction)
		switch next := at(i + instruction); {
		case e.moves == 0 && at(i) == calls:
			e.way.made = behind
		case e.moves == 0 && at(i)&0xffc003ff == 0xf9400001: // ldr x1, [x0, #n]
			e.input = int32(at(i) >> 10 & 0xfff * wordSize)
		case e.moves == 0 && i > 0 && at(i) == loadsSize && next&0xffc003ff == 0x91000023: // add x3, x1, #n
			e.moves, e.content = behind-2*instruction, int32(next>>10&0xfff)
		case e.moves != 0 && e.returns == 0 && at(i) == 0x8b226fff: // add sp, sp, x2, lsl #3
			e.way.moved = behind
		case e.moves != 0 && e.returns == 0 && at(i) == calls:
			e.returns = behind
		case e.returns != 0 && at(i) == 0xa8c17fe4: // ldp x4, xzr, [sp], #16
			e.way.popped = behind
		case e.way.popped != 0 && at(i)&0xffc003ff == 0xf9400090 && next == 0x9100021f: // ldr x16, [x4, #n]; mov sp
			e.way.top = int32(at(i) >> 10 & 0xfff * wordSize)
		case e.way.top != 0 && at(i)&0xff00001f == 0x5400000b: // b.lt: the next frame
			e.way.rebuilt = behind
		}
	}
	if e.returns == 0 || e.input == 0 || e.content == 0 {
		return nil
	}
	if e.way.rebuilt == 0 || e.way.made == 0 || e.way.moved == 0 {
		e.way = deoptWay{}
	}
	return &e
}
