package unwind

import (
	"errors"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol/pclntab"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// openPCLN opens Go's line table, nil if m holds no Go code.
func openPCLN(m *module.Module) (*pclntab.Table, error) {
	t, err := pclntab.Open(func(name string) (pclntab.Section, bool) {
		s, ok := m.Section(name)
		return pclntab.Section{Addr: uint64(s.Addr), Data: s.Data}, ok && !s.Compressed
	}, m.Budget())
	if errors.Is(err, pclntab.ErrNone) {
		return nil, nil
	}
	return t, err
}

// golang finds what Go's own table says of v: the distance from SP to the return address, and
// which functions are the outermost of their stacks.
//
// Source: cmd/compile/abi-internal.md and runtime/symtab.go of the Go distribution.
func (t *tables) golang(v uint64, arch *regs.Arch) (found, bool) {
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
	if !ok || depth < 0 {
		why := "Go's table does not know the depth of the stack in " + f.Name()
		return found{row: compiled{origin: PCSP}, root: top, why: why}, true
	}
	row := pcspRow(v, int64(depth), arch)
	if top {
		return found{row: compile(row, PCSP, arch), root: true}, true
	}
	if flags&pclntab.SPWrite != 0 && v != f.Entry {
		// systemstack, asmcgocall and the like go to another stack inside; the frame record
		// that they pushed first stays where the frame pointer points.
		if name := f.Name(); len(row.Regs) == 0 || name == growth {
			return found{leaves: true, grows: name == growth, resumes: name == "gogo", why: name + " goes to another stack"}, true
		}
		if v >= f.Entry+recordPrologue[arch] && !popsRecord(f, v, arch) {
			row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.FP), N: -row.Regs[0].Rule.N}
		}
	}
	return found{row: compile(row, PCSP, arch)}, true
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

// recordPrologue is the length of the instructions that make the frame record and set the
// frame pointer: "push rbp; mov rbp, rsp" on amd64; on arm64 for large frames "sub x20, sp, #n;
// stp x29, x30, [x20, #-8]; mov sp, x20; sub x29, sp, #8", for small ones one less.
var recordPrologue = map[*regs.Arch]uint64{regs.AMD64: 4, regs.ARM64: 16}

// popsRecord tells whether v is the last instruction with a frame, "ldr x30, [sp], #n": before
// it x29 was given back to the caller, and SP is on the first stack again.
func popsRecord(f pclntab.Func, v uint64, arch *regs.Arch) bool {
	if arch != regs.ARM64 {
		return false
	}
	depth, ok := f.SPDelta(v + 4)
	return ok && depth == 0
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
		row.Regs = []cfi.RegRule{{Reg: uint64(arch.FP), Rule: cfi.Rule{Kind: cfi.Offset, N: -depth - int64(arch.WordSize)}}}
	}
	return row
}
