package v8

import (
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/view"
)

// epilogue executes the instructions by which V8's code returns: the frame is given up, the return address is popped,
// arguments are dropped, it is pushed again.
// Source: LeaveFrame and DropArguments in src/codegen/x64/macro-assembler-x64.cc, AssembleReturn in
// src/compiler/backend/x64/code-generator-x64.cc.
type epilogue struct {
	now    regs.Registers // as far as they are known
	v      *view.View
	pushed bool // top was pushed, and not popped again
	top    uint64
}

// maxEpilogue bounds the instructions of an epilogue.
const maxEpilogue = 16

// run executes code up to a return, and sets the registers to those behind it. It is false if there is something else.
func (e *epilogue) run(code []byte) bool {
	for range maxEpilogue {
		n, returned, ok := e.step(code)
		if !ok || returned {
			return ok
		}
		code = code[n:]
	}
	return false
}

// step executes one instruction of n bytes.
func (e *epilogue) step(b []byte) (n int, returned, ok bool) {
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	high := regs.Reg(0)
	prefix := 0
	if at(0) == 0x41 { // REX.B
		prefix, high = 1, 8
	}
	switch op := at(prefix); {
	case prefix == 0 && (op == 0xc3 || op == 0xc2):
		return 1, true, e.pop(regs.AMD64RIP)
	case op >= 0x58 && op <= 0x5f:
		return prefix + 1, false, e.pop(numbered[high+regs.Reg(op-0x58)])
	case op >= 0x50 && op <= 0x57 && len(b) > prefix:
		v, ok := e.now.Get(numbered[high+regs.Reg(op-0x50)])
		e.pushed, e.top = true, v
		return prefix + 1, false, ok
	case prefix == 0 && op == 0xc9: // leave
		return 1, false, e.leave() && e.pop(regs.AMD64RBP)
	case string(b[:min(3, len(b))]) == "\x48\x8b\xe5", string(b[:min(3, len(b))]) == "\x48\x89\xec": // mov rsp, rbp
		return 3, false, e.leave()
	case (at(0) == 0x48 || at(0) == 0x49) && at(1) == 0x83 && at(2) >= 0xf8: // cmp reg, imm8
		return 4, false, len(b) > 4
	case at(0)&0xfa == 0x48 && (at(1) == 0x39 || at(1) == 0x3b) && at(2) >= 0xc0: // cmp reg, reg
		return 3, false, len(b) > 3
	case op >= 0x70 && op <= 0x7f && prefix == 0: // jcc: as many arguments as are declared, or more: both ways return
		return 2, false, len(b) > 2
	case at(0) == 0x0f && at(1)&0xf0 == 0x80: // the same with a distance of 4 bytes, as Maglev has it
		return 6, false, len(b) > 6
	case at(0) == 0x48 && at(1) == 0x83 && at(2) == 0xc4: // add rsp, imm8
		return 4, false, e.drop(int64(int8(at(3)))) && len(b) > 3
	case (at(0) == 0x48 || at(0) == 0x4a) && at(1) == 0x8d && at(2)&0x38 == 0x20 && at(2)&7 == 4 && at(3)&7 == 4:
		n, ok := e.lea(b) // lea rsp, [rsp + …]
		return n, false, ok
	}
	return 0, false, false
}

// numbered are the registers as instructions count them.
var numbered = [16]regs.Reg{regs.AMD64RAX, regs.AMD64RCX, regs.AMD64RDX, regs.AMD64RBX, regs.AMD64RSP, regs.AMD64RBP,
	regs.AMD64RSI, regs.AMD64RDI, regs.AMD64R8, regs.AMD64R9, regs.AMD64R10, regs.AMD64R11, regs.AMD64R12,
	regs.AMD64R13, regs.AMD64R14, regs.AMD64R15}

// pop sets reg to the word on top of the stack.
func (e *epilogue) pop(reg regs.Reg) bool {
	if e.pushed {
		e.pushed = false
		e.now.Set(reg, e.top)
		return true
	}
	sp, ok := e.now.SP()
	if !ok {
		return false
	}
	v, err := e.v.Word(sp)
	if err != nil {
		return false
	}
	e.now.Set(reg, v)
	e.now.Set(regs.AMD64RSP, uint64(sp)+wordSize)
	return true
}

// leave gives up the frame.
func (e *epilogue) leave() bool {
	fp, ok := e.now.FP()
	sp, known := e.now.SP()
	if !ok || !known || e.pushed || fp < sp || fp-sp > maxFrame {
		return false
	}
	e.now.Set(regs.AMD64RSP, uint64(fp))
	return true
}

// drop leaves n bytes of the stack.
func (e *epilogue) drop(n int64) bool {
	sp, ok := e.now.SP()
	if !ok || e.pushed || n < 0 || n > maxFrame {
		return false
	}
	e.now.Set(regs.AMD64RSP, uint64(sp)+uint64(n))
	return true
}

// lea executes lea rsp, [rsp + index*scale + displacement], n bytes long.
func (e *epilogue) lea(b []byte) (n int, ok bool) {
	if len(b) < 8 {
		return 0, false
	}
	add, scale, n := int64(0), b[3]>>6, 4
	if index := b[3] >> 3 & 7; index != 4 || b[0] == 0x4a {
		if b[0] == 0x4a { // REX.X
			index += 8
		}
		v, known := e.now.Get(numbered[index])
		if !known || v > maxFrame {
			return 0, false
		}
		add = int64(v << scale)
	}
	switch b[2] >> 6 {
	case 1:
		add, n = add+int64(int8(b[4])), 5
	case 2:
		add, n = add+int64(int32(order.Uint32(b[4:]))), 8
	}
	return n, e.drop(add)
}
