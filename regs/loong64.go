package regs

import "encoding/binary"

// LOONG64 is 64-bit LoongArch. Source of the layout: struct user_pt_regs in
// linux/arch/loongarch/include/uapi/asm/ptrace.h (regs, orig_a0, csr_era, csr_badv, reserved).
var LOONG64 = &Arch{
	Name: "loong64", WordSize: 8, Order: binary.LittleEndian, NoteSize: 45 * 8, Machine: 258,
	PC: 32, SP: 3, FP: 22, LR: 1, Syscall: NoReg, Result: 4,
	Record: Record{SavedFP: -16, RA: -8, CFA: 0},
	Callee: []Reg{22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
	slots:  []slot{{reg: 0, name: "r", word: 0, count: 32}, {32, "era", 33, 0}},
}
