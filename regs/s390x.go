package regs

import "encoding/binary"

// S390X is z/Architecture, 64 bits, big-endian. It has no frame pointer: code built with
// -mbackchain links its frames through the stack pointer.
// Source of the layout: s390_regs in linux/arch/s390/include/uapi/asm/ptrace.h (psw, gprs,
// acrs, orig_gpr2); of the numbers: ELF ABI s390x supplement, 1.6 (64 pswm, 65 pswa).
var S390X = &Arch{
	Name: "s390x", WordSize: 8, Order: binary.BigEndian, NoteSize: 216, Machine: 22,
	PC: 32, SP: 15, FP: NoReg, LR: 14, Syscall: NoReg, Result: 2,
	Callee: []Reg{6, 7, 8, 9, 10, 11, 12, 13, 15},
	slots:  []slot{{reg: 0, name: "r", word: 2, count: 16}, {32, "pswa", 1, 0}},
	dwarf:  []alias{{65, 32}},
}
