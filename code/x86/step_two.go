package x86

// stepTwo applies an opcode of the 0F map to the general registers it writes. Source: Intel
// SDM volume 2, table A-3.
func (s *state) stepTwo(in *inst) {
	op := in.op
	switch {
	case op&0xf0 == 0x40, op == 0xaf, op >= 0xb6 && op <= 0xb8, op >= 0xbc && op <= 0xbf, op == 0x02, op == 0x03:
		s.set(in.reg, value{}) // cmovcc, imul, movzx, popcnt, bit scans, movsx
	case op&0xf0 == 0x90, op == 0xb0:
		s.spoil(in, true) // setcc, cmpxchg
	case op == 0xab || op == 0xb3 || op == 0xbb || op == 0xb1, op == 0xa4 || op == 0xa5 || op == 0xac || op == 0xad:
		s.spoil(in, false)
	case op == 0xba && in.reg&7 > 4:
		s.spoil(in, false)
	case op == 0xc0:
		s.spoil(in, true)
		s.set(in.byteRegister(in.reg), value{})
	case op == 0xc1:
		s.spoil(in, false)
		s.set(in.reg, value{})
	case op >= 0xc8:
		if op < 0xd0 {
			s.set(in.low(), value{}) // bswap
		} else if op == 0xd7 {
			s.set(in.reg, value{}) // pmovmskb
		}
	case op == 0x7e && in.repeat == 0, op == 0x20 || op == 0x21:
		s.spoil(in, false) // movd, control registers
	default:
		s.stepTwoRare(in)
	}
	if op == 0xb0 || op == 0xb1 {
		s.set(rax, value{})
	}
}

func (s *state) stepTwoRare(in *inst) {
	switch in.op {
	case 0x50, 0xc5: // movmskps, pextrw
		s.set(in.reg, value{})
	case 0x2c, 0x2d:
		if in.repeat != 0 { // cvttss2si, cvtsd2si
			s.set(in.reg, value{})
		}
	case 0xc7:
		if in.isMem { // cmpxchg8b
			s.set(rax, value{})
			s.set(rdx, value{})
		} else { // rdrand, rdseed, rdpid
			s.set(in.rm, value{})
		}
	case 0xae:
		if !in.isMem && in.repeat == 0xf3 && in.reg&7 < 2 { // rdfsbase, rdgsbase
			s.set(in.rm, value{})
		}
	case 0x1e:
		if !in.isMem && in.repeat == 0xf3 && in.reg&7 == 1 { // rdssp
			s.set(in.rm, value{})
		}
	case 0x05: // syscall
		s.clear(rax, rcx, r11)
	case 0x34: // sysenter
		s.clear(rax)
	case 0xa2: // cpuid
		s.clear(rax, rbx, rcx, rdx)
	case 0x01, 0x31, 0x32, 0x33: // xgetbv, rdtsc, rdmsr, rdpmc; 01 also has rdtscp
		s.clear(rax, rdx)
		if in.op == 0x01 {
			s.clear(rcx)
		}
	}
}

func (s *state) clear(registers ...register) {
	for _, r := range registers {
		s.set(r, value{})
	}
}

// stepExtract applies pextr and extractps, and the comparisons that count in rcx.
func (s *state) stepExtract(in *inst) {
	switch {
	case in.op >= 0x14 && in.op <= 0x17:
		s.spoil(in, false)
	case in.op == 0x61 || in.op == 0x63:
		s.set(rcx, value{})
	}
}

// stepVector applies VEX, EVEX and XOP instructions to the general registers they write.
// Most write none. Source: Intel SDM volume 2, tables and the pages of BMI.
func (s *state) stepVector(in *inst) {
	switch in.space {
	case map0F:
		switch op := in.op; {
		case op == 0x50 || op == 0xd7 || op == 0xc5 || op == 0x93: // movmsk, pmovmskb, pextrw, kmov
			s.set(in.reg, value{})
		case (op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79) && in.repeat != 0: // cvt to integer
			s.set(in.reg, value{})
		case op == 0x7e && in.repeat == 0:
			s.spoil(in, false)
		}
	case map0F38:
		switch in.op {
		case 0xf2, 0xf5, 0xf7: // andn, bzhi, pdep, pext, bextr, shifts
			s.set(in.reg, value{})
		case 0xf3: // blsr, blsmsk, blsi
			s.set(in.vvvv, value{})
		case 0xf6: // mulx
			s.set(in.reg, value{})
			s.set(in.vvvv, value{})
		}
	case map0F3A:
		if in.op == 0xf0 { // rorx
			s.set(in.reg, value{})
		} else {
			s.stepExtract(in)
		}
	case map5:
		if op := in.op; (op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79) && in.repeat != 0 || op == 0x7e {
			s.set(in.reg, value{})
		}
	case mapXOP9, mapXOPA:
		s.set(in.reg, value{})
		s.set(in.vvvv, value{})
	}
}
