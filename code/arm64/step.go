package arm64

// step applies an instruction that goes on to the next one.
func (s *state) step(i Inst) {
	compared := s.compared
	s.compared = sp
	switch op := i.Field(25, 4); {
	case op == 0b0010: // SVE
		s.stepVectors(i)
	case op&0b1110 == 0b1000:
		s.stepImmediate(i)
	case op&0b0111 == 0b0101:
		s.stepRegisters(i)
	case op&0b0101 == 0b0100:
		s.stepMemory(i)
	case op&0b1110 == 0b1010:
		s.stepSystem(i)
		s.compared = compared
	case op&0b0111 == 0b0111:
		s.stepFloats(i)
	}
}

// setSP writes a register of which 31 is SP.
func (s *state) setSP(r register, v value) {
	s.regs[r] = v
}

// stepImmediate applies data processing with an immediate.
func (s *state) stepImmediate(i Inst) {
	rd := i.rd()
	switch {
	case i.Is(0x1f800000, 0x11000000): // add, adds, sub, subs
		n := int64(i.Field(10, 12)) << (12 * i.Field(22, 1))
		if i>>30&1 == 1 {
			n = -n
		}
		v := s.regs[i.rn()].plus(n)
		if i>>31 == 0 {
			v = value{}
		}
		if i>>29&1 == 1 { // sets flags: 31 is the zero register
			s.set(rd, v)
		} else {
			s.setSP(rd, v)
		}
	case i.Is(0x1f800000, 0x12800000):
		s.moveWide(i)
	case i.Is(0x7f800000, 0x12000000), i.Is(0x7f800000, 0x32000000), i.Is(0x7f800000, 0x52000000), // and, orr, eor
		i.Is(0x1f800000, 0x11800000): // addg, subg, minimum and maximum
		s.setSP(rd, value{})
	default:
		s.set(rd, value{})
	}
}

// moveWide applies movn, movz, movk.
func (s *state) moveWide(i Inst) {
	shift := 16 * i.Field(21, 2)
	n := int64(i.Field(5, 16)) << shift
	v := value{kind: constant}
	switch i.Field(29, 2) {
	case 0b00:
		v.off = ^n
		if i>>31 == 0 {
			v.off &= 1<<32 - 1
		}
	case 0b10:
		v.off = n
	case 0b11:
		if v = s.get(i.rd()); v.kind == constant {
			v.off = v.off&^(0xffff<<shift) | n
		} else {
			v = value{}
		}
	default:
		v = value{}
	}
	s.set(i.rd(), v)
}

// stepRegisters applies data processing of registers.
func (s *state) stepRegisters(i Inst) {
	wide := i>>31 == 1
	switch {
	case i.Is(0x7fe0ffe0, 0x2a0003e0): // mov
		v := s.get(i.rm())
		if !wide {
			v = value{}
		}
		s.set(i.rd(), v)
	case i.Is(0x1fe00000, 0x0b200000): // add, sub with an extended register
		v := s.sum(i, s.regs[i.rn()], i.Field(13, 2) == 0b11, i.Field(10, 3))
		if i>>29&1 == 0 {
			s.setSP(i.rd(), v)
			return
		}
		if i.Is(0xffe0001f, 0xeb20001f) && i.rn() == sp && i.rm() != sp {
			s.compared = i.rm()
		}
		s.set(i.rd(), v)
	case i.Is(0x1f200000, 0x0b000000): // add, sub with a shifted register
		s.set(i.rd(), s.sum(i, s.get(i.rn()), i.Field(22, 2) == 0, i.Field(10, 6)))
	case i.Is(0xffff0000, 0xdac10000): // pac, aut, xpac: the address is the same
	case i.Is(0x1fe00000, 0x1a400000): // ccmp, ccmn
	default:
		s.set(i.rd(), value{})
	}
}

// sum is v plus or minus rm, which is shifted left if plain says that it is not changed otherwise.
func (s *state) sum(i Inst, v value, plain bool, shift uint32) value {
	n := s.get(i.rm())
	if i>>31 == 0 || !plain || n.kind != constant || shift > 16 || n.off > maxOffset || n.off < -maxOffset {
		return value{}
	}
	if n.off <<= shift; i>>30&1 == 1 {
		n.off = -n.off
	}
	return v.plus(n.off)
}

// stepSystem applies system calls and reads of system registers. Hints do nothing: those that sign or check x30 leave
// the address that it is.
func (s *state) stepSystem(i Inst) {
	switch {
	case i.Is(0xffe0001f, 0xd4000001): // svc
		s.set(x0, value{})
	case i.Is(0xfff00000, 0xd5300000), i.Is(0xfff80000, 0xd5280000): // mrs, sysl
		s.set(i.rd(), value{})
	}
}

// stepFloats applies what writes a general register out of a vector.
func (s *state) stepFloats(i Inst) {
	toGeneral := i.Is(0x7f20fc00, 0x1e200000) && i.Field(16, 3)&0b110 != 0b010 && i.Field(16, 3) != 0b111
	if toGeneral || i.Is(0xbfe0f400, 0x0e003400) { // fcvt, fmov; smov, umov
		s.set(i.rd(), value{})
	}
}

// stepVectors applies what SVE does to general registers: a distance in vectors is not known.
func (s *state) stepVectors(i Inst) {
	switch {
	case i.Is(0xffa0f000, 0x04205000): // addvl, addpl and those of streaming mode
		s.setSP(i.rd(), value{})
	case i.Is(0xff30f000, 0x0420e000), i.Is(0xff30f000, 0x0430e000), i.Is(0xfffff000, 0x04bf5000): // cnt, inc, rdvl
		s.set(i.rd(), value{})
	}
}

// writes reports whether i may change r, which is not SP.
func (i Inst) writes(r register) bool {
	s := newState(false)
	s.step(i)
	return !(s.regs[r] == initial(r))
}
