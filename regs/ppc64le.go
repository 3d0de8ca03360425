package regs

import "encoding/binary"

// PPC64LE is 64-bit Power, little-endian. Frames link through the back chain at [r1].
// Source of the layout: struct pt_regs in linux/arch/powerpc/include/uapi/asm/ptrace.h,
// padded to ELF_NGREG = 48 words; of the numbers: 64-bit ELF V2 ABI, 2.4 (65 is LR).
var PPC64LE = &Arch{
	Name: "ppc64le", WordSize: 8, Order: binary.LittleEndian, NoteSize: 48 * 8, Machine: 21,
	PC: 32, SP: 1, FP: NoReg, LR: 33, Syscall: NoReg, Result: 3,
	Callee: []Reg{14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
	slots:  []slot{{reg: 0, name: "r", word: 0, count: 32}, {32, "nip", 32, 0}, {33, "lr", 36, 0}},
	dwarf:  []alias{{65, 33}},
}
