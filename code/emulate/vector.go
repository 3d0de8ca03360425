package emulate

import (
	"encoding/binary"
	"math/bits"

	"github.com/fpstack/fpstack/code/x86"
)

// prefix tells instructions of one opcode apart: 0, 66, F3, F2.
func prefix(in *x86.Instruction) byte {
	switch {
	case in.Repeat != 0:
		return in.Repeat
	case in.Small:
		return 0x66
	}
	return 0
}

// vector runs moves and operations of integers in XMM registers.
func (m *Machine) vector(in *x86.Instruction) bool {
	return m.vectorMove(in) || m.vectorHalf(in) || m.vectorWhole(in) || m.vectorShift(in)
}

// bytes16 and of16 are a vector as bytes.
func bytes16(v Vector) (b [16]byte) {
	binary.LittleEndian.PutUint64(b[:], v[0])
	binary.LittleEndian.PutUint64(b[8:], v[1])
	return b
}

func of16(b [16]byte) Vector {
	return Vector{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// source is the operand that is a register or memory, of n bytes; what it has not is 0.
func (m *Machine) source(in *x86.Instruction, n int) Vector {
	var b [16]byte
	if in.IsMem {
		m.Load(b[:n], m.at(in))
		return of16(b)
	}
	v := bytes16(m.X[in.RM])
	copy(b[:n], v[:])
	return of16(b)
}

// moved is how many bytes an instruction moves that moves all or the low part of a vector, and whether to RM; 0 for
// others.
func moved(prefix, op byte) (n int, store bool) {
	switch op {
	case 0x10, 0x11:
		switch prefix {
		case 0xf3:
			return 4, op == 0x11
		case 0xf2:
			return 8, op == 0x11
		}
		return 16, op == 0x11
	case 0x28, 0x29, 0x2b:
		if prefix == 0 || prefix == 0x66 {
			return 16, op != 0x28
		}
	case 0x6f, 0x7f:
		if prefix == 0x66 || prefix == 0xf3 {
			return 16, op == 0x7f
		}
	case 0x7e:
		if prefix == 0xf3 {
			return 8, false
		}
	case 0xd6, 0xe7:
		if prefix == 0x66 {
			return 8 << (op & 1), true
		}
	}
	return 0, false
}

func (m *Machine) vectorMove(in *x86.Instruction) bool {
	p := prefix(in)
	if past := in.Op == 0x2b || in.Op == 0xe7; past && !in.IsMem { // past the caches
		return false
	}
	if n, store := moved(p, in.Op); n > 0 {
		return m.move(in, n, store)
	}
	n := 4
	if in.Wide {
		n = 8
	}
	switch {
	case in.Op == 0x6e && p == 0x66: // movd, movq
		v := m.rm(in, n)
		if m.fault == nil {
			m.X[in.Reg] = Vector{v}
		}
	case in.Op == 0x7e && p == 0x66:
		m.setRM(in, n, m.X[in.Reg][0])
	case in.Op == 0xc3 && p == 0 && in.IsMem: // movnti
		m.setRM(in, n, m.reg(in, n))
	default:
		return false
	}
	return true
}

func (m *Machine) move(in *x86.Instruction, n int, store bool) bool {
	if store && in.IsMem {
		b := bytes16(m.X[in.Reg])
		m.Store(b[:n], m.at(in))
		return true
	}
	v := m.source(in, n)
	to := in.Reg
	if store {
		b, from := [16]byte{}, bytes16(m.X[in.Reg])
		copy(b[:n], from[:])
		v, to = of16(b), in.RM
	}
	if m.fault != nil {
		return true
	}
	if scalar := in.Op == 0x10 || in.Op == 0x11; scalar && n < 16 && !in.IsMem { // the rest stays
		b, have := bytes16(v), bytes16(m.X[to])
		copy(have[:n], b[:n])
		v = of16(have)
	}
	m.X[to] = v
	return true
}

// vectorHalf runs moves of one half, and those that take bits of a vector.
func (m *Machine) vectorHalf(in *x86.Instruction) bool {
	p := prefix(in)
	to := &m.X[in.Reg]
	switch {
	case p != 0 && p != 0x66:
		return false
	case in.Op == 0x12 && in.IsMem:
		to[0] = m.load(m.at(in), 8)
	case in.Op == 0x12 && p == 0: // movhlps
		to[0] = m.X[in.RM][1]
	case in.Op == 0x16 && in.IsMem:
		to[1] = m.load(m.at(in), 8)
	case in.Op == 0x16 && p == 0: // movlhps
		to[1] = m.X[in.RM][0]
	case in.Op == 0x13 && in.IsMem:
		m.store(m.at(in), 8, to[0])
	case in.Op == 0x17 && in.IsMem:
		m.store(m.at(in), 8, to[1])
	case in.Op == 0xd7 && p == 0x66 && !in.IsMem: // pmovmskb
		m.R[in.Reg] = mask(m.X[in.RM], 1)
	case in.Op == 0x50 && !in.IsMem: // movmskps, movmskpd
		m.R[in.Reg] = mask(m.X[in.RM], 4<<bit(p != 0))
	case in.Op == 0xc5 && p == 0x66 && !in.IsMem: // pextrw
		b := bytes16(m.X[in.RM])
		m.R[in.Reg] = uint64(binary.LittleEndian.Uint16(b[in.Imm&7*2:]))
	case in.Op == 0xc4 && p == 0x66: // pinsrw
		b := bytes16(*to)
		binary.LittleEndian.PutUint16(b[in.Imm&7*2:], uint16(m.rm(in, 2)))
		*to = of16(b)
	default:
		return false
	}
	return true
}

// mask has the sign of each element of n bytes.
func mask(v Vector, n int) (out uint64) {
	b := bytes16(v)
	for i := n - 1; i < 16; i += n {
		out |= uint64(b[i]>>7) << (i / n)
	}
	return out
}

// each makes a vector of the elements of n bytes of two.
func each(a, b Vector, n int, f func(a, b uint64) uint64) Vector {
	x, y := bytes16(a), bytes16(b)
	var out [16]byte
	var word [8]byte
	for i := 0; i < 16; i += n {
		var p, q [8]byte
		copy(p[:], x[i:i+n])
		copy(q[:], y[i:i+n])
		binary.LittleEndian.PutUint64(word[:], f(binary.LittleEndian.Uint64(p[:]), binary.LittleEndian.Uint64(q[:])))
		copy(out[i:i+n], word[:])
	}
	return of16(out)
}

func all(is bool) uint64 { return -bit(is) }

// vectorWhole runs operations of two vectors.
func (m *Machine) vectorWhole(in *x86.Instruction) bool {
	p := prefix(in)
	floats := in.Op >= 0x54 && in.Op <= 0x57 || in.Op == 0xc6 || in.Op == 0x14 || in.Op == 0x15
	if p != 0x66 && !(p == 0 && floats) && in.Op != 0x70 {
		return false
	}
	a, b := m.X[in.Reg], m.source(in, 16)
	out, known := logic(in.Op, a, b)
	if !known {
		out, known = elements(in.Op, a, b)
	}
	if !known {
		out, known = unpack(in.Op, p, a, b)
	}
	if !known {
		out, known = shuffle(in.Op, p, a, b, byte(in.Imm))
	}
	if known && m.fault == nil {
		m.X[in.Reg] = out
	}
	return known
}

func logic(op byte, a, b Vector) (Vector, bool) {
	switch op {
	case 0x54, 0xdb:
		return Vector{a[0] & b[0], a[1] & b[1]}, true
	case 0x55, 0xdf:
		return Vector{^a[0] & b[0], ^a[1] & b[1]}, true
	case 0x56, 0xeb:
		return Vector{a[0] | b[0], a[1] | b[1]}, true
	case 0x57, 0xef:
		return Vector{a[0] ^ b[0], a[1] ^ b[1]}, true
	}
	return a, false
}

func elements(op byte, a, b Vector) (Vector, bool) {
	switch op {
	case 0x74, 0x75, 0x76: // pcmpeq
		return each(a, b, 1<<(op-0x74), func(a, b uint64) uint64 { return all(a == b) }), true
	case 0x64, 0x65, 0x66: // pcmpgt
		n := 1 << (op - 0x64)
		return each(a, b, n, func(a, b uint64) uint64 { return all(int64(extend(a, n)) > int64(extend(b, n))) }), true
	case 0xfc, 0xfd, 0xfe: // padd
		return each(a, b, 1<<(op-0xfc), func(a, b uint64) uint64 { return a + b }), true
	case 0xd4:
		return Vector{a[0] + b[0], a[1] + b[1]}, true
	case 0xf8, 0xf9, 0xfa, 0xfb: // psub
		return each(a, b, 1<<(op-0xf8), func(a, b uint64) uint64 { return a - b }), true
	case 0xda: // pminub
		return each(a, b, 1, func(a, b uint64) uint64 { return min(a, b) }), true
	case 0xde: // pmaxub
		return each(a, b, 1, func(a, b uint64) uint64 { return max(a, b) }), true
	case 0xf4: // pmuludq
		return Vector{cut(a[0], 4) * cut(b[0], 4), cut(a[1], 4) * cut(b[1], 4)}, true
	}
	return a, false
}

// unpack puts elements of the low or the high halves beside each other.
func unpack(op, prefix byte, a, b Vector) (Vector, bool) {
	var n, half int
	switch op {
	case 0x60, 0x61, 0x62:
		n = 1 << (op - 0x60)
	case 0x68, 0x69, 0x6a:
		n, half = 1<<(op-0x68), 8
	case 0x6c:
		n = 8
	case 0x6d:
		n, half = 8, 8
	case 0x14, 0x15:
		if n = 4; prefix == 0x66 {
			n = 8
		}
		half = int(op-0x14) * 8
	default:
		return a, false
	}
	x, y := bytes16(a), bytes16(b)
	var out [16]byte
	for i := 0; i < 8; i += n {
		copy(out[2*i:2*i+n], x[half+i:])
		copy(out[2*i+n:2*i+2*n], y[half+i:])
	}
	return of16(out), true
}

// shuffle takes elements in the order that by has.
func shuffle(op, prefix byte, a, b Vector, by byte) (Vector, bool) {
	x, y := bytes16(a), bytes16(b)
	var out [16]byte
	switch {
	case op == 0x70 && prefix == 0x66: // pshufd
		for i := range 4 {
			copy(out[4*i:4*i+4], y[by>>(2*i)&3*4:])
		}
	case op == 0x70 && (prefix == 0xf2 || prefix == 0xf3): // pshuflw, pshufhw
		out = y
		half := 0
		if prefix == 0xf3 {
			half = 8
		}
		for i := range 4 {
			copy(out[half+2*i:half+2*i+2], y[half+int(by>>(2*i)&3)*2:])
		}
	case op == 0xc6 && prefix == 0: // shufps
		for i := range 4 {
			from := &x
			if i >= 2 {
				from = &y
			}
			copy(out[4*i:4*i+4], from[by>>(2*i)&3*4:])
		}
	case op == 0xc6: // shufpd
		return Vector{a[by&1], b[by>>1&1]}, true
	default:
		return a, false
	}
	return of16(out), true
}

// vectorShift runs shifts by a number.
func (m *Machine) vectorShift(in *x86.Instruction) bool {
	if prefix(in) != 0x66 || in.Op < 0x71 || in.Op > 0x73 || in.IsMem {
		return false
	}
	to, count, number := &m.X[in.RM], uint64(byte(in.Imm)), in.Reg&7
	if in.Op == 0x73 && number&1 == 1 { // of the whole, by bytes
		*to = shiftWhole(*to, min(count, 16)*8, number == 3)
		return number == 3 || number == 7
	}
	n := 2 << (in.Op - 0x71)
	switch number {
	case 2:
		*to = each(*to, *to, n, func(a, _ uint64) uint64 { return a >> count })
	case 4:
		if n == 8 {
			return false
		}
		count = min(count, 63)
		*to = each(*to, *to, n, func(a, _ uint64) uint64 { return uint64(int64(extend(a, n)) >> count) })
	case 6:
		*to = each(*to, *to, n, func(a, _ uint64) uint64 { return a << count })
	default:
		return false
	}
	return true
}

func shiftWhole(v Vector, by uint64, right bool) Vector {
	if right {
		v = Vector{bits.ReverseBytes64(v[1]), bits.ReverseBytes64(v[0])}
	}
	switch {
	case by >= 128:
		v = Vector{}
	case by >= 64:
		v = Vector{0, v[0] << (by - 64)}
	case by > 0:
		v = Vector{v[0] << by, v[1]<<by | v[0]>>(64-by)}
	}
	if right {
		v = Vector{bits.ReverseBytes64(v[1]), bits.ReverseBytes64(v[0])}
	}
	return v
}
