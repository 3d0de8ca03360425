package arm64

// flow says where control goes after an instruction.
type flow uint8

const (
	flowNext     flow = iota
	flowCond          // to the target or the next instruction
	flowJump          // to the target
	flowIndirect      // to what a register holds: the cases of a switch, or a tail call
	flowSlot          // through x16 or x17, as stubs and veneers do: leaves the function
	flowCall          // direct, to the target
	flowCallAny       // indirect
	flowReturn
	flowEnd // udf, brk, hlt, eret: nothing follows
)

// flow classifies the instruction. Source: C4.1, "Branches, Exception Generating and System instructions".
func (i Inst) flow() flow {
	switch {
	case i.Is(0x7c000000, 0x14000000): // b, bl
		if i>>31 == 1 {
			return flowCall
		}
		return flowJump
	case i.Is(0xff00001f, 0x5500001f): // retaasppc, retabsppc
		return flowReturn
	// b.cond, bc.cond; cbz, cbnz, tbz, tbnz; cb of two registers or an immediate
	case i.Is(0xff000000, 0x54000000), i.Is(0x7c000000, 0x34000000), i.Is(0x7e000000, 0x74000000):
		return flowCond
	case i.Is(0xfefff000, 0xd63f0000): // blr, blraa, blrab
		return flowCallAny
	case i.Is(0xfefff000, 0xd61f0000): // br, braa, brab
		if r := i.rn(); r == x16 || r == x17 {
			return flowSlot
		}
		return flowIndirect
	case i.Is(0xfffff000, 0xd65f0000): // ret, retaa, retab
		return flowReturn
	case i.Is(0xffdff000, 0xd69f0000), i.Is(0xffff0000, 0), // eret, drps, udf
		i.Is(0xffe0001f, 0xd4200000), i.Is(0xffe0001f, 0xd4400000): // brk, hlt
		return flowEnd
	}
	return flowNext
}

// target is where a direct branch at addr leads.
func (i Inst) target(addr uint64) uint64 {
	switch {
	case i.Is(0x7c000000, 0x14000000):
		return addr + uint64(i.Signed(0, 26)*size)
	case i.Is(0x7e000000, 0x36000000): // tbz, tbnz
		return addr + uint64(i.Signed(5, 14)*size)
	case i.Is(0x7e000000, 0x74000000):
		return addr + uint64(i.Signed(5, 9)*size)
	}
	return addr + uint64(i.Signed(5, 19)*size)
}

// IsCall reports a call, direct or not.
func (i Inst) IsCall() bool {
	f := i.flow()
	return f == flowCall || f == flowCallAny
}

// isMark reports what stands before code and does nothing: bti, nop and the like.
func (i Inst) isMark() bool { return i.Is(0xffffff3f, 0xd503241f) || i == 0xd503201f }
