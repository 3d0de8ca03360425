package wasmtime

import (
	"debug/elf"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// onARM64 is what wasmtime does on arm64. Encodings: Arm Architecture Reference Manual for A-profile, C6.2.
var onARM64 = port{
	arch:        regs.ARM64,
	relocations: map[uint32]int{uint32(elf.R_AARCH64_ABS64): 8, uint32(elf.R_AARCH64_ABS32): 4},
	framed: &cfi.Row{RAReg: uint64(regs.ARM64LR),
		CFA:  cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.ARM64FP), N: 16},
		RA:   cfi.Rule{Kind: cfi.Offset, N: -8},
		Regs: []cfi.RegRule{{Reg: uint64(regs.ARM64FP), Rule: cfi.Rule{Kind: cfi.Offset, N: -16}}}},
	byCode: byCodeARM64,
	saved:  20, // eight registers of vectors, x19 to x28 and x29 before it
}

// byCodeARM64 interprets the function from its beginning to pc.
func byCodeARM64(b []byte, start, pc mem.Addr, budget *work.Budget) (*cfi.Row, bool) {
	if pops, ok := leaves(b, int(pc-start)); ok {
		return &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.ARM64LR),
			CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.ARM64.SP), N: pops}}, true
	}
	code := arm64.Code{Start: uint64(start), Data: b, Budget: budget}
	row, ok := code.FromEntry(uint64(start), uint64(start)+uint64(len(b)), uint64(pc))
	return &row, ok
}

// leaves reports whether the instruction at b[n], of a function whose code is b, is behind the one that gives up the
// frame: what is left to do is to take parameters off the stack, pops bytes of them, and to return or to jump to
// another function, which takes off its own. SP may be higher there than where the function began.
func leaves(b []byte, n int) (pops int64, ok bool) {
	for back := n - 4; back >= 0; back -= 4 { // to what loads the record
		i := arm64.Word(b[back:])
		if _, _, leaves := i.LoadsRecord(); leaves {
			break
		}
		if _, ok := i.AddsSP(); !ok && !isHint(i) || back == 0 {
			return 0, false
		}
	}
	if n == 0 {
		return 0, false
	}
	for ; n+4 <= len(b); n += 4 {
		i := arm64.Word(b[n:])
		if by, ok := i.AddsSP(); ok {
			pops += by
			continue
		}
		to := n + int(int32(i<<6)>>6)*4
		switch {
		case isHint(i):
		case i>>26 == 5 && (to < 0 || to >= len(b)), // b, out of it
			i&0xfffffc1f == 0xd61f0000,                 // br
			i == arm64.Ret, i&0xfffffbff == 0xd65f0bff: // ret, retaa, retab
			return pops, true
		default:
			return 0, false
		}
	}
	return 0, false
}

// isHint reports whether i is a hint: autiasp, bti.
func isHint(i arm64.Inst) bool { return i&0xfffff01f == 0xd503201f }
