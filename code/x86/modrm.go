package x86

// modRM reads the ModRM byte, SIB and displacement. registersOnly ignores the mod bits
// (control register moves). Source: Intel SDM volume 2, section 2.1.5.
func (in *inst) modRM(c *cursor, x *extension, registersOnly bool) {
	b := c.next()
	in.hasModRM = true
	in.reg = register(b>>3&7) | x.r
	mod, rm := b>>6, register(b&7)
	if mod == 3 || registersOnly {
		in.rm = rm | x.b
		return
	}
	in.isMem = true
	if in.addressSize() == 2 {
		in.modRM16(c, mod, rm)
		return
	}
	in.base = rm | x.b
	size := [...]int{0, 1, 4}[mod]
	if rm == rsp {
		sib := c.next()
		in.base = register(sib&7) | x.b
		if index := register(sib>>3&7) | x.x; index != rsp {
			in.index, in.scale = index, sib>>6
		}
		if mod == 0 && sib&7 == 5 {
			in.base, size = noReg, 4
		}
	} else if mod == 0 && rm == rbp {
		in.base, size = noReg, 4
		if in.mode64 {
			in.base = regIP
		}
	}
	in.disp = c.signed(size)
}

// modRM16 reads a 16-bit address, which no stack access uses: only its length counts.
func (in *inst) modRM16(c *cursor, mod byte, rm register) {
	switch {
	case mod == 0 && rm == 6, mod == 2:
		c.signed(2)
	case mod == 1:
		c.signed(1)
	}
}
