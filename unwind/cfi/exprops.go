package cfi

import "errors"

// Operations of expressions. Source: DWARF 5, section 7.7.1.
const (
	dwAddr       = 0x03
	dwDeref      = 0x06
	dwConst1u    = 0x08
	dwConst1s    = 0x09
	dwConst2u    = 0x0a
	dwConst2s    = 0x0b
	dwConst4u    = 0x0c
	dwConst4s    = 0x0d
	dwConst8u    = 0x0e
	dwConst8s    = 0x0f
	dwConstu     = 0x10
	dwConsts     = 0x11
	dwDup        = 0x12
	dwDrop       = 0x13
	dwOver       = 0x14
	dwPick       = 0x15
	dwSwap       = 0x16
	dwRot        = 0x17
	dwAbs        = 0x19
	dwAnd        = 0x1a
	dwDiv        = 0x1b
	dwMinus      = 0x1c
	dwMod        = 0x1d
	dwMul        = 0x1e
	dwNeg        = 0x1f
	dwNot        = 0x20
	dwOr         = 0x21
	dwPlus       = 0x22
	dwPlusUconst = 0x23
	dwShl        = 0x24
	dwShr        = 0x25
	dwShra       = 0x26
	dwXor        = 0x27
	dwBra        = 0x28
	dwEq         = 0x29
	dwGe         = 0x2a
	dwGt         = 0x2b
	dwLe         = 0x2c
	dwLt         = 0x2d
	dwNe         = 0x2e
	dwSkip       = 0x2f
	dwLit0       = 0x30
	dwLit31      = 0x4f
	dwReg0       = 0x50
	dwReg31      = 0x6f
	dwBreg0      = 0x70
	dwBreg31     = 0x8f
	dwBregx      = 0x92
	dwDerefSize  = 0x94
	dwNop        = 0x96
)

// step executes one operation.
func (e *evaluation) step(op uint8) {
	c := &e.c
	switch {
	case op >= dwLit0 && op <= dwLit31:
		e.push(uint64(op - dwLit0))
		return
	case op >= dwReg0 && op <= dwReg31: // names a place, no value; unwinders take it for breg with offset 0
		e.register(uint64(op-dwReg0), 0)
		return
	case op >= dwBreg0 && op <= dwBreg31:
		e.register(uint64(op-dwBreg0), c.sleb())
		return
	case op >= dwAnd && op <= dwXor && op != dwNeg && op != dwNot && op != dwPlusUconst,
		op >= dwEq && op <= dwNe:
		e.binary(op)
		return
	}
	switch op {
	case dwNop:
	case dwBregx:
		n := c.uleb()
		e.register(n, c.sleb())
	case dwDeref:
		e.load(e.word)
	case dwDerefSize:
		e.load(int(c.u8()))
	case dwAbs:
		if v := e.signed(e.pop()); v < 0 {
			e.push(uint64(-v))
		} else {
			e.push(uint64(v))
		}
	case dwNeg:
		e.push(-e.pop())
	case dwNot:
		e.push(^e.pop())
	case dwPlusUconst:
		e.push(e.pop() + c.uleb())
	case dwSkip:
		e.jump(true)
	case dwBra:
		e.jump(e.pop() != 0)
	default:
		e.constant(op)
	}
}

// constant executes an operation that pushes its operand, or moves values on the stack.
func (e *evaluation) constant(op uint8) {
	c := &e.c
	switch op {
	case dwAddr:
		e.push(c.unsigned(e.word))
	case dwConst1u, dwConst2u, dwConst4u, dwConst8u:
		e.push(c.unsigned(1 << ((op - dwConst1u) / 2)))
	case dwConst1s, dwConst2s, dwConst4s, dwConst8s:
		e.push(c.signed(1 << ((op - dwConst1s) / 2)))
	case dwConstu:
		e.push(c.uleb())
	case dwConsts:
		e.push(uint64(c.sleb()))
	case dwDup:
		e.pick(0)
	case dwOver:
		e.pick(1)
	case dwPick:
		e.pick(int(c.u8()))
	case dwDrop:
		e.pop()
	case dwSwap:
		top, second := e.pop(), e.pop()
		e.push(top)
		e.push(second)
	case dwRot:
		top, second, third := e.pop(), e.pop(), e.pop()
		e.push(top)
		e.push(third)
		e.push(second)
	default:
		c.fail(errNotStack)
	}
}

// binary replaces two values by one. The second is the one below the top.
func (e *evaluation) binary(op uint8) {
	top, second := e.pop(), e.pop()
	a, b := e.signed(second), e.signed(top)
	switch op {
	case dwAnd:
		e.push(second & top)
	case dwOr:
		e.push(second | top)
	case dwXor:
		e.push(second ^ top)
	case dwPlus:
		e.push(second + top)
	case dwMinus:
		e.push(second - top)
	case dwMul:
		e.push(second * top)
	case dwDiv, dwMod:
		e.divide(op, a, second, top)
	case dwShl:
		e.push(second << top)
	case dwShr:
		e.push(second >> top)
	case dwShra:
		e.push(uint64(a >> top))
	case dwEq:
		e.truth(a == b)
	case dwGe:
		e.truth(a >= b)
	case dwGt:
		e.truth(a > b)
	case dwLe:
		e.truth(a <= b)
	case dwLt:
		e.truth(a < b)
	case dwNe:
		e.truth(a != b)
	}
}

// divide: div is signed, mod is not.
func (e *evaluation) divide(op uint8, a int64, second, top uint64) {
	switch {
	case top == 0:
		e.c.fail(errors.New("division by zero"))
	case op == dwDiv:
		e.push(uint64(a / e.signed(top)))
	default:
		e.push(second % top)
	}
}

func (e *evaluation) truth(v bool) {
	if v {
		e.push(1)
	} else {
		e.push(0)
	}
}
