package regs

import "encoding/binary"

// Registers of arm64 by DWARF number, DWARF for the Arm 64-bit Architecture 4.1;
// the program counter is 32 there.
const (
	ARM64X0 Reg = 0
	ARM64FP Reg = 29
	ARM64LR Reg = 30
	ARM64SP Reg = 31
	ARM64PC Reg = 32
	ARM64VG Reg = 33 // length of vectors, see [Registers.SetVectors]
)

// ARM64 is 64-bit Arm. Source of the layout: struct user_pt_regs in
// linux/arch/arm64/include/uapi/asm/ptrace.h.
//
// Return addresses and LR may have a pointer authentication code: see [StripPAC].
var ARM64 = &Arch{
	Name: "arm64", WordSize: 8, Order: binary.LittleEndian, NoteSize: 34 * 8, Machine: 183,
	PC: ARM64PC, SP: ARM64SP, FP: ARM64FP, LR: ARM64LR,
	Record:  Record{SavedFP: 0, RA: 8, CFA: 16, Below: 16, Anywhere: true},
	Args:    []Reg{0, 1, 2, 3, 4, 5},
	Syscall: NoReg, Result: ARM64X0,
	Callee: []Reg{19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29},
	slots:  []slot{{reg: 0, name: "x", word: 0, count: 31}, {ARM64SP, "sp", 31, 0}, {ARM64PC, "pc", 32, 0}},
	dwarf:  []alias{{32, ARM64PC}, {46, ARM64VG}},
}

// StripPAC clears the pointer authentication code of an instruction address. insnMask is
// the second word of the regset NT_ARM_PAC_MASK (0x406), 0 where the CPU has none.
// Source: linux/Documentation/arch/arm64/pointer-authentication.rst.
func StripPAC(addr, insnMask uint64) uint64 { return addr &^ insnMask }
