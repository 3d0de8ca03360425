package emulate

import "encoding/binary"

// loaded is what was read into a register: it may be called.
type loaded struct{ at, value uint64 }

// memory runs loads and stores: C4.1.94.
func (m *Machine) memory(w word) bool {
	switch {
	case w.Is(0x3f000000, 0x08000000):
		return m.exclusive(w)
	case w.Is(0x3b000000, 0x18000000):
		return m.literal(w)
	case w.Is(0x3a000000, 0x28000000):
		return m.pair(w)
	case w.Is(0x3b200c00, 0x38200000):
		return m.atomicMemory(w)
	case w.Is(0x3a000000, 0x38000000):
		return m.single(w)
	case w.Is(0x3f200c00, 0x19000000):
		return m.ordered(w)
	case w.Is(0xbfa00000, 0x0c000000), w.Is(0xbf800000, 0x0c800000):
		return m.structures(w)
	case w.Is(0xbfe0f000, 0x0d40c000), w.Is(0xbfe0f000, 0x0dc0c000):
		return m.replicate(w)
	}
	return false
}

// touch notes the operand of an instruction.
func (m *Machine) touch(a uint64) { m.Touched = a }

// loadInto reads size bytes into register t, of which wide bytes are set, all of them; signed extends.
func (m *Machine) loadInto(t int, a uint64, size, wide int, signed bool) {
	v := m.load(a, size)
	if m.fault != nil {
		return
	}
	if signed {
		v = extend(v, size)
	}
	m.set(t, wide, v)
	if size == 8 {
		m.loads[t] = loaded{a, v}
	}
}

// loadVector reads size bytes into a vector, of which what is above becomes 0.
func (m *Machine) loadVector(t int, a uint64, size int) {
	var b [16]byte
	if m.Load(b[:size], a) {
		m.X[t] = Vector{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	}
}

func (m *Machine) storeVector(t int, a uint64, size int) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], m.X[t][0])
	binary.LittleEndian.PutUint64(b[8:], m.X[t][1])
	m.Store(b[:size], a)
}

// literal runs loads of what is near to the code.
func (m *Machine) literal(w word) bool {
	a, kind := m.PC+w.displacement(5, 19)<<2, w.Field(30, 2)
	switch {
	case w.bit(26) && kind < 3:
		m.touch(a)
		m.loadVector(w.rd(), a, 4<<kind)
	case w.bit(26):
		return false
	case kind == 3: // prfm
	default:
		m.touch(a)
		m.loadInto(w.rd(), a, []int{4, 8, 4}[kind], 8, kind == 2)
	}
	return true
}

// pair runs loads and stores of two registers.
func (m *Machine) pair(w word) bool {
	kind, vector, mode, isLoad := w.Field(30, 2), w.bit(26), w.Field(23, 2), w.bit(22)
	size := 4 << (kind >> 1)
	if vector {
		size = 4 << kind
	}
	signed := !vector && kind == 1
	if kind == 3 || signed && (!isLoad || mode == 0) {
		return false
	}
	t, u, n := w.rd(), w.ra(), w.rn()
	if isLoad && t == u || !vector && mode&1 != 0 && n != stackPointer && (t == n || u == n) {
		return false // it may be anything
	}
	base, offset := m.R[n], w.displacement(15, 7)*uint64(size)
	a := base
	if mode != 1 {
		a += offset
	}
	second := a + uint64(size)
	m.touch(a)
	switch {
	case vector && isLoad:
		m.loadVector(t, a, size)
		m.loadVector(u, second, size)
	case vector:
		m.storeVector(t, a, size)
		m.storeVector(u, second, size)
	case isLoad:
		m.loadInto(t, a, size, 8, signed)
		m.loadInto(u, second, size, 8, signed)
	default:
		m.store(a, size, m.get(t, 8))
		m.store(second, size, m.get(u, 8))
	}
	if mode&1 != 0 && m.fault == nil {
		m.R[n] = base + offset
	}
	return true
}

// single runs loads and stores of one register.
func (m *Machine) single(w word) bool {
	size, n := 1<<w.Field(30, 2), w.rn()
	if w.bit(26) {
		if w.bit(23) {
			size *= 16
		}
		if size > 16 {
			return false
		}
	}
	base := m.R[n]
	a, after := base, base
	switch {
	case w.bit(24):
		a += uint64(w.Field(10, 12)) * uint64(size)
	case w.Is(0x00200c00, 0x00200800):
		offset, ok := m.offset(w, size)
		if !ok {
			return false
		}
		a += offset
	case w.bit(21), w.bit(26) && w.Field(10, 2) == 2:
		return false
	default:
		offset := w.displacement(12, 9)
		if w.Field(10, 2) != 1 { // post-indexed
			a += offset
		}
		if w.Field(10, 2)&1 != 0 {
			after = base + offset
		}
	}
	if after != base && !w.bit(26) && n == w.rd() && n != stackPointer {
		return false // it may be anything
	}
	known := m.transfer(w, a, size)
	if known && m.fault == nil && after != base {
		m.R[n] = after
	}
	return known
}

// offset is the operand of a load or store that is a register, extended and shifted.
func (m *Machine) offset(w word, size int) (uint64, bool) {
	option := w.Field(13, 3)
	if option&2 == 0 {
		return 0, false
	}
	v := extended(m.get(w.rm(), 8), option)
	if w.bit(12) {
		v *= uint64(size)
	}
	return v, true
}

// extended is v as the extension of an operand makes it: C6.2.5, ExtendReg.
func extended(v uint64, option uint32) uint64 {
	size := 1 << (option & 3)
	if option&4 != 0 {
		return extend(cut(v, size), size)
	}
	return cut(v, size)
}

// transfer is the load or store of one register.
func (m *Machine) transfer(w word, a uint64, size int) bool {
	t, kind := w.rd(), w.Field(22, 2)
	if w.bit(26) {
		m.touch(a)
		if kind&1 != 0 {
			m.loadVector(t, a, size)
		} else {
			m.storeVector(t, a, size)
		}
		return true
	}
	switch {
	case kind == 0:
		m.touch(a)
		m.store(a, size, m.get(t, 8))
	case kind == 1:
		m.touch(a)
		m.loadInto(t, a, size, 8, false)
	case size == 8: // prfm
		return kind == 2 && (w.bit(24) || w.bit(21) || w.Field(10, 2) == 0)
	case size == 4 && kind == 3:
		return false
	default:
		m.touch(a)
		m.loadInto(t, a, size, 8>>(kind&1), true)
	}
	return true
}

// structures runs ld1 and st1 of one to four whole vectors.
func (m *Machine) structures(w word) bool {
	number := map[uint32]int{7: 1, 10: 2, 6: 3, 2: 4}[w.Field(12, 4)]
	if number == 0 {
		return false
	}
	size := 8 << w.Field(30, 1)
	a := m.R[w.rn()]
	m.touch(a)
	for i := range number {
		t, at := (w.rd()+i)%32, a+uint64(i*size)
		if w.bit(22) {
			m.loadVector(t, at, size)
		} else {
			m.storeVector(t, at, size)
		}
	}
	return m.advance(w, uint64(number*size))
}

// replicate runs ld1r.
func (m *Machine) replicate(w word) bool {
	size, a := 1<<w.Field(10, 2), m.R[w.rn()]
	m.touch(a)
	v := m.load(a, size)
	if m.fault == nil {
		m.X[w.rd()] = spread(v, size, 8<<w.Field(30, 1))
	}
	return m.advance(w, uint64(size))
}

// advance adds to the register that has the address, behind the access.
func (m *Machine) advance(w word, by uint64) bool {
	switch {
	case !w.bit(23):
		return w.rm() == 0
	case m.fault != nil:
	case w.rm() == 31:
		m.R[w.rn()] += by
	default:
		m.R[w.rn()] += m.get(w.rm(), 8)
	}
	return true
}
