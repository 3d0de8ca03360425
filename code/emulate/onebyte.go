package emulate

import (
	"math/bits"

	"github.com/fpstack/fpstack/code/x86"
)

// oneByte runs instructions whose opcode is one byte.
func (m *Machine) oneByte(in *x86.Instruction) bool {
	op := in.Op
	if in.Small && isShortJump(op) { // processors differ
		return false
	}
	switch {
	case op < 0x40:
		return m.arithmetic(in)
	case op >= 0x50 && op <= 0x5f:
		return m.pushPop(in)
	case op >= 0x70 && op <= 0x7f:
		if m.Flags.holds(op) {
			m.next += uint64(in.Imm)
		}
		return true
	case op >= 0x80 && op <= 0x8f:
		return m.group80(in)
	case op >= 0x90 && op <= 0x99:
		return m.group90(in)
	case op >= 0xa4 && op <= 0xaf && op != 0xa8 && op != 0xa9:
		return m.strings(in)
	case op == 0xa8, op == 0xa9:
		m.Flags.logic(m.R[RAX]&uint64(in.Imm), sized(in))
	case op >= 0xb0 && op <= 0xb7:
		m.setRegister(in, in.RM, 1, uint64(in.Imm))
	case op >= 0xb8 && op <= 0xbf:
		m.setRegister(in, in.RM, size(in), uint64(in.Imm))
	default:
		return m.upper(in)
	}
	return true
}

// isShortJump reports whether an instruction jumps by a byte, returns, or leaves.
func isShortJump(op byte) bool {
	return op >= 0x70 && op <= 0x7f || op == 0xeb || op == 0xc2 || op == 0xc3 || op == 0xc9
}

// upper runs those from C0 on, and what is left.
func (m *Machine) upper(in *x86.Instruction) bool {
	switch in.Op {
	case 0x63: // movsxd
		m.setReg(in, size(in), extend(m.rm(in, min(size(in), 4)), min(size(in), 4)))
	case 0x68, 0x6a:
		if in.Small {
			return false
		}
		m.push(uint64(in.Imm))
	case 0x69, 0x6b:
		m.setReg(in, size(in), m.multiply(m.rm(in, size(in)), uint64(in.Imm), size(in)))
	case 0xc0, 0xc1:
		return m.shift(in, uint64(in.Imm))
	case 0xd0, 0xd1:
		return m.shift(in, 1)
	case 0xd2, 0xd3:
		return m.shift(in, m.R[RCX])
	case 0xc6, 0xc7:
		if in.Reg&7 != 0 {
			return false
		}
		m.setRM(in, sized(in), uint64(in.Imm))
	case 0xc2, 0xc3:
		m.ret(uint64(uint16(in.Imm)))
	case 0xc9: // leave
		m.R[RSP] = m.R[RBP]
		m.R[RBP] = m.pop()
	case 0xcc:
		return m.fail(ErrTrap)
	case 0xe8:
		m.call(m.next+uint64(in.Imm), 0)
	case 0xe9, 0xeb:
		m.next += uint64(in.Imm)
	case 0xf6, 0xf7:
		return m.groupF6(in)
	case 0xfe, 0xff:
		return m.groupFF(in)
	default:
		return false
	}
	return true
}

// arithmetic runs the eight operations in their six forms.
func (m *Machine) arithmetic(in *x86.Instruction) bool {
	number, form, n := in.Op>>3, in.Op&7, sized(in)
	if form > 5 {
		return false
	}
	switch form {
	case 0, 1:
		if v, written := m.Flags.arithmetic(number, m.rm(in, n), m.reg(in, n), n); written {
			m.setRM(in, n, v)
		}
	case 2, 3:
		if v, written := m.Flags.arithmetic(number, m.reg(in, n), m.rm(in, n), n); written {
			m.setReg(in, n, v)
		}
	default:
		if v, written := m.Flags.arithmetic(number, m.R[RAX], uint64(in.Imm), n); written {
			m.setRegister(in, RAX, n, v)
		}
	}
	return true
}

func (m *Machine) pushPop(in *x86.Instruction) bool {
	if in.Small {
		return false
	}
	if in.Op < 0x58 {
		m.push(m.R[in.RM])
	} else if v := m.pop(); m.fault == nil {
		m.R[in.RM] = v
	}
	return true
}

func (m *Machine) group80(in *x86.Instruction) bool {
	n := sized(in)
	switch in.Op {
	case 0x80, 0x81, 0x83:
		if v, written := m.Flags.arithmetic(in.Reg, m.rm(in, n), uint64(in.Imm), n); written {
			m.setRM(in, n, v)
		}
	case 0x84, 0x85:
		m.Flags.logic(m.rm(in, n)&m.reg(in, n), n)
	case 0x86, 0x87:
		a, b := m.rm(in, n), m.reg(in, n)
		m.setRM(in, n, b)
		m.setReg(in, n, a)
	case 0x88, 0x89:
		m.setRM(in, n, m.reg(in, n))
	case 0x8a, 0x8b:
		m.setReg(in, n, m.rm(in, n))
	case 0x8d:
		m.setReg(in, size(in), m.address(in))
	case 0x8f:
		if in.Small {
			return false
		}
		v := m.pop()
		m.setRM(in, 8, v)
	default:
		return false
	}
	return true
}

func (m *Machine) group90(in *x86.Instruction) bool {
	n := size(in)
	switch in.Op {
	case 0x98: // cbw, cwde, cdqe
		m.setRegister(in, RAX, n, extend(m.R[RAX], n/2))
	case 0x99: // cwd, cdq, cqo
		sign := uint64(int64(extend(m.R[RAX], n)) >> 63)
		m.setRegister(in, RDX, n, sign)
	default:
		if in.Op == 0x90 && in.RM == RAX {
			return true // nop, pause
		}
		a, b := m.register(in, RAX, n), m.register(in, in.RM, n)
		m.setRegister(in, RAX, n, b)
		m.setRegister(in, in.RM, n, a)
	}
	return true
}

func (m *Machine) shift(in *x86.Instruction, count uint64) bool {
	n := sized(in)
	v, known := m.Flags.shift(in.Reg, m.rm(in, n), count, n)
	if known {
		m.setRM(in, n, v)
	}
	return known
}

// multiply is the low half of a product of signed integers, with its flags.
func (m *Machine) multiply(a, b uint64, size int) uint64 {
	a, b = extend(a, size), extend(b, size)
	high, low := signedProduct(a, b)
	v := cut(low, size)
	m.Flags.result(v, size)
	over := extend(v, size) != low || high != uint64(int64(low)>>63)
	m.Flags.Carry, m.Flags.Overflow = over, over
	return v
}

func signedProduct(a, b uint64) (high, low uint64) {
	high, low = bits.Mul64(a, b)
	if int64(a) < 0 {
		high -= b
	}
	if int64(b) < 0 {
		high -= a
	}
	return high, low
}

// groupF6 runs test, not, neg, mul, imul, div, idiv.
func (m *Machine) groupF6(in *x86.Instruction) bool {
	n := sized(in)
	v := m.rm(in, n)
	if m.fault != nil {
		return true
	}
	switch in.Reg & 7 {
	case 0, 1:
		m.Flags.logic(v&uint64(in.Imm), n)
	case 2:
		m.setRM(in, n, ^v)
	case 3:
		m.setRM(in, n, m.Flags.sub(0, v, 0, n))
	case 4:
		m.product(in, v, n, false)
	case 5:
		m.product(in, v, n, true)
	case 6:
		return m.divide(in, v, n)
	default:
		return m.divideSigned(in, v, n)
	}
	return true
}

// setPair sets what a product or a quotient with its remainder is in: rdx and rax, of bytes ah and al.
func (m *Machine) setPair(in *x86.Instruction, high, low uint64, size int) {
	if size == 1 {
		m.R[RAX] = m.R[RAX]&^0xffff | low&0xff | high&0xff<<8
		return
	}
	m.setRegister(in, RAX, size, low)
	m.setRegister(in, RDX, size, high)
}

func (m *Machine) product(in *x86.Instruction, v uint64, size int, signed bool) {
	a := cut(m.R[RAX], size)
	high, low := bits.Mul64(a, v)
	if signed {
		high, low = signedProduct(extend(a, size), extend(v, size))
	}
	if size < 8 {
		high = low >> (8 * size)
	}
	m.setPair(in, high, low, size)
	m.Flags.result(low, size)
	over := cut(high, size) != 0
	if signed {
		over = cut(high, size) != cut(uint64(int64(extend(low, size))>>63), size)
	}
	m.Flags.Carry, m.Flags.Overflow = over, over
}

// dividend is the number of twice size bytes that is divided.
func (m *Machine) dividend(size int) (high, low uint64) {
	if size == 1 {
		return m.R[RAX] >> 8 & 0xff, m.R[RAX] & 0xff
	}
	return cut(m.R[RDX], size), cut(m.R[RAX], size)
}

func (m *Machine) divide(in *x86.Instruction, v uint64, size int) bool {
	high, low := m.dividend(size)
	if v == 0 || high >= v {
		return m.fail(ErrDivide)
	}
	if size < 8 {
		high, low = 0, high<<(8*size)|low
	}
	quotient, rest := bits.Div64(high, low, v)
	m.setPair(in, rest, quotient, size)
	return true
}

// divideSigned divides what fits into a word: compilers extend the sign of one.
func (m *Machine) divideSigned(in *x86.Instruction, v uint64, size int) bool {
	high, low := m.dividend(size)
	number := int64(low)
	switch {
	case size < 8:
		number = int64(extend(high<<(8*size)|low, 2*size))
	case high != uint64(number>>63):
		return false
	}
	by := int64(extend(v, size))
	if by == 0 || by == -1 && number == -1<<63 {
		return m.fail(ErrDivide)
	}
	quotient := uint64(number / by)
	if extend(quotient, size) != quotient {
		return m.fail(ErrDivide)
	}
	m.setPair(in, uint64(number%by), quotient, size)
	return true
}

// groupFF runs inc, dec, calls and jumps by a word, and push.
func (m *Machine) groupFF(in *x86.Instruction) bool {
	n, number := sized(in), in.Reg&7
	if in.Op == 0xfe && number > 1 || number > 1 && in.Small {
		return false
	}
	switch number {
	case 0, 1:
		carry := m.Flags.Carry
		v := m.rm(in, n)
		if number == 0 {
			v = m.Flags.add(v, 1, 0, n)
		} else {
			v = m.Flags.sub(v, 1, 0, n)
		}
		m.Flags.Carry = carry
		m.setRM(in, n, v)
	case 2, 4:
		slot := uint64(0)
		if in.IsMem {
			slot = m.at(in)
		}
		to := m.rm(in, 8)
		if number == 2 {
			m.call(to, slot)
		} else {
			m.jump(to, slot)
		}
	case 6:
		m.push(m.rm(in, 8))
	default:
		return false
	}
	return true
}

// call enters the function at to, which a word at slot led to.
func (m *Machine) call(to, slot uint64) {
	if m.push(m.next); m.fault == nil {
		m.enter(to, slot)
	}
}

// jump goes to a place that a register or a word at slot holds: a jump in a table of a function, or to another one in
// the place of a call.
func (m *Machine) jump(to, slot uint64) {
	if m.fault != nil {
		return
	}
	if slot != 0 {
		m.enter(to, slot)
		return
	}
	m.next = to
}

// ret returns, and drops so many bytes of arguments.
func (m *Machine) ret(drop uint64) {
	to := m.pop()
	if m.fault != nil {
		return
	}
	m.R[RSP] += drop
	m.returned(to)
}
