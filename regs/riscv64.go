package regs

import "encoding/binary"

// RISCV64 is 64-bit RISC-V. Word 0 of the note is the program counter, in the place of x0.
// Source of the layout: struct user_regs_struct in linux/arch/riscv/include/uapi/asm/ptrace.h.
var RISCV64 = &Arch{
	Name: "riscv64", WordSize: 8, Order: binary.LittleEndian, NoteSize: 32 * 8, Machine: 243,
	PC: 32, SP: 2, FP: 8, LR: 1, Syscall: NoReg, Result: 10,
	Record: Record{SavedFP: -16, RA: -8, CFA: 0},
	Callee: []Reg{8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27},
	slots:  []slot{{reg: 1, name: "x", word: 1, count: 31}, {32, "pc", 0, 0}},
}
