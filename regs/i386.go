package regs

import "encoding/binary"

// Registers of 386 by DWARF number, System V ABI i386 table 2.14.
const (
	I386EAX Reg = iota
	I386ECX
	I386EDX
	I386EBX
	I386ESP
	I386EBP
	I386ESI
	I386EDI
	I386EIP
	I386OrigEAX Reg = 33 // the kernel's; no DWARF number
)

// I386 is 32-bit x86. Source of the layout: struct user_regs_struct in
// linux/arch/x86/include/asm/user_32.h; of the numbers: System V ABI i386, 2.4.2.
var I386 = &Arch{
	Name: "386", WordSize: 4, Order: binary.LittleEndian, NoteSize: 17 * 4, Machine: 3,
	PC: I386EIP, SP: I386ESP, FP: I386EBP, LR: NoReg,
	Record:  Record{SavedFP: 0, RA: 4, CFA: 8},
	Args:    []Reg{I386EBX, I386ECX, I386EDX, I386ESI, I386EDI, I386EBP},
	Syscall: I386OrigEAX, Result: I386EAX,
	Callee: []Reg{I386EBX, I386EBP, I386ESI, I386EDI},
	slots: []slot{
		{I386EBX, "ebx", 0, 0}, {I386ECX, "ecx", 1, 0}, {I386EDX, "edx", 2, 0}, {I386ESI, "esi", 3, 0},
		{I386EDI, "edi", 4, 0}, {I386EBP, "ebp", 5, 0}, {I386EAX, "eax", 6, 0},
		{I386OrigEAX, "orig_eax", 11, 0}, {I386EIP, "eip", 12, 0}, {I386ESP, "esp", 15, 0},
	},
}
