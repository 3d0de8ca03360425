package x86

// maxCall is the longest call: prefixes, REX, opcode, ModRM, SIB and 32-bit displacement.
const maxCall = 10

// CallBefore reports whether a call instruction ends at pc, so that pc can be a return
// address. If the call is direct, target is where it leads, perhaps a PLT entry outside of
// this range. A direct call within the range is preferred where the bytes can be read in
// several ways.
func (c *Code) CallBefore(pc uint64) (target uint64, direct, ok bool) {
	if pc-c.Start > uint64(len(c.Data)) {
		return 0, false, false
	}
	for n := uint64(2); n <= maxCall; n++ {
		in, isInst := c.decode(pc - n)
		if !isInst || uint64(in.n) != n || !in.isCall() {
			continue
		}
		if in.flow() != flowCall {
			ok = true
			continue
		}
		if t := c.target(pc, in.imm); !direct || c.Contains(t) && !c.Contains(target) {
			target, direct = t, true
		}
	}
	if direct && ok && !c.Contains(target) {
		// A displacement that looks like a direct call to nowhere.
		return 0, false, true
	}
	return target, direct, ok || direct
}

// CallSlot reads a call through a fixed word of memory that ends at pc, as calls into other
// modules are without a PLT: call *disp(%rip), on 386 call *address. slot is the address of
// the word that holds the target.
func (c *Code) CallSlot(pc uint64) (slot uint64, ok bool) {
	const length = 6 // ff 15 disp32
	b := c.at(pc - length)
	if len(b) < length || b[0] != 0xff || b[1] != 0x15 {
		return 0, false
	}
	disp := uint32(b[2]) | uint32(b[3])<<8 | uint32(b[4])<<16 | uint32(b[5])<<24
	if !c.Mode64 {
		return uint64(disp), true
	}
	return pc + uint64(int64(int32(disp))), true
}

// StubKind says where an entry of a procedure linkage table leads.
type StubKind uint8

// The forms of stubs.
const (
	StubJump StubKind = iota // jmp TARGET: Value is the address of code
	// jmp *disp(%rip), 386 jmp *address: Value is the address of the word that holds the target
	StubSlot
	StubGOT   // 386, jmp *disp(%ebx): the word is at Value from the global offset table
	StubIndex // push $n: Value is the operand, which tells the relocation
)

// Stub is an entry of a procedure linkage table, or a jump that leads on as one does.
type Stub struct {
	Kind  StubKind
	Value uint64
}

// Stub reads the stub at pc, behind endbr or bnd if there is one. It reports false where other code is.
//
// Source: System V ABI supplements for AMD64 and i386, "Procedure Linkage Table"; the forms with endbr are
// those of binutils.
func (c *Code) Stub(pc uint64) (Stub, bool) {
	if IsEndbr(c.at(pc)) {
		pc += 4
	}
	in, ok := c.decode(pc)
	if !ok {
		return Stub{}, false
	}
	next := pc + uint64(in.n)
	switch f := in.flow(); {
	case f == flowJump:
		return Stub{StubJump, c.target(next, in.imm)}, true
	case f == flowSlot && in.thread:
	case f == flowSlot && in.base == regIP:
		return Stub{StubSlot, next + uint64(in.disp)}, true
	case f == flowSlot && in.base == noReg && !c.Mode64:
		return Stub{StubSlot, uint64(uint32(in.disp))}, true
	case f == flowSlot && in.base == rbx && !c.Mode64:
		return Stub{StubGOT, uint64(uint32(in.disp))}, true
	case in.space == mapOne && in.op == 0x68:
		return Stub{StubIndex, uint64(uint32(in.imm))}, true
	}
	return Stub{}, false
}

// IsEndbr reports whether b begins with endbr64 or endbr32: Intel SDM volume 2, ENDBR64.
func IsEndbr(b []byte) bool {
	return hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfa) || hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfb)
}
