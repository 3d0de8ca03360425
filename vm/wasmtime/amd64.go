package wasmtime

import (
	"bytes"
	"debug/elf"

	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// onAMD64 is what wasmtime does on x86-64.
var onAMD64 = port{
	arch:        regs.AMD64,
	relocations: map[uint32]int{uint32(elf.R_X86_64_64): 8, uint32(elf.R_X86_64_32): 4},
	framed: &cfi.Row{RAReg: uint64(regs.AMD64RIP),
		CFA:  cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RBP), N: 16},
		RA:   cfi.Rule{Kind: cfi.Offset, N: -8},
		Regs: []cfi.RegRule{{Reg: uint64(regs.AMD64RBP), Rule: cfi.Rule{Kind: cfi.Offset, N: -16}}}},
	byCode: byCodeAMD64,
	saved:  7, // six registers before it
}

// enteredAMD64 is the row where a function begins.
var enteredAMD64 = cfi.Row{RAReg: uint64(regs.AMD64RIP),
	CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP), N: 8}, RA: cfi.Rule{Kind: cfi.Offset, N: -8}}

// byCodeAMD64 interprets the function from its beginning to pc.
func byCodeAMD64(b []byte, start, pc mem.Addr, budget *work.Budget) (*cfi.Row, bool) {
	n := int(pc - start)
	if leavesByJump(b, n) {
		return at(&enteredAMD64, pc), true
	}
	code := x86.Code{Start: uint64(start), Data: b, Mode64: true, Budget: budget}
	found, ok := code.FromEntry(uint64(start), uint64(start)+uint64(len(b)), uint64(pc))
	moved := found.CFA.Reg == uint64(regs.AMD64RBP) && found.CFA.N != 16 && bytes.Contains(b[:n], movedRecord)
	return &found, ok && !moved
}

// movedRecord ends what a function does to its frame record if it is going to end in a tail call whose parameters take
// more of the stack than its own: the record is copied to below them, "mov r11, 8(rsp)" at last. From there on it is
// where frame pointers lead, and where it was parameters are written.
// Source: cranelift/codegen/src/isa/x64/abi.rs, gen_prologue_frame_setup.
var movedRecord = []byte{0x4c, 0x89, 0x5c, 0x24, 0x08}

// leavesByJump reports whether the instruction at b[at], of a function whose code is b, is the jump of a tail call: all
// is as where the next function begins, though SP may be higher than where this one began. It jumps out of the
// function, or comes right behind "pop rbp" or what takes parameters off the stack.
func leavesByJump(b []byte, at int) bool {
	rest := b[at:]
	switch {
	case len(rest) >= 5 && rest[0] == 0xe9: // jmp to an address
		to := at + 5 + int(int32(order.Uint32(rest[1:])))
		return to < 0 || to >= len(b)
	case len(rest) >= 2 && rest[0] == 0xff && rest[1]&0xf8 == 0xe0, // jmp *register
		len(rest) >= 3 && rest[0] == 0x41 && rest[1] == 0xff && rest[2]&0xf8 == 0xe0:
		before := b[:at]
		return bytes.HasSuffix(before, []byte{0x5d}) ||
			len(before) >= 4 && bytes.HasPrefix(before[at-4:], []byte{0x48, 0x83, 0xc4}) || // add rsp, 8 bits
			len(before) >= 7 && bytes.HasPrefix(before[at-7:], []byte{0x48, 0x81, 0xc4}) // add rsp, 32 bits
	}
	return false
}
