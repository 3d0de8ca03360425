package x86

// vector reads a VEX, EVEX or XOP prefix behind its first byte, in.op, and the opcode. In
// 386 code the same first bytes begin les, lds, bound and pop, told apart by the second.
// Sources: Intel SDM volume 2, sections 2.3 and 2.7; AMD64 APM volume 3, section 1.2.7.
func (in *inst) vector(c *cursor, x *extension) bool {
	if c.pos >= len(c.b) {
		return false
	}
	second := c.b[c.pos]
	if in.op == 0x8f {
		if second&0x1f < 8 {
			return true // pop
		}
	} else if !in.mode64 && second < 0xc0 {
		return in.old386()
	}
	// These prefixes in front of a vector prefix raise #UD.
	if in.rex || in.small || in.repeat != 0 {
		return false
	}
	in.vex = true
	switch in.op {
	case 0xc5:
		p := c.next()
		*x = extension{r: register(^p&0x80) >> 4}
		in.vvvv, in.space = register(^p>>3&15), map0F
		in.setPP(p)
	case 0x62:
		return in.evex(c, x)
	default: // C4, 8F
		p0, p1 := c.next(), c.next()
		*x = extension{register(^p0&0x80) >> 4, register(^p0&0x40) >> 3, register(^p0&0x20) >> 2}
		in.vvvv, in.wide = register(^p1>>3&15), p1&0x80 != 0
		in.setPP(p1)
		if !in.setMap(p0&0x1f, in.op == 0x8f) {
			return false
		}
	}
	in.op = c.next()
	in.limit386(x)
	return !c.bad
}

// old386 admits the 386 instructions behind C4, C5 and 62.
func (in *inst) old386() bool { in.space = mapOne; return true }

// limit386 drops the register bits that 386 code does not have.
func (in *inst) limit386(x *extension) {
	if !in.mode64 {
		*x = extension{}
		in.vvvv &= 7
	}
}

func (in *inst) evex(c *cursor, x *extension) bool {
	p0, p1 := c.next(), c.next()
	c.next()
	if p0&0x08 != 0 || p1&0x04 == 0 { // fixed bits; APX uses them
		return false
	}
	*x = extension{register(^p0&0x80) >> 4, register(^p0&0x40) >> 3, register(^p0&0x20) >> 2}
	in.vvvv, in.wide = register(^p1>>3&15), p1&0x80 != 0
	in.setPP(p1)
	if !in.setMap(p0&7, false) {
		return false
	}
	in.op = c.next()
	in.limit386(x)
	return !c.bad
}

// setPP sets the prefix that the two low bits stand for.
func (in *inst) setPP(p byte) {
	switch p & 3 {
	case 1:
		in.small = true
	case 2:
		in.repeat = 0xf3
	case 3:
		in.repeat = 0xf2
	}
}

func (in *inst) setMap(m byte, xop bool) bool {
	switch {
	case xop && m >= 8 && m <= 10:
		in.space = mapXOP8 + opcodeMap(m-8)
	case !xop && m >= 1 && m <= 3:
		in.space = map0F + opcodeMap(m-1)
	case !xop && in.op == 0x62 && (m == 5 || m == 6):
		in.space = map5 + opcodeMap(m-5)
	default:
		return false
	}
	return true
}
