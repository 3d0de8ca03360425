package arm64

// Ways of indexing.
const (
	atOffset = iota
	postIndex
	preIndex
)

// access is one load or store.
type access struct {
	load    bool
	vector  bool // of vector registers, which nobody follows
	width   int64
	base    register // 31 is SP
	n       int64    // bytes to base
	index   int
	indexed bool // a register is added: the address is not known
}

// address applies the indexing and returns where the access goes.
func (s *state) address(a access) value {
	at := s.regs[a.base]
	if a.indexed {
		return value{}
	}
	moved := at.plus(a.n)
	if a.index == atOffset {
		return moved
	}
	s.regs[a.base] = moved
	if a.index == preIndex {
		return moved
	}
	return at
}

// move applies the access of one register at an address.
func (s *state) move(a access, r register, at value) {
	switch {
	case a.load && !a.vector:
		v := s.load(at)
		if a.width != 8 {
			v = value{}
		}
		s.set(r, v)
	case a.load:
	case a.vector:
		s.store(at, value{}, a.width)
	default:
		s.store(at, s.get(r), a.width)
	}
}

// stepMemory applies loads and stores. Source: C4.1, "Loads and Stores".
func (s *state) stepMemory(i Inst) {
	switch {
	case i.Is(0x3a000000, 0x28000000):
		s.pair(i)
	case i.Is(0x3b000000, 0x38000000), i.Is(0x3b000000, 0x39000000):
		s.single(i)
	case i.Is(0x3b000000, 0x18000000): // ldr of a literal
		if !i.Is(0xff000000, 0xd8000000) && i>>26&1 == 0 {
			s.set(i.rd(), value{})
		}
	case i.Is(0x3f000000, 0x08000000):
		s.exclusive(i)
	case i.Is(0xff200000, 0xd9200000): // tags
		s.tags(i)
	case i.Is(0x3b200c00, 0x19000400): // cpy, set: all three count on
		s.set(i.rd(), value{})
		s.set(i.rn(), value{})
		s.set(i.rm(), value{})
	case i.Is(0x3f200000, 0x19000000): // ldapur, stlur
		if i.Field(22, 2) != 0 {
			s.set(i.rd(), value{})
		}
	case i.Is(0xbe800000, 0x0c800000): // ld1 and its kind, with the address written back
		s.regs[i.rn()] = value{}
	}
}

// pair applies ldp, stp and those without allocation.
func (s *state) pair(i Inst) {
	opc := i.Field(30, 2)
	a := access{load: i>>22&1 == 1, vector: i>>26&1 == 1, base: i.rn(), index: [...]int{atOffset, postIndex, atOffset,
		preIndex}[i.Field(23, 2)]}
	scale := int64(4)
	switch {
	case a.vector:
		scale = 4 << opc
	case opc == 0b10:
		scale = 8
	case opc == 0b01 && !a.load: // stgp
		scale, a.width = 16, 8
	}
	if a.width == 0 {
		a.width = scale
	}
	a.n = i.Signed(15, 7) * scale
	first, second := i.rd(), i.ra()
	at := s.address(a)
	s.move(a, first, at)
	s.move(a, second, at.plus(a.width))
}

// single applies ldr and str in all their forms, and the atomic ones.
func (s *state) single(i Inst) {
	opc, width := i.Field(22, 2), int64(1)<<i.Field(30, 2)
	a := access{load: opc != 0, vector: i>>26&1 == 1, width: width, base: i.rn()}
	if a.vector {
		a.load = opc&1 == 1
		if opc&0b10 != 0 {
			a.width = 16
		}
	}
	switch {
	case i>>24&1 == 1:
		a.n = int64(i.Field(10, 12)) * a.width
	case i>>21&1 == 0:
		a.n = i.Signed(12, 9)
		a.index = [...]int{atOffset, postIndex, atOffset, preIndex}[i.Field(10, 2)]
	case i.Field(10, 2) == 0b10:
		a.indexed = true
	case i.Field(10, 2) == 0b00: // ldadd, swp, …
		s.set(i.rd(), value{})
		return
	default: // ldraa, ldrab
		a = access{load: true, width: 8, base: i.rn(), n: (i.Signed(22, 1)<<9 | int64(i.Field(12, 9))) * 8}
		if i>>11&1 == 1 {
			a.index = preIndex
		}
		s.move(a, i.rd(), s.address(a))
		return
	}
	if !a.vector && width == 8 && opc == 0b10 {
		return // prfm
	}
	at := s.address(a)
	s.move(a, i.rd(), at)
}

// exclusive applies ldxr, stxr, ldar, cas and their kind.
func (s *state) exclusive(i Inst) {
	load, pair, ordered := i>>22&1 == 1, i>>21&1 == 1, i>>23&1 == 1
	switch {
	case pair && (ordered || i>>31 == 0): // cas, casp
		s.set(i.rm(), value{})
		s.set(min(i.rm()+1, sp), value{})
	case load:
		s.set(i.rd(), value{})
		if pair {
			s.set(i.ra(), value{})
		}
	case !ordered:
		s.set(i.rm(), value{}) // whether it was stored
	}
}

// tags applies stg and its kind, which may write the address back, and ldg.
func (s *state) tags(i Inst) {
	switch i.Field(10, 2) {
	case 0b01, 0b11:
		s.regs[i.rn()] = s.regs[i.rn()].plus(i.Signed(12, 9) * 16)
	case 0b00:
		s.set(i.rd(), value{})
	}
}
