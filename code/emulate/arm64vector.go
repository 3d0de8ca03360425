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

// truth is an element with all bits of one kind.
func truth(is bool) uint64 { return -bit(is) }

// threeSame runs what makes each element out of two in the same place.
func (m *Machine) threeSame(w word, size, wide int) bool {
	a, b, old, number, u := m.X[w.rn()], m.X[w.rm()], m.X[w.rd()], w.Field(11, 5), w.bit(29)
	if number == 3 {
		m.X[w.rd()] = lanes(wide, 8, func(i int) uint64 { return bitwise(w.Field(22, 2), u, a[i], b[i], old[i]) })
		return true
	}
	var f func(x, y uint64) uint64
	signed := func(x uint64) int64 { return int64(extend(x, size)) }
	switch {
	case number == 0x10 && !u:
		f = func(x, y uint64) uint64 { return x + y }
	case number == 0x10:
		f = func(x, y uint64) uint64 { return x - y }
	case number == 0x11 && u:
		f = func(x, y uint64) uint64 { return truth(x == y) }
	case number == 0x11: // cmtst
		f = func(x, y uint64) uint64 { return truth(x&y != 0) }
	case number == 0x06 && u:
		f = func(x, y uint64) uint64 { return truth(x > y) }
	case number == 0x06:
		f = func(x, y uint64) uint64 { return truth(signed(x) > signed(y)) }
	case number == 0x07 && u:
		f = func(x, y uint64) uint64 { return truth(x >= y) }
	case number == 0x07:
		f = func(x, y uint64) uint64 { return truth(signed(x) >= signed(y)) }
	case (number == 0x0c || number == 0x0d) && size == 8:
		return false
	case number == 0x0c && u, number == 0x14 && u && size < 8:
		f = func(x, y uint64) uint64 { return max(x, y) }
	case number == 0x0d && u, number == 0x15 && u && size < 8:
		f = func(x, y uint64) uint64 { return min(x, y) }
	case number == 0x0c, number == 0x14 && size < 8:
		f = func(x, y uint64) uint64 { return uint64(max(signed(x), signed(y))) }
	case number == 0x0d, number == 0x15 && size < 8:
		f = func(x, y uint64) uint64 { return uint64(min(signed(x), signed(y))) }
	case number == 0x13 && !u && size < 8:
		f = func(x, y uint64) uint64 { return x * y }
	case number == 0x17 && !u:
		f = func(x, y uint64) uint64 { return x + y }
	default:
		return false
	}
	if number == 0x14 || number == 0x15 || number == 0x17 { // of neighbours: those of the first, then of the second
		half := wide / size / 2
		m.X[w.rd()] = lanes(wide, size, func(i int) uint64 {
			v, at := &a, i
			if i >= half {
				v, at = &b, i-half
			}
			return f(v.lane(2*at, size), v.lane(2*at+1, size))
		})
		return true
	}
	m.X[w.rd()] = lanes(wide, size, func(i int) uint64 { return f(a.lane(i, size), b.lane(i, size)) })
	return true
}

// bitwise is one of the eight operations of bits: and, bic, orr, orn, eor, bsl, bit and bif.
func bitwise(number uint32, u bool, a, b, old uint64) uint64 {
	switch {
	case !u && number == 0:
		return a & b
	case !u && number == 1:
		return a &^ b
	case !u && number == 2:
		return a | b
	case !u:
		return a | ^b
	case number == 0:
		return a ^ b
	case number == 1:
		return a&old | b&^old
	case number == 2:
		return a&b | old&^b
	}
	return old&b | a&^b
}

// twoMisc runs what makes each element out of one.
func (m *Machine) twoMisc(w word, size, wide int) bool {
	a, d, number, u := m.X[w.rn()], w.rd(), w.Field(12, 5), w.bit(29)
	signed := func(x uint64) int64 { return int64(extend(x, size)) }
	var f func(x uint64) uint64
	if size == 8 && wide != 16 && number > 2 && !w.bit(28) {
		return false
	}
	switch {
	case number <= 1: // rev64, rev32, rev16
		by := 8
		if number == 1 {
			by = 2
		} else if u {
			by = 4
		}
		if number == 1 && u || size >= by {
			return false
		}
		each := by / size
		m.X[d] = lanes(wide, size, func(i int) uint64 { return a.lane(i/each*each+each-1-i%each, size) })
		return true
	case number == 2: // saddlp, uaddlp
		if size == 8 {
			return false
		}
		m.X[d] = lanes(wide, 2*size, func(i int) uint64 {
			x, y := a.lane(2*i, size), a.lane(2*i+1, size)
			if !u {
				x, y = extend(x, size), extend(y, size)
			}
			return x + y
		})
		return true
	case number == 5 && !u && size == 1:
		f = func(x uint64) uint64 { return uint64(bits.OnesCount64(x)) }
	case number == 5 && u && size == 1: // not
		f = func(x uint64) uint64 { return ^x }
	case number == 8 && u:
		f = func(x uint64) uint64 { return truth(signed(x) >= 0) }
	case number == 8:
		f = func(x uint64) uint64 { return truth(signed(x) > 0) }
	case number == 9 && u:
		f = func(x uint64) uint64 { return truth(signed(x) <= 0) }
	case number == 9:
		f = func(x uint64) uint64 { return truth(x == 0) }
	case number == 10 && !u:
		f = func(x uint64) uint64 { return truth(signed(x) < 0) }
	case number == 11 && u:
		f = func(x uint64) uint64 { return -x }
	case number == 11:
		f = func(x uint64) uint64 { return uint64(max(signed(x), -signed(x))) }
	case number == 18 && !u && size < 8: // xtn
		low := lanes(8, size, func(i int) uint64 { return a.lane(i, 2*size) })
		m.narrow(d, low, wide)
		return true
	default:
		return false
	}
	m.X[d] = lanes(wide, size, func(i int) uint64 { return f(a.lane(i, size)) })
	return true
}

// narrow puts half a vector into register d: into its upper half where wide says so.
func (m *Machine) narrow(d int, low Vector, wide int) {
	if wide == 16 {
		m.X[d][1] = low[0]
	} else {
		m.X[d] = Vector{low[0]}
	}
}

// acrossLanes runs addv, uaddlv, saddlv, umaxv and so on.
func (m *Machine) acrossLanes(w word, size, wide int) bool {
	a, number, u := m.X[w.rn()], w.Field(12, 5), w.bit(29)
	if size == 8 || size == 4 && wide == 8 {
		return false
	}
	sum := func(x, y uint64) uint64 { return x + y }
	out, f := size, sum
	read := func(i int) uint64 { return extend(a.lane(i, size), size) }
	if u {
		read = func(i int) uint64 { return a.lane(i, size) }
	}
	switch {
	case number == 0x1b && !u:
	case number == 0x03:
		out = 2 * size
	case number == 0x0a && u:
		f = func(x, y uint64) uint64 { return max(x, y) }
	case number == 0x1a && u:
		f = func(x, y uint64) uint64 { return min(x, y) }
	case number == 0x0a:
		f = func(x, y uint64) uint64 { return uint64(max(int64(x), int64(y))) }
	case number == 0x1a:
		f = func(x, y uint64) uint64 { return uint64(min(int64(x), int64(y))) }
	default:
		return false
	}
	v := read(0)
	for i := 1; i < wide/size; i++ {
		v = f(v, read(i))
	}
	m.X[w.rd()] = Vector{cut(v, out)}
	return true
}

// shiftImmediate runs shl, sshr, ushr, ssra, usra, sri, sli, shrn, and sshll and ushll.
func (m *Machine) shiftImmediate(w word, wide int) bool {
	a, old, d := m.X[w.rn()], m.X[w.rd()], w.rd()
	immediate, number, u, single := w.Field(16, 7), w.Field(11, 5), w.bit(29), w.bit(28)
	if immediate < 8 {
		return false
	}
	size := 1 << (bits.Len32(immediate>>3) - 1)
	width := uint32(8 * size)
	right, left := 2*width-immediate, immediate-width
	if size == 8 && wide != 16 && !single {
		return false
	}
	all := func(f func(x, was uint64) uint64) bool {
		m.X[d] = lanes(wide, size, func(i int) uint64 { return f(a.lane(i, size), old.lane(i, size)) })
		return true
	}
	down := func(x uint64) uint64 {
		if !u {
			return uint64(int64(extend(x, size)) >> right)
		}
		return x >> right
	}
	switch {
	case number == 0:
		return all(func(x, _ uint64) uint64 { return down(x) })
	case number == 2:
		return all(func(x, was uint64) uint64 { return was + down(x) })
	case number == 8 && u:
		kept := cut(^uint64(0), size) >> right
		return all(func(x, was uint64) uint64 { return x>>right | was&^kept })
	case number == 10 && !u:
		return all(func(x, _ uint64) uint64 { return x << left })
	case number == 10:
		return all(func(x, was uint64) uint64 { return x<<left | was&(1<<left-1) })
	case single || size == 8:
		return false
	case number == 16 && !u:
		m.narrow(d, lanes(8, size, func(i int) uint64 { return a.lane(i, 2*size) >> right }), wide)
		return true
	case number == 20:
		from := 0
		if wide == 16 {
			from = 8 / size
		}
		m.X[d] = lanes(16, 2*size, func(i int) uint64 {
			x := a.lane(from+i, size)
			if !u {
				x = extend(x, size)
			}
			return x << left
		})
		return true
	}
	return false
}

// permute runs uzp, trn and zip.
func (m *Machine) permute(w word, size, wide int) bool {
	a, b, number := m.X[w.rn()], m.X[w.rm()], w.Field(12, 3)
	n := wide / size
	both := func(i int) uint64 {
		if i < n {
			return a.lane(i, size)
		}
		return b.lane(i-n, size)
	}
	second := int(number >> 2)
	var f func(i int) uint64
	switch number & 3 {
	case 1:
		f = func(i int) uint64 { return both(2*i + second) }
	case 2:
		f = func(i int) uint64 { return both(i&^1 + second + i&1*n) }
	case 3:
		f = func(i int) uint64 { return both(i/2 + second*n/2 + i&1*n) }
	default:
		return false
	}
	m.X[w.rd()] = lanes(wide, size, f)
	return true
}
