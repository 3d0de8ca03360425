package v8

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// onAMD64 is what V8 does on x86-64. What leaves a frame there is in epilogue.go, the way out of the deoptimizer in
// deoptimizer.go.
var onAMD64 = port{
	arch:         regs.AMD64,
	numbered:     numbered[:],
	framed:       rowAMD64(func(int) cfi.Rule { return cfi.Rule{Kind: cfi.Undefined} }),
	entry:        (*Runtime).entryAMD64,
	stateOf:      (*Runtime).stateAMD64,
	prologueSize: len(buildsFrame),
	prologue:     func(code []byte) int { return bytes.Index(code, buildsFrame) },
	baseline:     baselineEntry,
	called: func(b []byte, start, ra uint64) bool {
		code := x86.Code{Start: start, Data: b, Mode64: true}
		_, _, ok := code.CallBefore(ra)
		return ok
	},
	deoptEntry: deoptEntryOf,
	returned:   returnedAMD64,
}

// buildsFrame is push rbp; mov rbp, rsp.
var buildsFrame = []byte{0x55, 0x48, 0x89, 0xe5}

var (
	rbp    = uint64(regs.AMD64RBP)
	callee = []regs.Reg{regs.AMD64RBX, regs.AMD64R12, regs.AMD64R13, regs.AMD64R14, regs.AMD64R15}
)

// entryAMD64 is the row of b, a JSEntry that has called, where its beginning is as expected.
func (r *Runtime) entryAMD64(b *builtin, _ module.Vaddr, interrupted bool) *cfi.Row {
	if interrupted || !r.savesRegisters(b) {
		return nil
	}
	return entered
}

// stateAMD64 is stateOf of amd64.
func (r *Runtime) stateAMD64(a *area, now *regs.Registers, v *view.View) (state, error) {
	pc, _ := now.PC()
	var window [before + behind]byte
	n := copy(window[:], v.UpTo(pc-before, before+behind))
	if n < before+1 {
		return state{}, fmt.Errorf("read code: %w", v.Fault())
	}
	code := window[before:n]
	b := r.builtinAt(a, pc)
	switch {
	case b != nil && b.kind == baselinePrologue && b.prologue >= 0 && !bytes.HasPrefix(code, buildsFrame):
		return r.inBaselinePrologue(a, b, now, v)
	case bytes.HasPrefix(code, buildsFrame), r.notBegun(a, b, pc, v):
		return returning(now, v, 0)
	case window[before-1] == buildsFrame[0] && bytes.HasPrefix(code, buildsFrame[1:]):
		return returning(now, v, wordSize)
	}
	e := epilogue{now: *now, v: v}
	if e.run(code) {
		return state{caller: e.now}, nil
	}
	// An entry of the interpreter without a prologue runs in a frame that is there: the deoptimizer has made it.
	if a.made || b != nil && (b.kind == bytecodeHandler || b.kind == entryFromC || b.kind == interpreterEntry ||
		b.prologue >= 0) {
		return state{framed: true}, nil
	}
	if s, err := r.callerOnStack(now, v); err == nil {
		return s, nil
	}
	return state{framed: true}, nil
}

// inBaselinePrologue is the state of the builtin that builds the frame of baseline code. It pops its own return address
// right before that; behind it is that of the function.
// Source: Builtins::Generate_BaselineOutOfLinePrologue in src/builtins/x64/builtins-x64.cc.
func (r *Runtime) inBaselinePrologue(a *area, b *builtin, now *regs.Registers, v *view.View) (state, error) {
	pc, _ := now.PC()
	sp, _ := now.SP()
	fp, _ := now.FP()
	switch at := int64(uint64(pc) - a.bias - uint64(b.start)); {
	case at < int64(b.prologue):
		callee := *now
		callee.Set(regs.AMD64RSP, uint64(sp)+wordSize)
		return returning(&callee, v, 0)
	case at == int64(b.prologue)+1:
		return returning(now, v, wordSize)
	}
	function, _ := now.Get(r.port.register(r.layout.Registers.Function))
	held, err := v.Word(fp + mem.Addr(r.layout.Frame.Function))
	marker, _ := v.Word(fp + mem.Addr(r.layout.Frame.Context))
	if err == nil && sp <= fp && (fp-sp < 3*wordSize || held == function || marker&1 == 0) {
		e := epilogue{now: *now, v: v}
		if code := r.instructions(pc, v); e.run(code) {
			return state{caller: e.now}, nil
		}
		return state{framed: true}, nil
	}
	return returning(now, v, 0) // it leaves for other code of the function
}

// instructions are the bytes from pc on.
func (r *Runtime) instructions(pc mem.Addr, v *view.View) []byte {
	return slices.Clone(v.UpTo(pc, behind))
}

// returning is the state of a function that returns to the word above saved bytes on the stack: 0 where the frame
// pointer is the caller's, 8 where it has just been pushed.
func returning(now *regs.Registers, v *view.View, saved mem.Addr) (state, error) {
	sp, _ := now.SP()
	next := *now
	if saved != 0 {
		fp, err := v.Word(sp)
		if err != nil {
			return state{}, err
		}
		next.Set(regs.AMD64RBP, fp)
	}
	ra, err := v.Word(sp + saved)
	if err != nil {
		return state{}, err
	}
	next.Set(regs.AMD64RIP, ra)
	next.Set(regs.AMD64RSP, uint64(sp+saved+wordSize))
	return state{caller: next, entered: true}, nil
}

// maxBelow bounds the search for a return address, bytes from the stack pointer on.
const maxBelow = 512

var errNoReturn = errors.New("no return address is found on the stack")

// callerOnStack finds the caller of a builtin that has no frame: the first word above the stack pointer that is a
// return address into V8's code. Below it are at most what the builtin has saved, above it is the frame of the caller.
func (r *Runtime) callerOnStack(now *regs.Registers, v *view.View) (state, error) {
	sp, _ := now.SP()
	fp, ok := now.FP()
	if !ok || fp < sp || fp%wordSize != 0 {
		return state{}, errNoReturn
	}
	var buf [maxBelow]byte
	n := copy(buf[:], v.UpTo(sp, int(min(maxBelow, fp-sp))))
	for at := 0; at+wordSize <= n; at += wordSize {
		ra := mem.Addr(order.Uint64(buf[at:]))
		if r.areas.Load().find(ra-1) == nil || !r.called(ra, r.code(v)) {
			continue
		}
		next := *now
		next.Set(regs.AMD64RIP, uint64(ra))
		next.Set(regs.AMD64RSP, uint64(sp)+uint64(at)+wordSize)
		return state{caller: next}, nil
	}
	return state{}, errNoReturn
}

// entered is the row of JSEntry, which C++ called: below the frame pointer are the frame's type, a word of its own, and
// r12, r13, r14, r15, rbx.
// Source: Generate_JSEntryVariant in src/builtins/x64/builtins-x64.cc.
var entered = rowAMD64(func(i int) cfi.Rule {
	const pushed = 16 + 2*wordSize
	at := map[regs.Reg]int64{regs.AMD64R12: 1, regs.AMD64R13: 2, regs.AMD64R14: 3, regs.AMD64R15: 4, regs.AMD64RBX: 5}
	return cfi.Rule{Kind: cfi.Offset, N: -pushed - at[callee[i]]*wordSize}
})

func rowAMD64(saved func(i int) cfi.Rule) *cfi.Row {
	out := &cfi.Row{RAReg: uint64(regs.AMD64RIP), CFA: cfi.Rule{Kind: cfi.Register, Reg: rbp, N: 16},
		RA: cfi.Rule{Kind: cfi.Offset, N: -8}}
	for i, reg := range callee {
		if i == 1 { // rbp comes behind rbx
			out.Regs = append(out.Regs, cfi.RegRule{Reg: rbp, Rule: cfi.Rule{Kind: cfi.Offset, N: -16}})
		}
		out.Regs = append(out.Regs, cfi.RegRule{Reg: uint64(reg), Rule: saved(i)})
	}
	return out
}

// savesRegisters reports whether the beginning of b, a JSEntry, is what entered says.
func (r *Runtime) savesRegisters(b *builtin) bool {
	code, _ := r.m.Text(b.start)
	code = code[:min(len(code), int(b.end-b.start), 64)]
	if !bytes.HasPrefix(code, buildsFrame) {
		return false
	}
	pushes := []byte{0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x53} // r12, r13, r14, r15, rbx
	i := bytes.Index(code, pushes)
	if i < 0 {
		return false
	}
	switch between := code[len(buildsFrame):i]; { // push type; sub rsp, 8
	case len(between) == 6 && between[0] == 0x6a && string(between[2:]) == "\x48\x83\xec\x08":
		return true
	default:
		return false
	}
}

// baselineEntry is how many bytes of baseline code run before a builtin builds its frame, the call of that included;
// below 0 if they are not as expected: a register is set to the BytecodeArray, and the builtin is called.
// Source: BaselineCompiler::Prologue in src/baseline/x64/baseline-compiler-x64-inl.h.
func baselineEntry(b []byte) int {
	const array, call = "\x49\xbc", 0xe8 // mov r12, imm64; call rel32
	i := bytes.Index(b, []byte(array))
	if next := i + len(array) + wordSize; i >= 0 && next < len(b) && b[next] == call {
		return next + 1
	}
	return -1
}

// returnedAMD64 is what the function at that address returns, if all that it does is return something fixed.
func returnedAMD64(m *module.Module, code []byte, at module.Vaddr) (module.Vaddr, bool) {
	const endbr64, ret = "\xf3\x0f\x1e\xfa", 0xc3
	if rest, ok := bytes.CutPrefix(code, []byte(endbr64)); ok {
		code, at = rest, at+module.Vaddr(len(endbr64))
	}
	for _, form := range []string{"\xb8", "\x8b\x05", "\x48\x8d\x05"} {
		length := len(form) + 4
		if len(code) <= length || string(code[:len(form)]) != form || code[length] != ret {
			continue
		}
		n := order.Uint32(code[len(form):])
		there := at + module.Vaddr(length) + module.Vaddr(int64(int32(n)))
		switch form {
		case "\xb8": // mov eax, n
			return module.Vaddr(n), true
		case "\x8b\x05": // mov eax, [rip+n]
			b, ok := m.Loaded(there)
			if !ok || len(b) < 4 {
				return 0, false
			}
			return module.Vaddr(order.Uint32(b)), true
		}
		return there, true // lea rax, [rip+n]
	}
	return 0, false
}
