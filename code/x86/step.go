package x86

// step applies an instruction that is not a call to s. Jumps leave the state alone.
func (s *state) step(in *inst) {
	compared := s.compared
	s.compared = noReg
	if in.vex {
		s.stepVector(in)
		return
	}
	switch in.space {
	case mapOne:
		if in.flow() == flowCond {
			s.compared = compared
			return
		}
		if !s.stepStack(in) {
			s.stepOne(in)
		}
	case map0F:
		if in.flow() == flowCond {
			s.compared = compared
			return
		}
		s.stepTwo(in)
	case map0F38:
		// movbe, crc32, adcx, adox; F1 without prefix stores.
		if in.op == 0xf0 || in.op == 0xf1 && in.repeat == 0xf2 || in.op == 0xf6 {
			s.set(in.reg, value{})
		}
	case map0F3A:
		s.stepExtract(in)
	}
}

// set writes a register. An SP of which nothing is known is a new base: what is pushed
// from there on can still be followed.
func (s *state) set(r register, v value) {
	if r == rsp {
		if v = s.dereferenced(v); v.kind != relative {
			v = s.fresh()
		}
	}
	s.regs[r] = v
}

// native reports whether the operand size is that of a stack word.
func (in *inst) native() bool {
	if in.mode64 {
		return in.wide
	}
	return !in.small
}

// stackSize is the number of bytes a push or pop moves.
func (in *inst) stackSize() int64 {
	if in.small && !in.wide {
		return 2
	}
	return wordSize(in.mode64)
}

// address gives the symbolic address of a memory operand.
func (s *state) address(in *inst) value {
	if !in.isMem || in.thread || in.index != noReg || in.base >= regRA || in.addr {
		return value{}
	}
	return s.dereferenced(s.regs[in.base]).plus(in.disp)
}

// operand reads the ModRM operand as a full word.
func (s *state) operand(in *inst) value {
	if in.isMem {
		return s.load(s.address(in))
	}
	return s.regs[in.rm]
}

// setOperand writes v to the ModRM operand.
func (s *state) setOperand(in *inst, v value) {
	if in.isMem {
		s.store(s.address(in), v)
	} else {
		s.set(in.rm, v)
	}
}

// byteRegister maps an operand number of a byte instruction: 4-7 are ah, ch, dh, bh
// without REX.
func (in *inst) byteRegister(r register) register {
	if !in.rex && r >= 4 && r < 8 {
		return r - 4
	}
	return r
}

// spoil makes the ModRM operand unknown; asByte for byte instructions.
func (s *state) spoil(in *inst, asByte bool) {
	switch {
	case in.isMem:
		s.store(s.address(in), value{})
	case asByte:
		s.set(in.byteRegister(in.rm), value{})
	default:
		s.set(in.rm, value{})
	}
}

// low returns the register in the low three bits of the opcode, extended by REX.B.
func (in *inst) low() register { return register(in.op&7) | in.rm&8 }
