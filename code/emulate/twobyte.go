package emulate

import (
	"math/bits"

	"github.com/fpstack/fpstack/code/x86"
)

// twoByte runs the instructions behind 0F that are none of vectors.
func (m *Machine) twoByte(in *x86.Instruction) bool {
	op := in.Op
	switch {
	case op == 0x05, op == 0x34:
		return m.fail(ErrSystem)
	case op == 0x0b:
		return m.fail(ErrTrap)
	case op == 0x0d, op == 0x18: // hints
		return in.IsMem
	case op > 0x18 && op <= 0x1f: // endbr, nop
		return true
	case op >= 0x40 && op <= 0x4f:
		n := size(in)
		v := m.rm(in, n)
		if !m.Flags.holds(op) {
			v = m.reg(in, n)
		}
		m.setReg(in, n, v)
	case op >= 0x80 && op <= 0x8f:
		if m.Flags.holds(op) {
			m.next += uint64(in.Imm)
		}
	case op >= 0x90 && op <= 0x9f:
		m.setRM(in, 1, bit(m.Flags.holds(op)))
	case op == 0xae:
		return !in.IsMem && in.Reg&7 >= 5 && in.Repeat == 0 // fences
	case op == 0xaf:
		m.setReg(in, size(in), m.multiply(m.reg(in, size(in)), m.rm(in, size(in)), size(in)))
	case op == 0xb6, op == 0xbe:
		m.widen(in, 1, op == 0xbe)
	case op == 0xb7, op == 0xbf:
		m.widen(in, 2, op == 0xbf)
	case op >= 0xc8 && op <= 0xcf:
		if in.Small {
			return false
		}
		v := bits.ReverseBytes64(m.R[in.RM]) >> (64 - 8*size(in))
		m.setRegister(in, in.RM, size(in), v)
	default:
		return m.bits(in) || m.atomic(in)
	}
	return true
}

func (m *Machine) widen(in *x86.Instruction, from int, signed bool) {
	v := m.rm(in, from)
	if signed {
		v = extend(v, from)
	}
	m.setReg(in, size(in), v)
}

// bits runs instructions for single bits, and shifts of two words.
func (m *Machine) bits(in *x86.Instruction) bool {
	n := size(in)
	switch in.Op {
	case 0xa3, 0xab, 0xb3, 0xbb:
		m.testBit(in, in.Op>>3&3, int64(extend(m.reg(in, n), n)), true)
	case 0xba:
		if in.Reg&7 < 4 {
			return false
		}
		m.testBit(in, in.Reg&3, in.Imm, false)
	case 0xa4, 0xac, 0xa5, 0xad:
		count := uint64(in.Imm)
		if in.Op&1 != 0 {
			count = m.R[RCX]
		}
		if n == 2 {
			return false
		}
		m.shiftTwo(in, count)
	case 0xb8:
		if in.Repeat != 0xf3 {
			return false
		}
		v := m.rm(in, n)
		m.Flags = Flags{Zero: v == 0}
		m.setReg(in, n, uint64(bits.OnesCount64(v)))
	case 0xbc, 0xbd:
		m.scan(in, n)
	default:
		return false
	}
	return true
}

// testBit runs bt, bts, btr, btc. A number in a register reaches beyond the operand in memory.
func (m *Machine) testBit(in *x86.Instruction, what byte, number int64, far bool) {
	n := size(in)
	width := int64(8 * n)
	at := uint64(0)
	if in.IsMem {
		at = m.at(in)
		if far {
			at += uint64((number &^ (width - 1)) / 8)
		}
	}
	var v uint64
	if in.IsMem {
		v = m.load(at, n)
	} else {
		v = m.rm(in, n)
	}
	one := uint64(1) << (number & (width - 1))
	m.Flags.Carry = v&one != 0
	switch what {
	case 0:
		return
	case 1:
		v |= one
	case 2:
		v &^= one
	case 3:
		v ^= one
	}
	if in.IsMem {
		m.store(at, n, v)
	} else {
		m.setRM(in, n, v)
	}
}

// shiftTwo runs shld and shrd of 4 and 8 bytes.
func (m *Machine) shiftTwo(in *x86.Instruction, count uint64) {
	n := size(in)
	width, v, from := uint64(8*n), m.rm(in, n), m.reg(in, n)
	if count &= width - 1; count == 0 {
		m.setRM(in, n, v)
		return
	}
	sign := v >> (width - 1)
	if in.Op < 0xa8 {
		m.Flags.Carry = v>>(width-count)&1 != 0
		v = cut(v<<count|from>>(width-count), n)
	} else {
		m.Flags.Carry = v>>(count-1)&1 != 0
		v = cut(v>>count|from<<(width-count), n)
	}
	m.Flags.result(v, n)
	m.Flags.Overflow = v>>(width-1) != sign
	m.setRM(in, n, v)
}

// scan runs bsf, bsr, tzcnt and lzcnt: an older processor runs the latter as the former, which are the same for what
// is not 0.
func (m *Machine) scan(in *x86.Instruction, n int) {
	v := m.rm(in, n)
	counts := in.Repeat == 0xf3
	if v == 0 {
		if counts {
			m.setReg(in, n, uint64(8*n))
		}
		m.Flags.Zero, m.Flags.Carry = !counts, counts
		return
	}
	out := uint64(bits.TrailingZeros64(v))
	if in.Op == 0xbd {
		out = uint64(63 - bits.LeadingZeros64(v))
		if counts {
			out = uint64(8*n-1) - out
		}
	}
	m.Flags.Zero, m.Flags.Carry = counts && out == 0, false
	m.setReg(in, n, out)
}

// atomic runs cmpxchg, xadd and cmpxchg16b: nobody else is there.
func (m *Machine) atomic(in *x86.Instruction) bool {
	n := sized(in)
	switch in.Op {
	case 0xb0, 0xb1:
		have := m.rm(in, n)
		m.Flags.sub(m.R[RAX], have, 0, n)
		if m.Flags.Zero {
			m.setRM(in, n, m.reg(in, n))
		} else {
			m.setRegister(in, RAX, n, have)
		}
	case 0xc0, 0xc1:
		have, more := m.rm(in, n), m.reg(in, n)
		sum := m.Flags.add(have, more, 0, n)
		if in.IsMem { // whose address may have that register
			m.setRM(in, n, sum)
		}
		m.setReg(in, n, have)
		if !in.IsMem {
			m.setRM(in, n, sum)
		}
	case 0xc7:
		if in.Reg&7 != 1 || !in.IsMem || !in.Wide {
			return false
		}
		at := m.at(in)
		low, high := m.load(at, 8), m.load(at+8, 8)
		if m.Flags.Zero = low == m.R[RAX] && high == m.R[RDX]; m.Flags.Zero {
			m.store(at, 8, m.R[RBX])
			m.store(at+8, 8, m.R[RCX])
		} else {
			m.R[RAX], m.R[RDX] = low, high
		}
	default:
		return false
	}
	return true
}
