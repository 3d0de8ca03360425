package emulate

import "math/bits"

// registers runs data processing of registers: C4.1.95.
func (m *Machine) registers(w word) bool {
	size := w.size()
	switch {
	case w.Is(0x1f000000, 0x0a000000): // logical
		shift := w.Field(10, 6)
		if int(shift) >= 8*size {
			return false
		}
		v := shifted(m.get(w.rm(), size), w.Field(22, 2), shift, size)
		if w.bit(21) {
			v = ^v
		}
		v = logical(w.Field(29, 2), m.get(w.rn(), size), v)
		if w.Field(29, 2) == 3 {
			m.logicFlags(v, size)
		}
		m.set(w.rd(), size, v)
		return true
	case w.Is(0x1f200000, 0x0b000000): // add, sub
		kind, shift := w.Field(22, 2), w.Field(10, 6)
		if kind == 3 || int(shift) >= 8*size {
			return false
		}
		v, carry := invert(shifted(m.get(w.rm(), size), kind, shift, size), w.bit(30))
		m.set(w.rd(), size, m.sum(m.get(w.rn(), size), v, carry, size, w.bit(29)))
		return true
	case w.Is(0x1fe00000, 0x0b200000): // with an extended register
		if w.Field(10, 3) > 4 {
			return false
		}
		v, carry := invert(extended(m.get(w.rm(), 8), w.Field(13, 3))<<w.Field(10, 3), w.bit(30))
		v = m.sum(m.R[w.rn()], v, carry, size, w.bit(29))
		if w.bit(29) {
			m.set(w.rd(), size, v)
		} else {
			m.setEither(w.rd(), size, v)
		}
		return true
	case w.Is(0x1fe0fc00, 0x1a000000): // adc, sbc
		v, _ := invert(m.get(w.rm(), size), w.bit(30))
		m.set(w.rd(), size, m.sum(m.get(w.rn(), size), v, bit(m.Flags.Carry), size, w.bit(29)))
		return true
	case w.Is(0x3fe00410, 0x3a400000):
		return m.compareIf(w, size)
	case w.Is(0x3fe00800, 0x1a800000):
		m.selectIf(w, size)
		return true
	case w.Is(0x7fe00000, 0x1ac00000):
		return m.twoSources(w, size)
	case w.Is(0x7fff0000, 0x5ac00000):
		return m.oneSource(w, size)
	case w.Is(0x7f000000, 0x1b000000):
		return m.threeSources(w, size)
	}
	return false
}

// shifted is v by lsl, lsr, asr or ror.
func shifted(v uint64, kind, by uint32, size int) uint64 {
	width := uint32(8 * size)
	switch by %= width; kind {
	case 0:
		return cut(v<<by, size)
	case 1:
		return v >> by
	case 2:
		return cut(uint64(int64(extend(v, size))>>by), size)
	}
	return cut(v>>by|v<<(width-by), size)
}

// compareIf runs ccmp and ccmn.
func (m *Machine) compareIf(w word, size int) bool {
	if !m.condition(w.Field(12, 4)) {
		f := w.Field(0, 4)
		m.Flags = Flags{Sign: f&8 != 0, Zero: f&4 != 0, Carry: f&2 != 0, Overflow: f&1 != 0}
		return true
	}
	v := m.get(w.rm(), size)
	if w.bit(11) {
		v = uint64(w.Field(16, 5))
	}
	v, carry := invert(v, w.bit(30))
	m.sum(m.get(w.rn(), size), v, carry, size, true)
	return true
}

// selectIf runs csel, csinc, csinv and csneg.
func (m *Machine) selectIf(w word, size int) {
	v := m.get(w.rn(), size)
	if !m.condition(w.Field(12, 4)) {
		if v = m.get(w.rm(), size); w.bit(30) {
			v = ^v
		}
		if w.bit(10) {
			v++
		}
	}
	m.set(w.rd(), size, v)
}

func (m *Machine) twoSources(w word, size int) bool {
	a, b, v := m.get(w.rn(), size), m.get(w.rm(), size), uint64(0)
	switch number := w.Field(10, 6); number {
	case 2: // udiv: 0 by 0
		if b != 0 {
			v = a / b
		}
	case 3: // sdiv
		if s := int64(extend(b, size)); s == -1 {
			v = -a
		} else if s != 0 {
			v = uint64(int64(extend(a, size)) / s)
		}
	case 8, 9, 10, 11:
		v = shifted(a, number&3, uint32(b)&uint32(8*size-1), size)
	default:
		return false
	}
	m.set(w.rd(), size, v)
	return true
}

func (m *Machine) oneSource(w word, size int) bool {
	v := m.get(w.rn(), size)
	switch w.Field(10, 6) {
	case 0: // rbit
		v = bits.Reverse64(v) >> (64 - 8*size)
	case 1: // rev16
		v = v>>8&0x00ff00ff00ff00ff | v&0x00ff00ff00ff00ff<<8
	case 2: // rev32, of four bytes rev
		v = bits.RotateLeft64(bits.ReverseBytes64(v), 32)
	case 3:
		if size == 4 {
			return false
		}
		v = bits.ReverseBytes64(v)
	case 4: // clz
		v = uint64(bits.LeadingZeros64(v)) - uint64(64-8*size)
	case 5: // cls
		v = leadingSigns(v, size)
	default:
		return false
	}
	m.set(w.rd(), size, v)
	return true
}

// leadingSigns is how many bits below the highest are as that.
func leadingSigns(v uint64, size int) uint64 {
	s := int64(extend(v, size))
	return uint64(bits.LeadingZeros64(uint64(s^s>>63))) - uint64(64-8*size) - 1
}

func (m *Machine) threeSources(w word, size int) bool {
	a, b, c := m.get(w.rn(), size), m.get(w.rm(), size), m.get(w.ra(), size)
	var v uint64
	switch kind, minus := w.Field(21, 3), w.bit(15); {
	case kind == 0:
		if v = a * b; minus {
			v = -v
		}
		v += c
	case size == 4:
		return false
	case kind == 1, kind == 5: // smaddl, umaddl
		if kind == 1 {
			v = extend(cut(a, 4), 4) * extend(cut(b, 4), 4)
		} else {
			v = cut(a, 4) * cut(b, 4)
		}
		if minus {
			v = -v
		}
		v += c
	case (kind == 2 || kind == 6) && !minus: // smulh, umulh
		if v, _ = bits.Mul64(a, b); kind == 2 {
			v -= uint64(int64(a)>>63)&b + uint64(int64(b)>>63)&a
		}
	default:
		return false
	}
	m.set(w.rd(), size, v)
	return true
}
