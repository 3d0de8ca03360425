package x86

// stepStack applies the instructions that move SP by themselves. It reports false for all
// others.
func (s *state) stepStack(in *inst) bool {
	size := in.stackSize()
	switch op := in.op; {
	case op >= 0x50 && op < 0x58:
		s.pushRegister(in, in.low())
	case op >= 0x58 && op < 0x60:
		s.popRegister(in, in.low())
	case op == 0x60:
		s.pushAll(size)
	case op == 0x61:
		s.popAll(size)
	case op == 0x68 || op == 0x6a || op == 0x9c, op == 0x06, op == 0x0e, op == 0x16, op == 0x1e:
		s.push(value{}, size) // immediate, flags, segment registers
	case op == 0x9d, op == 0x07, op == 0x17, op == 0x1f:
		s.pop(size)
	case op == 0xff && in.reg&7 == 6:
		v := s.operand(in)
		if size != wordSize(in.mode64) {
			v = value{}
		}
		s.push(v, size)
	case op == 0x8f:
		// The address is computed after SP has moved: SDM, POP.
		v := s.pop(size)
		s.setOperand(in, v)
	case op == 0xc8:
		s.enter(in, size)
	case op == 0xc9:
		s.set(rsp, s.regs[rbp])
		s.popRegister(in, rbp)
	default:
		return false
	}
	return true
}

func (s *state) pushRegister(in *inst, r register) {
	v := s.regs[r]
	if in.stackSize() != wordSize(in.mode64) {
		v = value{}
	}
	s.push(v, in.stackSize())
}

func (s *state) popRegister(in *inst, r register) {
	v := s.pop(in.stackSize())
	if in.stackSize() != wordSize(in.mode64) {
		v = value{}
	}
	s.set(r, v)
}

// enter is push rbp; mov rsp, rbp; sub n, rsp. Nested levels, which no compiler uses, make
// SP unknown.
func (s *state) enter(in *inst, size int64) {
	s.push(s.regs[rbp], size)
	s.set(rbp, s.regs[rsp])
	if in.imm>>16 != 0 {
		s.set(rsp, value{})
		return
	}
	s.set(rsp, s.regs[rsp].plus(-(in.imm & 0xffff)))
}

func (s *state) pushAll(size int64) {
	before := s.regs
	for r := rax; r <= rdi; r++ {
		s.push(before[r], size)
	}
}

func (s *state) popAll(size int64) {
	for r := rdi + 1; r > rax; r-- {
		v := s.pop(size)
		if r-1 != rsp {
			s.set(r-1, v)
		}
	}
}
