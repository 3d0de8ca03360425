package x86

// flow says where control goes after an instruction.
type flow uint8

const (
	flowNext     flow = iota
	flowCond          // to the target or the next instruction
	flowJump          // to the target
	flowIndirect      // jump through a register or table in memory
	flowSlot          // jump through a word in memory, as in a PLT: leaves the function
	flowCall          // direct, to the target
	flowCallAny       // indirect
	flowReturn
	flowEnd // ud2, hlt, int3: nothing follows
)

// flow classifies the instruction. Source: Intel SDM volume 2, tables.
func (in *inst) flow() flow {
	if in.vex {
		return flowNext
	}
	switch in.space {
	case mapOne:
		return in.flowOne()
	case map0F:
		switch {
		case in.op&0xf0 == 0x80:
			return flowCond
		case in.op == 0x0b || in.op == 0xb9 || in.op == 0xff || in.op == 0x07 || in.op == 0x35:
			return flowEnd // ud2, ud1, ud0, sysret, sysexit
		}
	}
	return flowNext
}

func (in *inst) flowOne() flow {
	switch op := in.op; {
	case op&0xf0 == 0x70, op&0xfc == 0xe0:
		return flowCond
	case op == 0xe8:
		return flowCall
	case op == 0xe9 || op == 0xeb:
		return flowJump
	case op == 0xc2 || op == 0xc3:
		return flowReturn
	case op == 0xca, op == 0xcb, op == 0xcf, op == 0xea, op == 0xcc, op == 0xf4:
		return flowEnd // far returns, far jump, int3, hlt
	case op == 0x9a:
		return flowCallAny
	case op == 0xff:
		return in.flowFF()
	}
	return flowNext
}

func (in *inst) flowFF() flow {
	switch in.reg & 7 {
	case 2, 3:
		return flowCallAny
	case 4:
		// A switch table needs an index; memory without one is a PLT slot or a method.
		if in.isMem && in.index == noReg {
			return flowSlot
		}
		return flowIndirect
	case 5:
		return flowEnd
	}
	return flowNext
}

// isCall reports a near call, direct or indirect.
func (in *inst) isCall() bool {
	f := in.flow()
	return f == flowCall || f == flowCallAny && in.op == 0xff && in.reg&7 == 2
}
