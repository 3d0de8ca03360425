package regs

import "encoding/binary"

// ARM is 32-bit Arm. The frame pointer is r11 in ARM state and r7 in Thumb state.
// Source of the layout: struct pt_regs in linux/arch/arm/include/uapi/asm/ptrace.h.
var ARM = &Arch{
	Name: "arm", WordSize: 4, Order: binary.LittleEndian, NoteSize: 18 * 4, Machine: 40,
	PC: 15, SP: 13, FP: 11, LR: 14, Syscall: NoReg, Result: 0,
	Callee: []Reg{4, 5, 6, 7, 8, 9, 10, 11},
	slots:  []slot{{reg: 0, name: "r", word: 0, count: 16}, {32, "cpsr", 16, 0}},
}
