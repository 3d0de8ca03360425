package unwind

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// byPCLN finds what pclntab says of v: the distance from SP to the return address, and which functions are the
// outermost of their stacks.
//
// Source: cmd/compile/abi-internal.md and runtime/symtab.go of the Go distribution.
func (t *tables) byPCLN(v uint64, arch *regs.Arch) (found, bool) {
	if t.pcln == nil {
		return found{}, false
	}
	f, ok := t.pcln.Func(v)
	if !ok {
		return found{}, false
	}
	flags, _ := f.Flags()
	top := flags&pclntab.TopFrame != 0
	depth, ok := f.SPDelta(v)
	if row := t.resumeRow(f, v, arch); row != nil {
		return found{row: row, origin: PCSP, injected: true}, true
	}
	if !ok || depth < 0 {
		why := "pclntab does not know the depth of the stack in " + f.Name()
		return found{origin: PCSP, root: top, why: why}, true
	}
	row := pcspRow(v, int64(depth), arch)
	if len(row.Regs) > 0 && t.savesFP(v, arch) {
		row.Regs = nil
		return found{row: row, origin: PCSP, root: top}, true // no function has changed stacks here
	}
	injected := isInjected(f.Name())
	if injected && arch.LR != regs.NoReg {
		injectedRow(row, arch)
	}
	if top {
		return found{row: row, origin: PCSP, root: true}, true
	}
	if name := f.Name(); arch.LR != regs.NoReg && ownFrame[name] {
		why := name + " keeps its return address in a way of its own"
		return found{leaves: flags&pclntab.SPWrite != 0, why: why}, true
	}
	if flags&pclntab.SPWrite != 0 && v != f.Entry {
		// systemstack, asmcgocall and the like go to another stack inside; the frame record
		// that they pushed first stays where the frame pointer points.
		switch {
		case len(row.Regs) != 0:
		case t.returns(v, arch): // wherever it was, it is back
			return found{row: row, origin: PCSP}, true
		default:
			return found{leaves: true, why: f.Name() + " goes to another stack"}, true
		}
		read, err := t.onFirstStack(f, v, arch)
		switch {
		case err != nil:
			return found{leaves: true, why: fmt.Sprintf("%s goes to another stack: %v", f.Name(), err)}, true
		case read != nil:
			row = read
		case v >= f.Entry+recordPrologue[arch] && !popsRecord(f, v, arch):
			row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.FP), N: -row.Regs[0].Rule.N}
		}
	}
	return found{row: row, origin: PCSP, injected: injected}, true
}

// ownFrame are functions in assembly that do not keep the link register at the stack pointer, though what they return
// to is asked: crosscall2 has a frame like C, and what calls runtime.morestack has not kept its own return address,
// which is in another register.
// Source: runtime/asm_arm64.s and runtime/cgo/asm_arm64.s, and their brothers.
var ownFrame = map[string]bool{"crosscall2": true, "runtime.morestack": true, "runtime.morestack_noctxt": true}

// isInjected reports whether handlers of Go put the function of that name above the one that they interrupted, as if
// that had called it.
// Source: sigctxt.pushCall and preparePanic in runtime/signal_amd64.go, and their callers.
func isInjected(name string) bool {
	switch name {
	case "runtime.asyncPreempt", "runtime.sigpanic", "runtime.debugCallV1", "runtime.debugCallV2":
		return true
	}
	return false
}

// pcspRow is the row at v of a function whose SP stands depth bytes below its return address.
func pcspRow(v uint64, depth int64, arch *regs.Arch) *cfi.Row {
	if arch.LR != regs.NoReg {
		return linkRow(v, depth, arch)
	}
	word := int64(arch.WordSize)
	row := &cfi.Row{Start: v, End: v + 1, RAReg: uint64(arch.PC),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.SP), N: depth + word},
		RA:  cfi.Rule{Kind: cfi.Offset, N: -word}}
	if arch == regs.AMD64 && depth >= word {
		row.Regs = []cfi.RegRule{{Reg: uint64(arch.FP), Rule: cfi.Rule{Kind: cfi.Offset, N: -2 * word}}}
	}
	return row
}

// injectedRow makes row that of a function which a signal handler called in the name of an interrupted one: below the
// frame of that it left a word with its link register, which nothing else keeps, and aligned the stack.
// Source: sigctxt.preparePanic and pushCall in runtime/signal_arm64.go, and its brothers; unwinder.next in
// runtime/traceback.go.
func injectedRow(row *cfi.Row, arch *regs.Arch) {
	size := int64(arch.WordSize) // sys.MinFrameSize, aligned to sys.StackAlign
	switch arch {
	case regs.ARM64:
		size = 16
	case regs.PPC64LE:
		size = 32
	}
	row.CFA.N += size
	if row.RA.Kind == cfi.Offset {
		row.RA.N -= size
	}
	for i := range row.Regs {
		row.Regs[i].Rule.N -= size
	}
	row.Regs = append(row.Regs, cfi.RegRule{Reg: uint64(arch.LR), Rule: cfi.Rule{Kind: cfi.Offset, N: -size}})
}

// resumeRow is the row at v if that is the instruction by which runtime.asyncPreempt goes on with what was interrupted,
// nil elsewhere: all registers are those of that, and only the one that is jumped to says where.
// Source: runtime/mkpreempt.go; Arm Architecture Reference Manual for A-profile, C6.2, RET.
func (t *tables) resumeRow(f pclntab.Func, v uint64, arch *regs.Arch) *cfi.Row {
	const ret, mask = 0xd65f0000, 0xfffffc1f
	if arch != regs.ARM64 || f.Name() != "runtime.asyncPreempt" {
		return nil
	}
	code, ok := t.m.Text(module.Vaddr(v))
	if !ok || len(code) < 4 {
		return nil
	}
	i := binary.LittleEndian.Uint32(code)
	to := uint64(i >> 5 & 31)
	if i&mask != ret || to == uint64(arch.LR) {
		return nil
	}
	return &cfi.Row{Start: v, End: v + 1, RAReg: uint64(arch.LR),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.SP)},
		RA:  cfi.Rule{Kind: cfi.Register, Reg: to}}
}

// savesFP reports whether v is the instruction that stores the caller's frame pointer in a frame that is there already,
// so that it is in its register still: "stur x29, [sp, #-8]" behind "str x30, [sp, #-n]!".
func (t *tables) savesFP(v uint64, arch *regs.Arch) bool {
	const stur = 0xf81f83fd
	code, ok := t.m.Text(module.Vaddr(v))
	return arch == regs.ARM64 && ok && len(code) >= 4 && binary.LittleEndian.Uint32(code) == stur
}

// returns reports whether v is the instruction that goes on at the link register: "ret".
func (t *tables) returns(v uint64, arch *regs.Arch) bool {
	const ret = 0xd65f03c0
	code, ok := t.m.Text(module.Vaddr(v))
	return arch == regs.ARM64 && ok && len(code) >= 4 && binary.LittleEndian.Uint32(code) == ret
}

// recordPrologue is the length of the instructions that make the frame record and set the
// frame pointer: "push rbp; mov rbp, rsp" on amd64; on arm64 for large frames "sub x20, sp, #n;
// stp x29, x30, [x20, #-8]; mov sp, x20; sub x29, sp, #8", for small ones one less.
var recordPrologue = map[*regs.Arch]uint64{regs.AMD64: 4, regs.ARM64: 16}

// popsRecord reports whether v is the last instruction with a frame, "ldr x30, [sp], #n": before
// it x29 was given back to the caller, and SP is on the first stack again.
func popsRecord(f pclntab.Func, v uint64, arch *regs.Arch) bool {
	if arch != regs.ARM64 {
		return false
	}
	depth, ok := f.SPDelta(v + 4)
	return ok && depth == 0
}

// onFirstStack is the row at v by the stack pointer of a function that goes to another stack and has a link register,
// nil where its instructions do not say that it is on its first stack: before a jump at its end the frame pointer is
// the caller's again, and pclntab does not know that the frame was given back.
func (t *tables) onFirstStack(f pclntab.Func, v uint64, arch *regs.Arch) (*cfi.Row, error) {
	code, ok := t.m.Code(module.Vaddr(v))
	if !ok || !hasCode(arch) || arch.LR == regs.NoReg {
		return nil, nil
	}
	text := newText(arch, uint64(code.Addr), code.Data, t.m.Budget())
	row, ok := text.FromEntry(f.Entry, 0, v)
	if !ok {
		return nil, text.budget.Err()
	}
	if row.CFA.Reg != uint64(arch.SP) {
		return nil, nil
	}
	return &row, nil
}

// linkRow is the row of an architecture with a link register: a function with a frame keeps LR
// at 0(SP), and on arm64 the frame pointer below it.
func linkRow(v uint64, depth int64, arch *regs.Arch) *cfi.Row {
	row := &cfi.Row{Start: v, End: v + 1, RAReg: uint64(arch.LR),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.SP), N: depth}}
	if depth == 0 {
		return row
	}
	row.RA = cfi.Rule{Kind: cfi.Offset, N: -depth}
	if arch == regs.ARM64 {
		row.Regs = []cfi.RegRule{{Reg: uint64(arch.FP),
			Rule: cfi.Rule{Kind: cfi.Offset, N: -depth - int64(arch.WordSize)}}}
	}
	return row
}
