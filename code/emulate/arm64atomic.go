package emulate

// Loads and stores that are ordered, exclusive or atomic: C4.1.94. Nobody else runs in the overlay: what was read
// exclusively is written if it was read last.

// touchAligned notes one of size bytes that must be aligned: of instructions that are ordered, and of atomic ones.
func (m *Machine) touchAligned(a uint64, size int, atomic bool) {
	m.Touched, m.Atomic = a, atomic
	if a%uint64(size) != 0 {
		m.fail(ErrMemory)
	}
}

// exclusive runs loads and stores that are exclusive or ordered, and compare and swap.
func (m *Machine) exclusive(w word) bool {
	size, a, t, other := 1<<w.Field(30, 2), m.R[w.rn()], w.rd(), w.ra()
	isLoad, two := w.bit(22), w.bit(21)
	switch {
	case w.bit(23) && !two: // ldar, stlr
		m.touchAligned(a, size, false)
		if isLoad {
			m.loadInto(t, a, size, 8, false)
		} else {
			m.store(a, size, m.get(t, 8))
		}
		return true
	case two && size < 4 && !w.bit(23):
		return m.swapPair(w)
	case w.bit(23): // cas
		if other != 31 {
			return false
		}
		m.touchAligned(a, size, true)
		was := m.load(a, size)
		if m.fault == nil && was == m.get(w.rm(), size) {
			m.store(a, size, m.get(t, 8))
		}
		if m.fault == nil {
			m.set(w.rm(), 8, was)
		}
		return true
	}
	m.touchAligned(a, size<<bit(two), true)
	if isLoad {
		m.loadInto(t, a, size, 8, false)
		if two {
			m.loadInto(other, a+uint64(size), size, 8, false)
		}
		m.reserved, m.reservedAt = m.fault == nil, a
		return t != other || !two
	}
	status := w.rm()
	if status == t || two && status == other || status == w.rn() && status != stackPointer {
		return false // it may be anything
	}
	kept := m.reserved && m.reservedAt == a
	if m.reserved = false; kept {
		m.store(a, size, m.get(t, 8))
		if two {
			m.store(a+uint64(size), size, m.get(other, 8))
		}
	}
	m.set(status, 4, 1-bit(kept))
	return true
}

// swapPair runs casp.
func (m *Machine) swapPair(w word) bool {
	size, a, s, t := 4<<w.Field(30, 1), m.R[w.rn()], w.rm(), w.rd()
	if w.ra() != 31 || s%2 != 0 || t%2 != 0 || s == 30 || t == 30 {
		return false
	}
	m.touchAligned(a, 2*size, true)
	low, high := m.load(a, size), m.load(a+uint64(size), size)
	if m.fault == nil && low == m.get(s, size) && high == m.get(s+1, size) {
		m.store(a, size, m.get(t, 8))
		m.store(a+uint64(size), size, m.get(t+1, 8))
	}
	m.set(s, 8, low)
	m.set(s+1, 8, high)
	return true
}

// ordered runs ldapur and stlur.
func (m *Machine) ordered(w word) bool {
	size, kind := 1<<w.Field(30, 2), w.Field(22, 2)
	if w.bit(26) || size == 8 && kind > 1 || size == 4 && kind == 3 {
		return false
	}
	a := m.R[w.rn()] + w.displacement(12, 9)
	m.touchAligned(a, size, false)
	return m.transfer(w, a, size)
}

// atomicMemory runs operations of memory as ARMv8.1 has them, and ldapr.
func (m *Machine) atomicMemory(w word) bool {
	size, a, number := 1<<w.Field(30, 2), m.R[w.rn()], w.Field(12, 4)
	if w.bit(26) {
		return false
	}
	if number == 12 { // ldapr
		if w.Field(22, 2) != 2 || w.rm() != 31 {
			return false
		}
		m.touchAligned(a, size, false)
		m.loadInto(w.rd(), a, size, 8, false)
		return true
	}
	if number > 8 {
		return false
	}
	m.touchAligned(a, size, true)
	was, v := m.load(a, size), m.get(w.rm(), size)
	if m.fault != nil {
		return true
	}
	m.store(a, size, combine(number, was, v, size))
	if m.fault == nil {
		m.set(w.rd(), 8, was)
	}
	return true
}

// combine is what an atomic operation writes.
func combine(number uint32, was, v uint64, size int) uint64 {
	a, b := int64(extend(was, size)), int64(extend(v, size))
	switch number {
	case 0:
		return was + v
	case 1:
		return was &^ v
	case 2:
		return was ^ v
	case 3:
		return was | v
	case 4:
		return uint64(max(a, b))
	case 5:
		return uint64(min(a, b))
	case 6:
		return max(was, v)
	case 7:
		return min(was, v)
	}
	return v // swp
}
