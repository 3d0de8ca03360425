package unwindcode

import (
	"bytes"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// MaxEpilogue is how many bytes of code Epilogue needs to see: one that moves RSP, the pops of all registers and a
// jump.
const MaxEpilogue = 3 + 7 + 8*2 + 7

// Epilogue returns the row at the beginning of code, where a thread was interrupted, if that is in an epilogue; false
// if it is not. An epilogue is what the codes say nothing of: it moves RSP, pops registers and leaves the function, of
// which code is [0, size) from its place: a jump to a place in the function is none that leaves.
func Epilogue(code []byte, place, size uint32) (*cfi.Row, bool) {
	whole := code
	code = bytes.TrimPrefix(code, []byte{0xc5, 0xf8, 0x77}) // vzeroupper
	cfa := cfi.Rule{Kind: cfi.Register, Reg: rsp}
	moved := true
	switch n := immediate(code, 3); {
	case begins(code, 0x48, 0x83, 0xc4), begins(code, 0x48, 0x81, 0xc4): // add rsp, n
		cfa.N, code = n, code[lengthOf(code):]
	case begins(code, 0x48, 0x8d, 0x65), begins(code, 0x48, 0x8d, 0xa5): // lea rsp, [rbp+n]
		cfa.Reg, cfa.N, code = rbp, n, code[lengthOf(code):]
	case begins(code, 0x48, 0x8b, 0xe5), begins(code, 0x48, 0x89, 0xec): // mov rsp, rbp
		cfa.Reg, code = rbp, code[3:]
	default:
		moved = false
	}
	var popped []uint64
	for len(popped) < len(dwarf) {
		register, n, ok := pop(code)
		if !ok {
			break
		}
		popped, code = append(popped, register), code[n:]
	}
	at := place + uint32(len(whole)-len(code))
	if !leaves(code, at, size, moved || len(popped) > 0) {
		return nil, false
	}
	start := cfa.N
	cfa.N += int64(len(popped))*word + word
	r := &cfi.Row{RAReg: ra, CFA: cfa, RA: cfi.Rule{Kind: cfi.Offset, N: -word}}
	for n := range uint64(len(dwarf)) {
		for i, register := range popped {
			if register == n && n != rsp {
				r.Regs = append(r.Regs, cfi.RegRule{Reg: n, Rule: cfi.Rule{Kind: cfi.Offset,
					N: start + int64(i)*word - cfa.N}})
				break
			}
		}
	}
	return r, true
}

func begins(code []byte, with ...byte) bool { return bytes.HasPrefix(code, with) }

// wide reports whether the instruction at code, whose second byte is an opcode and third its operands, has 32 bits
// behind them and not 8.
func wide(code []byte) bool { return code[1] == 0x81 || code[1] == 0x8d && code[2] == 0xa5 }

// immediate is the number at code[at:], of the width that the instruction has; 0 where the code is cut.
func immediate(code []byte, at int) int64 {
	switch {
	case len(code) <= at:
		return 0
	case !wide(code):
		return int64(int8(code[at]))
	case len(code) < at+4:
		return 0
	}
	return int64(int32(order.Uint32(code[at:])))
}

// lengthOf is the bytes of such an instruction.
func lengthOf(code []byte) int {
	if wide(code) {
		return min(7, len(code))
	}
	return min(4, len(code))
}

// pop reads "pop register".
func pop(code []byte) (register uint64, n int, ok bool) {
	switch {
	case len(code) > 0 && code[0]&0xf8 == 0x58:
		return dwarf[code[0]&7], 1, true
	case len(code) > 1 && code[0] == 0x41 && code[1]&0xf8 == 0x58:
		return dwarf[8+code[1]&7], 2, true
	}
	return 0, 0, false
}

// leaves reports whether the instruction at code leaves the function of size bytes, in which it is at: ret, or the jump
// of a tail call. Where nothing was undone before it only a jump counts that a compiler writes for nothing else.
func leaves(code []byte, at, size uint32, undone bool) bool {
	switch {
	case begins(code, 0xc3), begins(code, 0xf3, 0xc3), begins(code, 0xc2):
		return true
	case len(code) >= 5 && code[0] == 0xe9:
		to := int64(at) + 5 + int64(int32(order.Uint32(code[1:])))
		return to < 0 || to >= int64(size)
	case len(code) >= 2 && code[0] == 0xeb:
		to := int64(at) + 2 + int64(int8(code[1]))
		return to < 0 || to >= int64(size)
	case begins(code, 0xff, 0x25), begins(code, 0x48, 0xff, 0x25): // jmp [rip+n]
		return true
	}
	// jmp register, with a prefix that says to the unwinder of Windows that it ends an epilogue; a switch has none.
	if len(code) > 2 && code[0]&0xf8 == 0x48 && code[1] == 0xff && code[2]&0x38 == 0x20 {
		return true
	}
	return undone && len(code) > 1 && code[0] == 0xff && code[1]&0x38 == 0x20
}
