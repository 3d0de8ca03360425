package emulate

import "math/bits"

// Flags are those that conditions are made of.
type Flags struct{ Carry, Parity, Zero, Sign, Overflow bool }

// result sets the flags that say what v is.
func (f *Flags) result(v uint64, size int) {
	v = cut(v, size)
	f.Zero, f.Sign, f.Parity = v == 0, v>>(8*size-1) != 0, bits.OnesCount8(uint8(v))%2 == 0
}

// add is a + b + carry, sub a - b - borrow, with their flags.
func (f *Flags) add(a, b, carry uint64, size int) uint64 {
	a, b = cut(a, size), cut(b, size)
	v, over := bits.Add64(a, b, carry)
	f.Carry = over != 0
	if size < 8 {
		f.Carry = v>>(8*size) != 0
	}
	f.Overflow = (a^v)&(b^v)>>(8*size-1)&1 != 0
	f.result(v, size)
	return cut(v, size)
}

func (f *Flags) sub(a, b, borrow uint64, size int) uint64 {
	a, b = cut(a, size), cut(b, size)
	v, under := bits.Sub64(a, b, borrow)
	f.Carry = under != 0
	f.Overflow = (a^b)&(a^v)>>(8*size-1)&1 != 0
	f.result(v, size)
	return cut(v, size)
}

// logic sets the flags of and, or, xor, test.
func (f *Flags) logic(v uint64, size int) uint64 {
	f.Carry, f.Overflow = false, false
	f.result(v, size)
	return cut(v, size)
}

// holds reports whether the condition holds that the low four bits of an opcode stand for: Intel SDM volume 2,
// appendix B.1.4.7.
func (f *Flags) holds(condition byte) bool {
	var is bool
	switch condition >> 1 & 7 {
	case 0:
		is = f.Overflow
	case 1:
		is = f.Carry
	case 2:
		is = f.Zero
	case 3:
		is = f.Carry || f.Zero
	case 4:
		is = f.Sign
	case 5:
		is = f.Parity
	case 6:
		is = f.Sign != f.Overflow
	case 7:
		is = f.Zero || f.Sign != f.Overflow
	}
	return is == (condition&1 == 0)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// arithmetic is one of the eight operations that opcodes have in the same order: add, or, adc, sbb, and, sub, xor, cmp.
func (f *Flags) arithmetic(number byte, a, b uint64, size int) (v uint64, written bool) {
	switch number & 7 {
	case 0:
		return f.add(a, b, 0, size), true
	case 1:
		return f.logic(a|b, size), true
	case 2:
		return f.add(a, b, bit(f.Carry), size), true
	case 3:
		return f.sub(a, b, bit(f.Carry), size), true
	case 4:
		return f.logic(a&b, size), true
	case 5:
		return f.sub(a, b, 0, size), true
	case 6:
		return f.logic(a^b, size), true
	}
	return f.sub(a, b, 0, size), false
}

// shift is one of the eight shifts: rol, ror, rcl, rcr, shl, shr, shl, sar. It is false for those through the carry.
func (f *Flags) shift(number byte, v, count uint64, size int) (uint64, bool) {
	width, most := uint64(8*size), uint64(31)
	if size == 8 {
		most = 63
	}
	v, count = cut(v, size), count&most
	number &= 7
	if number == 2 || number == 3 {
		return 0, false
	}
	if count == 0 {
		return v, true
	}
	top := func(v uint64) bool { return v>>(width-1)&1 != 0 }
	switch number {
	case 0:
		n := count % width
		v = cut(v<<n|v>>(width-n), size)
		f.Carry = v&1 != 0
		f.Overflow = top(v) != f.Carry
		return v, true
	case 1:
		n := count % width
		v = cut(v>>n|v<<(width-n), size)
		f.Carry = top(v)
		f.Overflow = top(v) != (v>>(width-2)&1 != 0)
		return v, true
	case 4, 6:
		f.Carry = count <= width && v>>(width-count)&1 != 0
		v = cut(v<<count, size)
		f.Overflow = top(v) != f.Carry
	case 5:
		f.Carry, f.Overflow = v>>(count-1)&1 != 0, top(v)
		v >>= count
	case 7:
		s := int64(extend(v, size))
		f.Carry, f.Overflow = s>>(count-1)&1 != 0, false
		v = cut(uint64(s>>count), size)
	}
	f.result(v, size)
	return v, true
}
