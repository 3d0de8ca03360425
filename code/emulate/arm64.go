package emulate

import (
	"encoding/binary"
	"math/bits"

	"github.com/fpstack/fpstack/code/arm64"
)

// ARM64 is as the AAPCS64 has it, 6.1.1. Register 31 of R is the stack pointer.
var ARM64 = &ISA{step: (*Machine).stepARM64, arguments: []int{0, 1, 2, 3}, result: 0, sp: stackPointer, link: 30}

// stackPointer is the number of register 31 where that is the stack pointer.
const stackPointer = 31

// word is an instruction of arm64.
type word struct{ arm64.Inst }

func (w word) bit(i uint) bool { return w.Field(i, 1) != 0 }

// displacement is a number with a sign of n bits from low on.
func (w word) displacement(low, n uint) uint64 { return uint64(w.Signed(low, n)) }

func (w word) rd() int { return int(w.Field(0, 5)) }
func (w word) rn() int { return int(w.Field(5, 5)) }
func (w word) rm() int { return int(w.Field(16, 5)) }
func (w word) ra() int { return int(w.Field(10, 5)) }

// size is that of the operands, by bit 31: 8 or 4 bytes.
func (w word) size() int { return 4 << w.Field(31, 1) }

// stepARM64 implements ISA.
//
// Source: Arm Architecture Reference Manual for A-profile, C4.1.
func (m *Machine) stepARM64() (known bool, code []byte) {
	code = m.Code(m.PC)
	if len(code) < arm64.Size || m.PC%arm64.Size != 0 {
		return false, nil
	}
	code = code[:arm64.Size]
	w := word{arm64.Inst(binary.LittleEndian.Uint32(code))}
	m.next = m.PC + arm64.Size
	switch w.Field(25, 4) {
	case 0x0:
		if known = w.Is(0xffff0000, 0); known { // udf
			m.fail(ErrTrap)
		}
	case 0x8, 0x9:
		known = m.immediate(w)
	case 0xa, 0xb:
		known = m.branch(w)
	case 0x4, 0x6, 0xc, 0xe:
		known = m.memory(w)
	case 0x5, 0xd:
		known = m.registers(w)
	case 0x7, 0xf:
		known = m.simd(w)
	}
	return known, code
}

// get is register n as an operand of size bytes, in which 31 is 0.
func (m *Machine) get(n, size int) uint64 {
	if n == stackPointer {
		return 0
	}
	return cut(m.R[n], size)
}

// set sets it. What is above size bytes becomes 0.
func (m *Machine) set(n, size int, v uint64) {
	if n != stackPointer {
		m.R[n] = cut(v, size)
	}
}

// setEither sets a register in which 31 is the stack pointer.
func (m *Machine) setEither(n, size int, v uint64) { m.R[n] = cut(v, size) }

// sum is a + b + carry with the flags of arm64: where it subtracts, b inverted and a carry of 1, Carry says that there
// was no borrow.
func (m *Machine) sum(a, b, carry uint64, size int, flags bool) uint64 {
	f := Flags{}
	v := f.add(a, b, carry, size)
	if flags {
		f.Parity = false
		m.Flags = f
	}
	return v
}

// invert is ^v where it is to be subtracted, with the carry that goes with it.
func invert(v uint64, subtract bool) (out, carry uint64) {
	if subtract {
		return ^v, 1
	}
	return v, 0
}

// logicFlags are those of the result of ands and bics.
func (m *Machine) logicFlags(v uint64, size int) {
	m.Flags = Flags{Zero: cut(v, size) == 0, Sign: cut(v, size)>>(8*size-1) != 0}
}

// condition reports whether a condition holds: C1.2.4.
func (m *Machine) condition(number uint32) bool {
	f, is := &m.Flags, true
	switch number >> 1 {
	case 0:
		is = f.Zero
	case 1:
		is = f.Carry
	case 2:
		is = f.Sign
	case 3:
		is = f.Overflow
	case 4:
		is = f.Carry && !f.Zero
	case 5:
		is = f.Sign == f.Overflow
	case 6:
		is = f.Sign == f.Overflow && !f.Zero
	case 7:
		return true
	}
	return is == (number&1 == 0)
}

// immediate runs data processing with an immediate: C4.1.92.
func (m *Machine) immediate(w word) bool {
	size := w.size()
	switch w.Field(23, 3) {
	case 0, 1: // adr, adrp
		offset := w.displacement(5, 19)<<2 | uint64(w.Field(29, 2))
		if w.bit(31) {
			m.set(w.rd(), 8, m.PC&^0xfff+offset<<12)
		} else {
			m.set(w.rd(), 8, m.PC+offset)
		}
		return true
	case 2: // add, sub
		v := uint64(w.Field(10, 12)) << (12 * w.Field(22, 1))
		v, carry := invert(v, w.bit(30))
		v = m.sum(m.R[w.rn()], v, carry, size, w.bit(29))
		if w.bit(29) {
			m.set(w.rd(), size, v)
		} else {
			m.setEither(w.rd(), size, v)
		}
		return true
	case 4:
		v, ok := bitmask(w.Field(22, 1), w.Field(10, 6), w.Field(16, 6), size)
		if !ok {
			return false
		}
		v = logical(w.Field(29, 2), m.get(w.rn(), size), v)
		if w.Field(29, 2) == 3 {
			m.logicFlags(v, size)
			m.set(w.rd(), size, v)
		} else {
			m.setEither(w.rd(), size, v)
		}
		return true
	case 5:
		return m.moveWide(w, size)
	case 6:
		return m.bitfield(w, size)
	case 7: // extr
		shift := w.Field(10, 6)
		if !w.Is(0x60200000, 0) || w.bit(22) != (size == 8) || int(shift) >= 8*size {
			return false
		}
		high, low := m.get(w.rn(), size), m.get(w.rm(), size)
		m.set(w.rd(), size, low>>shift|high<<(uint32(8*size)-shift))
		return true
	}
	return false
}

// logical is and, orr, eor, and ands.
func logical(number uint32, a, b uint64) uint64 {
	switch number {
	case 1:
		return a | b
	case 2:
		return a ^ b
	}
	return a & b
}

// bitmask is the immediate of a logical instruction: DecodeBitMasks in the manual's J1.1.3.
func bitmask(n, imms, immr uint32, size int) (uint64, bool) {
	length := bits.Len32(n<<6|^imms&0x3f) - 1
	if length < 1 || size == 4 && n != 0 {
		return 0, false
	}
	width := uint32(1) << length
	s, r := imms&(width-1), immr&(width-1)
	if s == width-1 {
		return 0, false
	}
	v := uint64(1)<<(s+1) - 1
	if r > 0 {
		v = v>>r | v<<(width-r)
		if width < 64 {
			v &= 1<<width - 1
		}
	}
	for ; width < 64; width *= 2 {
		v |= v << width
	}
	return cut(v, size), true
}

func (m *Machine) moveWide(w word, size int) bool {
	shift := 16 * w.Field(21, 2)
	if int(shift) >= 8*size {
		return false
	}
	v := uint64(w.Field(5, 16)) << shift
	switch w.Field(29, 2) {
	case 0:
		v = ^v
	case 2:
	case 3:
		v |= m.get(w.rd(), size) &^ (0xffff << shift)
	default:
		return false
	}
	m.set(w.rd(), size, v)
	return true
}

// bitfield runs sbfm, bfm and ubfm, which are also shifts and extensions.
func (m *Machine) bitfield(w word, size int) bool {
	r, s, width := w.Field(16, 6), w.Field(10, 6), uint32(8*size)
	if w.bit(22) != (size == 8) || r >= width || s >= width || w.Field(29, 2) == 3 {
		return false
	}
	from, to, n := r, uint32(0), s-r+1
	if s < r {
		from, to, n = 0, width-r, s+1
	}
	mask := ^uint64(0)
	if n < 64 {
		mask = 1<<n - 1
	}
	v := m.get(w.rn(), size) >> from & mask
	switch w.Field(29, 2) {
	case 0: // signed
		v = uint64(int64(v<<(64-n))>>(64-n)) << to
	case 1: // what is around stays
		v = v<<to | m.get(w.rd(), size)&^(mask<<to)
	case 2:
		v <<= to
	}
	m.set(w.rd(), size, v)
	return true
}

// branch runs branches, hints, barriers, and reads of the thread pointer: C4.1.93.
func (m *Machine) branch(w word) bool {
	to := func(low, n uint) uint64 { return m.PC + w.displacement(low, n)<<2 }
	switch {
	case w.Is(0x7c000000, 0x14000000): // b, bl
		if w.bit(31) {
			m.R[30] = m.next
			m.enter(to(0, 26), 0)
		} else {
			m.next = to(0, 26)
		}
	case w.Is(0xff000010, 0x54000000): // b.cond
		if m.condition(w.Field(0, 4)) {
			m.next = to(5, 19)
		}
	case w.Is(0x7e000000, 0x34000000): // cbz, cbnz
		if (m.get(w.rd(), w.size()) == 0) != w.bit(24) {
			m.next = to(5, 19)
		}
	case w.Is(0x7e000000, 0x36000000): // tbz, tbnz
		if m.get(w.rd(), 8)>>(w.Field(31, 1)<<5|w.Field(19, 5))&1 == uint64(w.Field(24, 1)) {
			m.next = to(5, 14)
		}
	case w.Is(0xfe000000, 0xd6000000):
		return m.branchRegister(w)
	case w.Is(0xfffff01f, 0xd503201f): // hints: of pointer authentication, too, whose signatures there are none of
		if w.Is(0xffffffff, 0xd50320ff) { // xpaclri
			m.R[30] = unsigned(m.R[30])
		}
	case w.Is(0xfffff0ff, 0xd503309f), w.Is(0xfffff0ff, 0xd50330bf), w.Is(0xfffff0ff, 0xd50330df), // dsb, dmb, isb
		w.Is(0xfffff0ff, 0xd503305f): // clrex
		m.reserved = w.Field(5, 3) != 2 && m.reserved
	case w.Is(0xffffffe0, 0xd53bd040): // mrs tpidr_el0
		m.set(w.rd(), 8, m.TP)
	case w.Is(0xffe0001f, 0xd4000001):
		m.fail(ErrSystem)
	case w.Is(0xffe0001f, 0xd4200000): // brk
		m.fail(ErrTrap)
	default:
		return false
	}
	return true
}

// unsigned is an address of the lower half without a signature, and without a tag.
func unsigned(a uint64) uint64 { return a & (1<<48 - 1) }

// branchRegister runs br, blr and ret, those that authenticate, too.
func (m *Machine) branchRegister(w word) bool {
	n, kind := w.rn(), w.Field(21, 2)
	switch {
	case w.Is(0xff9ffc1f, 0xd61f0000): // br, blr, ret
	case w.Is(0xfffffbff, 0xd65f0bff): // retaa, retab
		n = 30
	case w.Is(0xff9ff800, 0xd61f0800), w.Is(0xfe9ff800, 0xd61f0800): // braa, blraa and so on
		if !w.bit(24) && w.rd() != 31 || kind > 1 {
			return false
		}
	default:
		return false
	}
	a := m.get(n, 8)
	switch kind {
	case 0:
		m.jumpTo(n, a)
	case 1:
		m.R[30] = m.next
		m.enter(a, m.slotOf(n))
	case 2:
		m.returned(a)
	default:
		return false
	}
	return true
}

// jumpTo goes where register n leads: to a place of the function at hand, or, where that was read from memory as it is,
// into another one in the place of a call, as code of a procedure linkage table does.
func (m *Machine) jumpTo(n int, a uint64) {
	if slot := m.slotOf(n); slot != 0 {
		m.enter(a, slot)
		return
	}
	m.next = a
}

// slotOf is the word that was read last into register n, if that still has it; 0 for none.
func (m *Machine) slotOf(n int) uint64 {
	if l := &m.loads[n]; l.value == m.R[n] {
		return l.at
	}
	return 0
}
