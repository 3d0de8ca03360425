package coroutine

import (
	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

var onAMD64 = port{isa: emulate.AMD64, first: regs.AMD64RAX, last: regs.AMD64R15, keeps: keptOnAMD64,
	reader: readAMD64, taken: takenOnAMD64}

// keptOnAMD64 implements port. Source: System V ABI for AMD64, 3.2.1.
func keptOnAMD64(r regs.Reg) bool {
	return r == regs.AMD64RBX || r == regs.AMD64RBP || r >= regs.AMD64R12
}

// readAMD64 implements port.
func readAMD64(index field) reader {
	var constants [16]int64 // of registers, where a constant was put into one
	return func(code []byte, pc mem.Addr) (out instruction, ok bool) {
		in, ok := x86.Decode(code)
		if !ok {
			return out, false
		}
		out.size = in.Len
		plain := in.Space == 0 && !in.VEX
		switch {
		case plain && in.Op == 0xe8: // call
			out.called = pc + mem.Addr(in.Len) + mem.Addr(in.Imm)
		case plain && in.Op&0xf8 == 0xb8: // mov $imm, %register
			constants[in.RM] = in.Imm
		}
		out.value, out.stores = storedOnAMD64(&in, &constants, index)
		// jmp, ret
		out.leaves = plain && (in.Op == 0xe9 || in.Op == 0xeb || in.Op == 0xc3 || in.Op == 0xff && in.Reg&7 == 4)
		return out, true
	}
}

// storedOnAMD64 is the number that an instruction puts into field f of what a register leads to.
func storedOnAMD64(in *x86.Instruction, constants *[16]int64, f field) (int64, bool) {
	if in.Space != 0 || in.VEX || !in.IsMem || in.Base < 0 || in.Index >= 0 || in.Disp != f.offset {
		return 0, false
	}
	wide := in.Op&1 != 0 // more than a byte, and perhaps what is behind the number, too
	switch {
	case f.size == 2 && !wide:
	case in.Op&^1 == 0xc6: // mov $imm, offset(%register)
		return in.Imm, true
	case in.Op&^1 == 0x88: // mov %register, offset(%register)
		return constants[in.Reg], true
	}
	return 0, false
}

const addressSize = 4 // bytes, of an address in an instruction

// takenOnAMD64 implements port: relative to the instruction, or in one.
func takenOnAMD64(code []byte, at module.Vaddr, starts map[module.Vaddr]module.Vaddr) (out []taken) {
	for i := 3; i+addressSize <= len(code) && len(out) < maxTaken; i++ {
		var f module.Vaddr
		switch value := order.Uint32(code[i:]); {
		case code[i-2] == 0x8d && code[i-1]&0xc7 == 0x05 && code[i-3]&0xfb == 0x48: // lea value(%rip), %register
			f = at + module.Vaddr(i+addressSize) + module.Vaddr(int64(int32(value)))
		case code[i-1]&0xf8 == 0xb8, // mov $value, %register
			code[i-2] == 0xc7 && code[i-1]&0xc7 == 0 && code[i-3]&0xf8 == 0x48,             // mov $value, (%register)
			code[i-3] == 0xc7 && code[i-2]&0xc7 == 0x40 && i > 3 && code[i-4]&0xf8 == 0x48: // … offset(%register)
			f = module.Vaddr(value)
		default:
			continue
		}
		if _, ok := starts[f]; ok {
			out = append(out, taken{at + module.Vaddr(i), f})
		}
	}
	return out
}
