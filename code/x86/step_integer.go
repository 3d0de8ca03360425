package x86

// The arithmetic of opcodes 00-3F and group 1, bits 3-5 of opcode or ModRM.
const (
	opAdd = 0
	opAnd = 4
	opSub = 5
	opCmp = 7
)

// stepOne applies a one-byte opcode to what it writes. Source: Intel SDM volume 2, table A-2.
func (s *state) stepOne(in *inst) {
	op := in.op
	switch {
	case op < 0x40:
		s.stepArithmetic(in)
	case op < 0x50: // 386: inc, dec
		s.set(in.low(), s.regs[in.low()].plus(1-2*int64(op>>3&1)))
	case op == 0x63 && in.mode64, op == 0x69, op == 0x6b:
		s.set(in.reg, value{})
	case op >= 0x80 && op <= 0x83:
		s.group1(in)
	case op == 0x86:
		s.spoil(in, true)
		s.set(in.byteRegister(in.reg), value{})
	case op == 0x87:
		s.exchange(in)
	case op == 0x88:
		s.spoil(in, true)
	case op == 0x89:
		s.moveTo(in, s.regs[in.reg])
	case op == 0x8a:
		s.set(in.byteRegister(in.reg), value{})
	case op == 0x8b:
		s.moveFrom(in)
	case op == 0x8c:
		s.spoil(in, false)
	case op == 0x8d:
		s.loadAddress(in)
	case op > 0x90 && op < 0x98 || op == 0x90 && in.rm != 0:
		s.swap(rax, in.low())
	case op >= 0xb0 && op < 0xb8:
		s.set(in.byteRegister(in.low()), value{})
	case op >= 0xb8 && op < 0xc0:
		s.set(in.low(), in.constant())
	default:
		s.stepOther(in)
	}
}

// stepOther applies the rest of the one-byte opcodes.
func (s *state) stepOther(in *inst) {
	switch op := in.op; {
	case op == 0x98 || op == 0x9f || op >= 0xa0 && op <= 0xa1 || op >= 0xd4 && op <= 0xd7,
		op == 0xe4 || op == 0xe5 || op == 0xec || op == 0xed:
		s.set(rax, value{})
	case op == 0x99:
		s.set(rdx, value{})
	case op >= 0x6c && op <= 0x6f, op >= 0xa4 && op <= 0xa7, op >= 0xaa && op <= 0xaf:
		s.strings(in)
	case op == 0xc0 || op == 0xd0 || op == 0xd2:
		s.spoil(in, true)
	case op == 0xc1 || op == 0xd1 || op == 0xd3:
		s.spoil(in, false)
	case op == 0xc6:
		s.spoil(in, true)
	case op == 0xc7:
		s.moveTo(in, in.constant())
	case op == 0xcd: // int: 386 system call
		s.set(rax, value{})
	case op == 0xf6 || op == 0xf7:
		s.group3(in)
	case op == 0xfe:
		s.spoil(in, true)
	case op == 0xff && in.reg&7 < 2:
		s.spoil(in, false)
	}
}

// constant is the immediate as a value of a whole register.
func (in *inst) constant() value {
	if in.small && !in.wide || in.imm < -maxOffset || in.imm > maxOffset {
		return value{}
	}
	// A 32-bit move clears the upper half: the same number only where it is not negative.
	if in.mode64 && !in.wide && in.imm < 0 {
		return value{}
	}
	return value{kind: constant, off: int32(in.imm)}
}

func (s *state) moveTo(in *inst, v value) {
	if !in.native() && v.kind != constant {
		v = value{}
	}
	s.setOperand(in, v)
}

func (s *state) moveFrom(in *inst) {
	v := s.operand(in)
	if !in.native() || in.thread {
		v = value{}
	}
	s.set(in.reg, v)
}

func (s *state) loadAddress(in *inst) {
	v := s.address(in)
	if !in.native() {
		v = value{}
	}
	s.set(in.reg, v)
}

func (s *state) exchange(in *inst) {
	if !in.isMem && in.native() {
		s.swap(in.reg, in.rm)
		return
	}
	s.spoil(in, false)
	s.set(in.reg, value{})
}

func (s *state) swap(a, b register) {
	va, vb := s.regs[a], s.regs[b]
	s.set(a, vb)
	s.set(b, va)
}

func (s *state) stepArithmetic(in *inst) {
	kind := in.op >> 3 & 7
	switch in.op & 7 {
	case 0:
		if kind != opCmp {
			s.spoil(in, true)
		}
	case 1:
		if kind == opCmp {
			s.compare(in, in.reg, in.rm)
			return
		}
		s.setOperand(in, in.sum(kind, s.operand(in), s.regs[in.reg]))
	case 2:
		if kind != opCmp {
			s.set(in.byteRegister(in.reg), value{})
		}
	case 3:
		if kind == opCmp {
			s.compare(in, in.reg, in.rm)
			return
		}
		s.set(in.reg, in.sum(kind, s.regs[in.reg], s.operand(in)))
	case 4, 5:
		if kind != opCmp {
			s.set(rax, value{})
		}
	}
}

// group1 is arithmetic with an immediate.
func (s *state) group1(in *inst) {
	kind := byte(in.reg & 7)
	switch {
	case kind == opCmp:
	case in.op == 0x80 || in.op == 0x82:
		s.spoil(in, true)
	default:
		s.setOperand(in, in.sum(kind, s.operand(in), value{kind: constant, off: int32(in.imm)}))
	}
}

// sum adds or subtracts a constant; the result of any other operation is unknown.
func (in *inst) sum(kind byte, a, b value) value {
	switch {
	case !in.native():
	case kind == opAdd && b.kind == constant:
		return a.plus(int64(b.off))
	case kind == opAdd && a.kind == constant:
		return b.plus(int64(a.off))
	case kind == opSub && b.kind == constant:
		return a.plus(-int64(b.off))
	}
	return value{}
}

// compare remembers which register was compared with SP: where a stack probe loop ends,
// they are equal.
func (s *state) compare(in *inst, a, b register) {
	switch {
	case in.isMem || !in.native():
	case a == rsp:
		s.compared = b
	case b == rsp:
		s.compared = a
	}
}

// group3 is test, not, neg, mul, div.
func (s *state) group3(in *inst) {
	switch kind := in.reg & 7; {
	case kind >= 4:
		s.set(rax, value{})
		if in.op == 0xf7 {
			s.set(rdx, value{})
		}
	case kind >= 2:
		s.spoil(in, in.op == 0xf6)
	}
}

// strings applies the string instructions to their pointers.
func (s *state) strings(in *inst) {
	if in.repeat != 0 {
		s.set(rcx, value{})
	}
	switch in.op {
	case 0xaa, 0xab, 0xae, 0xaf, 0x6c, 0x6d:
		s.set(rdi, value{})
	case 0xac, 0xad:
		s.set(rax, value{})
		s.set(rsi, value{})
	case 0x6e, 0x6f:
		s.set(rsi, value{})
	default:
		s.set(rsi, value{})
		s.set(rdi, value{})
	}
}
