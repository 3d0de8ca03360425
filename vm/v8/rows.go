package v8

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Row implements [unwind.RowSource]. A frame that has called another one has its frame pointer; what the innermost has,
// its instructions say, and what the deoptimizer was entered from is on the stack: see Cross.
func (r *Runtime) Row(_ unwind.Region, pc mem.Addr, interrupted bool) (*cfi.Row, bool, error) {
	a := r.areas.Load().find(pc)
	if a == nil || interrupted {
		return nil, false, nil
	}
	b := r.builtinAt(a, pc)
	switch {
	case b == nil:
		return framed, true, nil
	case b.kind == deoptimizer, b.inFrame():
		return nil, false, nil
	case b.kind == entryFromC && r.savesRegisters(b):
		return entered, true, nil
	}
	return framed, true, nil
}

var (
	rbp    = uint64(regs.AMD64RBP)
	callee = []regs.Reg{regs.AMD64RBX, regs.AMD64R12, regs.AMD64R13, regs.AMD64R14, regs.AMD64R15}
)

// framed is the row of code with a frame pointer, which has used all other registers: V8's code saves none.
var framed = row(func(int) cfi.Rule { return cfi.Rule{Kind: cfi.Undefined} })

// entered is the row of JSEntry, which C++ called: below the frame pointer are the frame's type, a word of its own, and
// r12, r13, r14, r15, rbx.
// Source: Generate_JSEntryVariant in src/builtins/x64/builtins-x64.cc.
var entered = row(func(i int) cfi.Rule {
	const pushed = 16 + 2*wordSize
	at := map[regs.Reg]int64{regs.AMD64R12: 1, regs.AMD64R13: 2, regs.AMD64R14: 3, regs.AMD64R15: 4, regs.AMD64RBX: 5}
	return cfi.Rule{Kind: cfi.Offset, N: -pushed - at[callee[i]]*wordSize}
})

func row(saved func(i int) cfi.Rule) *cfi.Row {
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
