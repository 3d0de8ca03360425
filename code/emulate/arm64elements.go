package emulate

import "math/bits"

// truth is an element with all bits of one kind.
func truth(is bool) uint64 { return -bit(is) }

// threeSame runs what makes each element out of two in the same place, or in neighbouring ones.
func (m *Machine) threeSame(w word, size, wide int) bool {
	a, b, old, number, u := m.X[w.rn()], m.X[w.rm()], m.X[w.rd()], w.Field(11, 5), w.bit(29)
	if number == 3 {
		m.X[w.rd()] = lanes(wide, 8, func(i int) uint64 { return bitwise(w.Field(22, 2), u, a[i], b[i], old[i]) })
		return true
	}
	f, pairs := ofTwo(number, u, size)
	switch {
	case f == nil:
		return false
	case pairs: // those of the first, then of the second
		half := wide / size / 2
		m.X[w.rd()] = lanes(wide, size, func(i int) uint64 {
			v, at := &a, i
			if i >= half {
				v, at = &b, i-half
			}
			return f(v.lane(2*at, size), v.lane(2*at+1, size))
		})
	default:
		m.X[w.rd()] = lanes(wide, size, func(i int) uint64 { return f(a.lane(i, size), b.lane(i, size)) })
	}
	return true
}

// ofTwo is what an instruction makes out of two elements, nil if it is not known, and whether they are neighbours.
func ofTwo(number uint32, u bool, size int) (f func(x, y uint64) uint64, pairs bool) {
	const isGreater, isAtLeast, largest, smallest, sum, isEqual, product = 0x06, 0x07, 0x0c, 0x0d, 0x10, 0x11, 0x13
	const largestOfPair, smallestOfPair, sumOfPair = 0x14, 0x15, 0x17
	read := func(x uint64) int64 { return int64(extend(x, size)) }
	switch number {
	case isGreater:
		if u {
			return func(x, y uint64) uint64 { return truth(x > y) }, false
		}
		return func(x, y uint64) uint64 { return truth(read(x) > read(y)) }, false
	case isAtLeast:
		if u {
			return func(x, y uint64) uint64 { return truth(x >= y) }, false
		}
		return func(x, y uint64) uint64 { return truth(read(x) >= read(y)) }, false
	case largest, smallest, largestOfPair, smallestOfPair:
		if size == 8 {
			return nil, false
		}
		return extreme(number&1 == 0, u, size), number >= largestOfPair
	case sum, sumOfPair:
		switch {
		case !u:
			return func(x, y uint64) uint64 { return x + y }, number == sumOfPair
		case number == sum:
			return func(x, y uint64) uint64 { return x - y }, false
		}
	case isEqual: // and cmtst
		if u {
			return func(x, y uint64) uint64 { return truth(x == y) }, false
		}
		return func(x, y uint64) uint64 { return truth(x&y != 0) }, false
	case product:
		if !u && size < 8 {
			return func(x, y uint64) uint64 { return x * y }, false
		}
	}
	return nil, false
}

// extreme is the larger or smaller of two elements, which have a sign unless u says so.
func extreme(larger, u bool, size int) func(x, y uint64) uint64 {
	return func(x, y uint64) uint64 {
		less := int64(extend(x, size)) < int64(extend(y, size))
		if u {
			less = cut(x, size) < cut(y, size)
		}
		if less == larger {
			return y
		}
		return x
	}
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

// twoMisc runs what makes each element out of one, or fewer and larger ones.
func (m *Machine) twoMisc(w word, size, wide int) bool {
	const reverse, reverse16, addPairs, narrow = 0x00, 0x01, 0x02, 0x12
	a, d, number, u := m.X[w.rn()], w.rd(), w.Field(12, 5), w.bit(29)
	switch number {
	case reverse, reverse16:
		by := 8
		if number == reverse16 {
			by = 2
		} else if u {
			by = 4
		}
		if number == reverse16 && u || size >= by {
			return false
		}
		each := by / size
		m.X[d] = lanes(wide, size, func(i int) uint64 { return a.lane(i/each*each+each-1-i%each, size) })
		return true
	case addPairs:
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
	case narrow:
		if u || size == 8 {
			return false
		}
		m.narrow(d, lanes(8, size, func(i int) uint64 { return a.lane(i, 2*size) }), wide)
		return true
	}
	f := ofOne(number, u, size)
	if f == nil || size == 8 && wide != 16 && !w.bit(28) {
		return false
	}
	m.X[d] = lanes(wide, size, func(i int) uint64 { return f(a.lane(i, size)) })
	return true
}

// ofOne is what an instruction makes out of an element, nil if it is not known.
func ofOne(number uint32, u bool, size int) func(x uint64) uint64 {
	signed := func(x uint64) int64 { return int64(extend(x, size)) }
	switch {
	case number == 5 && size == 1:
		if u { // not
			return func(x uint64) uint64 { return ^x }
		}
		return func(x uint64) uint64 { return uint64(bits.OnesCount64(x)) }
	case number == 8 && u:
		return func(x uint64) uint64 { return truth(signed(x) >= 0) }
	case number == 8:
		return func(x uint64) uint64 { return truth(signed(x) > 0) }
	case number == 9 && u:
		return func(x uint64) uint64 { return truth(signed(x) <= 0) }
	case number == 9:
		return func(x uint64) uint64 { return truth(x == 0) }
	case number == 10 && !u:
		return func(x uint64) uint64 { return truth(signed(x) < 0) }
	case number == 11 && u:
		return func(x uint64) uint64 { return -x }
	case number == 11:
		return func(x uint64) uint64 { return uint64(max(signed(x), -signed(x))) }
	}
	return nil
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
	out, f := size, func(x, y uint64) uint64 { return x + y }
	read := func(i int) uint64 { return extend(a.lane(i, size), size) }
	if u {
		read = func(i int) uint64 { return a.lane(i, size) }
	}
	switch number {
	case 0x03:
		out = 2 * size
	case 0x0a, 0x1a:
		f = extreme(number == 0x0a, u, size)
	case 0x1b:
		if u {
			return false
		}
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
