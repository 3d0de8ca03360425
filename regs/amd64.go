package regs

import "encoding/binary"

// Registers of amd64 by DWARF number, System V ABI AMD64 figure 3.36.
const (
	AMD64RAX Reg = iota
	AMD64RDX
	AMD64RCX
	AMD64RBX
	AMD64RSI
	AMD64RDI
	AMD64RBP
	AMD64RSP
	AMD64R8
	AMD64R9
	AMD64R10
	AMD64R11
	AMD64R12
	AMD64R13
	AMD64R14
	AMD64R15
	AMD64RIP
	AMD64OrigRAX Reg = 33 // the kernel's; no DWARF number
)

// AMD64 is x86-64. Source of the layout: struct user_regs_struct in
// linux/arch/x86/include/asm/user_64.h; of the numbers: System V ABI AMD64, 3.6.2.
var AMD64 = &Arch{
	Name: "amd64", WordSize: 8, Order: binary.LittleEndian, NoteSize: 27 * 8, Machine: 62,
	PC: AMD64RIP, SP: AMD64RSP, FP: AMD64RBP, LR: NoReg,
	Record:  Record{SavedFP: 0, RA: 8, CFA: 16},
	Args:    []Reg{AMD64RDI, AMD64RSI, AMD64RDX, AMD64R10, AMD64R8, AMD64R9},
	Syscall: AMD64OrigRAX, Result: AMD64RAX,
	Callee: []Reg{AMD64RBX, AMD64RBP, AMD64R12, AMD64R13, AMD64R14, AMD64R15},
	slots: []slot{
		{AMD64R15, "r15", 0, 0}, {AMD64R14, "r14", 1, 0}, {AMD64R13, "r13", 2, 0}, {AMD64R12, "r12", 3, 0},
		{AMD64RBP, "rbp", 4, 0}, {AMD64RBX, "rbx", 5, 0}, {AMD64R11, "r11", 6, 0}, {AMD64R10, "r10", 7, 0},
		{AMD64R9, "r9", 8, 0}, {AMD64R8, "r8", 9, 0}, {AMD64RAX, "rax", 10, 0}, {AMD64RCX, "rcx", 11, 0},
		{AMD64RDX, "rdx", 12, 0}, {AMD64RSI, "rsi", 13, 0}, {AMD64RDI, "rdi", 14, 0},
		{AMD64OrigRAX, "orig_rax", 15, 0}, {AMD64RIP, "rip", 16, 0}, {AMD64RSP, "rsp", 19, 0},
	},
}
