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
	})
	if errors.Is(err, pclntab.ErrNone) {
		return nil, nil
	}
	return t, err
}

// pcspRow makes a row of Go's table of stack depths: the distance from SP to the return address.
// Source: cmd/compile/abi-internal.md and runtime/symtab.go of the Go distribution.
func (t *tables) pcspRow(v uint64, arch *regs.Arch) (row *cfi.Row, root, ok bool) {
	f, ok := t.pcln.Func(v)
	if !ok {
		return nil, false, false
	}
	depth, ok := f.SPDelta(v)
	if !ok || depth < 0 {
		return nil, false, false
	}
	flags, _ := f.Flags()
	if flags&pclntab.TopFrame != 0 {
		return &cfi.Row{Start: v, End: v + 1, RAReg: uint64(arch.PC), RA: cfi.Rule{Kind: cfi.Undefined}}, true, true
	}
	if arch.LR != regs.NoReg {
		return linkRow(v, int64(depth), arch), false, true
	}
	word := int64(arch.WordSize)
	row = &cfi.Row{Start: v, End: v + 1, RAReg: uint64(arch.PC),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.SP), N: int64(depth) + word},
		RA:  cfi.Rule{Kind: cfi.Offset, N: -word}}
	keepsFP := arch == regs.AMD64 && int64(depth) >= word
	if keepsFP {
		row.Regs = []cfi.RegRule{{Reg: uint64(arch.FP), Rule: cfi.Rule{Kind: cfi.Offset, N: -2 * word}}}
	}
	if flags&pclntab.SPWrite != 0 && v != f.Entry {
		if !keepsFP {
			return nil, false, false
		}
		// systemstack, asmcgocall and the like go to another stack inside; the frame record
		// that they pushed first stays where rbp points.
		if v >= f.Entry+recordPrologue {
			row.CFA = cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.FP), N: 2 * word}
		}
	}
	return row, false, true
}

// recordPrologue is the length of "push rbp; mov rbp, rsp".
const recordPrologue = 4

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
