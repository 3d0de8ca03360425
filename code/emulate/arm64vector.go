package emulate

import "math/bits"

// What is known of vectors is what compilers copy memory, count bits and compare bytes with: integers alone.

// lane is element i of size bytes.
func (v *Vector) lane(i, size int) uint64 {
	bit := i * size * 8
	return cut(v[bit/64]>>(bit%64), size)
}

func (v *Vector) setLane(i, size int, x uint64) {
	bit := i * size * 8
	mask := cut(^uint64(0), size) << (bit % 64)
	v[bit/64] = v[bit/64]&^mask | x<<(bit%64)&mask
}

// spread is a vector of width bytes with x in all of its elements.
func spread(x uint64, size, width int) (v Vector) {
	for i := range width / size {
		v.setLane(i, size, x)
	}
	return v
}

// lanes are the elements of a vector of width bytes that f makes, by their numbers.
func lanes(width, size int, f func(i int) uint64) (v Vector) {
	for i := range width / size {
		v.setLane(i, size, f(i))
	}
	return v
}

// simd runs instructions of vectors: C4.1.96.
func (m *Machine) simd(w word) bool {
	wide, size := 8<<w.Field(30, 1), 1<<w.Field(22, 2)
	switch {
	case w.Is(0x9ff80400, 0x0f000400):
		return m.modifiedImmediate(w, wide)
	case w.Is(0x9f800400, 0x0f000400):
		return m.shiftImmediate(w, wide)
	case w.Is(0xdf800400, 0x5f000400): // of one element of 8 bytes
		return w.bit(22) && m.shiftImmediate(w, 8)
	case w.Is(0x9fe08400, 0x0e000400):
		return m.copyElement(w, wide)
	case w.Is(0xffe0fc00, 0x5e000400): // an element alone
		size, i, ok := element(w.Field(16, 5))
		if ok {
			m.X[w.rd()] = Vector{m.X[w.rn()].lane(i, size)}
		}
		return ok
	case w.Is(0x9f200400, 0x0e200400):
		return (size < 8 || wide == 16) && m.threeSame(w, size, wide)
	case w.Is(0xdf200400, 0x5e200400):
		return size == 8 && m.threeSame(w, size, 8) && !w.Is(0xf800, 0x1800) && !w.Is(0xf800, 0xb800)
	case w.Is(0x9f3e0c00, 0x0e200800):
		return m.twoMisc(w, size, wide)
	case w.Is(0xdf3e0c00, 0x5e200800):
		number := w.Field(12, 5)
		return size == 8 && number >= 8 && number <= 11 && m.twoMisc(w, size, 8)
	case w.Is(0x9f3e0c00, 0x0e300800):
		return m.acrossLanes(w, size, wide)
	case w.Is(0xfffffc00, 0x5ef1b800): // addp of two
		v := m.X[w.rn()]
		m.X[w.rd()] = Vector{v[0] + v[1]}
		return true
	case w.Is(0xbfe08400, 0x2e000000): // ext
		i := int(w.Field(11, 4))
		if i >= wide {
			return false
		}
		a, b := m.X[w.rn()], m.X[w.rm()]
		m.X[w.rd()] = lanes(wide, 1, func(n int) uint64 {
			if n+i < wide {
				return a.lane(n+i, 1)
			}
			return b.lane(n+i-wide, 1)
		})
		return true
	case w.Is(0xbf208c00, 0x0e000800):
		return (size < 8 || wide == 16) && m.permute(w, size, wide)
	case w.Is(0xbfe0fc00, 0x0e000000): // tbl of one
		a, b := m.X[w.rn()], m.X[w.rm()]
		m.X[w.rd()] = lanes(wide, 1, func(n int) uint64 {
			if i := b.lane(n, 1); i < 16 {
				return a.lane(int(i), 1)
			}
			return 0
		})
		return true
	}
	return m.moveBetween(w)
}

// moveBetween runs fmov without a conversion: between registers, and of vectors.
func (m *Machine) moveBetween(w word) bool {
	d, n := w.rd(), w.rn()
	switch w.Inst &^ 0x3ff {
	case 0x1e260000:
		m.set(d, 4, m.X[n][0])
	case 0x9e660000:
		m.set(d, 8, m.X[n][0])
	case 0x9eae0000:
		m.set(d, 8, m.X[n][1])
	case 0x1e270000:
		m.X[d] = Vector{m.get(n, 4)}
	case 0x9e670000:
		m.X[d] = Vector{m.get(n, 8)}
	case 0x9eaf0000:
		m.X[d][1] = m.get(n, 8)
	case 0x1e204000:
		m.X[d] = Vector{cut(m.X[n][0], 4)}
	case 0x1e604000:
		m.X[d] = Vector{m.X[n][0]}
	default:
		return false
	}
	return true
}

// modifiedImmediate runs movi, mvni, and orr and bic of an immediate: AdvSIMDExpandImm.
func (m *Machine) modifiedImmediate(w word, wide int) bool {
	v, kind, invert := uint64(w.Field(16, 3)<<5|w.Field(5, 5)), w.Field(12, 4), w.bit(29)
	size := 4
	switch {
	case w.bit(11):
		return false
	case kind < 8:
		v <<= 8 * (kind >> 1)
	case kind < 12:
		size = 2
		v <<= 8 * (kind >> 1 & 1)
	case kind < 14:
		by := 8 << (kind & 1)
		v = v<<by | (1<<by - 1)
	case kind == 14 && !invert:
		size = 1
	case kind == 14: // each bit is a byte
		if wide == 8 && w.bit(30) {
			return false
		}
		size, invert = 8, false
		byBit := v
		v = 0
		for i := range 8 {
			v |= byBit >> i & 1 * 0xff << (8 * i)
		}
	default:
		return false // floating point
	}
	x := spread(v, size, wide)
	if kind < 12 && kind&1 != 0 { // orr, bic
		old := m.X[w.rd()]
		for i := range x {
			if invert {
				x[i] = old[i] &^ x[i]
			} else {
				x[i] |= old[i]
			}
		}
		if wide == 8 {
			x[1] = 0
		}
	} else if invert {
		x[0] = ^x[0]
		if wide == 16 {
			x[1] = ^x[1]
		}
	}
	m.X[w.rd()] = x
	return true
}

// element is the size and number that five bits of an instruction say.
func element(b uint32) (size, i int, ok bool) {
	if b&15 == 0 {
		return 0, 0, false
	}
	shift := bits.TrailingZeros32(b)
	return 1 << shift, int(b >> (shift + 1)), true
}

// copyElement runs dup, ins, umov and smov.
func (m *Machine) copyElement(w word, wide int) bool {
	size, i, ok := element(w.Field(16, 5))
	d, n, number := w.rd(), w.rn(), w.Field(11, 4)
	if !ok {
		return false
	}
	if w.bit(29) { // ins of an element
		if wide != 16 || number&(uint32(size)-1) != 0 {
			return false
		}
		v := m.X[n]
		m.X[d].setLane(i, size, v.lane(int(number)/size, size))
		return true
	}
	switch number {
	case 0, 1:
		if size == 8 && wide != 16 {
			return false
		}
		x := m.get(n, 8)
		if number == 0 {
			x = m.X[n].lane(i, size)
		}
		m.X[d] = spread(x, size, wide)
	case 3:
		if wide != 16 {
			return false
		}
		m.X[d].setLane(i, size, m.get(n, 8))
	case 5: // smov
		if size >= wide/2 {
			return false
		}
		m.set(d, wide/2, extend(m.X[n].lane(i, size), size))
	case 7: // umov
		if (size == 8) != (wide == 16) {
			return false
		}
		m.set(d, 8, m.X[n].lane(i, size))
	default:
		return false
	}
	return true
}
