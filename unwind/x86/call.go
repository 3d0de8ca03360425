package x86

import "encoding/binary"

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

// JumpTarget reads a jump at pc, as in a PLT entry, behind endbr or bnd if there is one.
// With slot false, target is the address of code; with slot true it is the address of the
// word that holds it (jmp *disp(%rip), 386: jmp *address).
func (c *Code) JumpTarget(pc uint64) (target uint64, slot, ok bool) {
	if isEndbr(c.at(pc)) {
		pc += 4
	}
	in, ok := c.decode(pc)
	if !ok {
		return 0, false, false
	}
	next := pc + uint64(in.n)
	switch f := in.flow(); {
	case f == flowJump:
		return c.target(next, in.imm), false, true
	case f == flowSlot && in.base == regIP && !in.thread:
		return next + uint64(in.disp), true, true
	case f == flowSlot && in.base == noReg && !c.Mode64 && !in.thread:
		return uint64(uint32(in.disp)), true, true
	}
	return 0, false, false
}

// isEndbr recognises endbr64 and endbr32: Intel SDM volume 2, ENDBR64.
func isEndbr(b []byte) bool {
	return hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfa) || hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfb)
}

// Slot386 reads a PLT entry of position-independent 386 code, jmp *disp(%ebx): the slot is at
// disp from the module's global offset table, which ebx holds.
func (c *Code) Slot386(pc uint64) (disp int32, ok bool) {
	b := c.at(pc)
	if isEndbr(b) {
		b = b[4:]
	}
	if c.Mode64 || len(b) < 6 || b[0] != 0xff || b[1] != 0xa3 {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(b[2:])), true
}
