package arm64

// CallBefore reports whether a call instruction ends at pc, so that pc can be a return address. If the call is
// direct, target is where it leads, perhaps a stub outside of this range.
func (c *Code) CallBefore(pc uint64) (target uint64, direct, ok bool) {
	i, ok := c.at(pc - size)
	if !ok || pc%size != 0 || !i.IsCall() {
		return 0, false, false
	}
	if i.flow() == flowCall {
		return i.target(pc - size), true, true
	}
	return 0, false, true
}

// slotReach is how many instructions before a call through a register are read for what loaded that.
const slotReach = 8

// CallSlot reads a call that ends at pc through a fixed word of memory, as calls into other modules are without a
// PLT: adrp xM, page; ldr xN, [xM, #offset]; blr xN. slot is the address of the word that holds the target.
func (c *Code) CallSlot(pc uint64) (slot uint64, ok bool) {
	i, ok := c.at(pc - size)
	if !ok || i.flow() != flowCallAny {
		return 0, false
	}
	return c.loadedFrom(pc-size, i.rn(), slotReach)
}

// loadedFrom returns the address of the word that r was loaded from by "adrp; ldr" among the reach instructions
// before addr, with nothing in between that leaves the order of the code.
func (c *Code) loadedFrom(addr uint64, r register, reach int) (uint64, bool) {
	page, offset := sp, uint64(0) // sp: the load was not met yet
	for range reach {
		addr -= size
		i, ok := c.at(addr)
		switch {
		case !ok || i.flow() != flowNext:
			return 0, false
		case page == sp && i.Is(0xffc00000, 0xf9400000) && i.rd() == r: // ldr x, [x, #n]
			page, offset = i.rn(), uint64(i.Field(10, 12))*8
		case page != sp && i.Is(0x9f000000, 0x90000000) && i.rd() == page:
			return i.page(addr) + offset, true
		case page == sp && i.writes(r), page != sp && i.writes(page):
			return 0, false
		}
	}
	return 0, false
}

// page is what adrp at addr gives.
func (i Inst) page(addr uint64) uint64 {
	n := i.Signed(5, 19)<<2 | int64(i.Field(29, 2))
	return addr&^0xfff + uint64(n<<12)
}

// Jump reads a stub at pc, as a procedure linkage table and linkers' veneers have them, behind bti if there is one. to
// is the address of code that it leads to, or with slot that of the word that holds it. It reports false where other
// code is.
//
// Source: ELF for the Arm 64-bit Architecture, "Procedure Linkage Table": adrp x16; ldr x17, [x16, #n]; add x16, x16,
// #n; br x17, with autia1716 in front of it where what the word holds is signed; and of veneers, bfd/elfnn-aarch64.c of
// binutils: adrp x16; add x16, x16, #n; br x16.
func (c *Code) Jump(pc uint64) (to uint64, slot, ok bool) {
	for range 2 {
		if i, ok := c.at(pc); ok && i.isMark() {
			pc += size
		}
	}
	i, ok := c.at(pc)
	if ok && i.flow() == flowJump {
		return i.target(pc), false, true
	}
	if !ok || !i.Is(0x9f00001f, 0x90000010) { // adrp x16
		return 0, false, false
	}
	page := i.page(pc)
	for range 4 {
		pc += size
		i, ok = c.at(pc)
		switch {
		case !ok:
			return 0, false, false
		case i == 0xd503219f: // autia1716
		case i.Is(0xffc003ff, 0xf9400211): // ldr x17, [x16, #n]
			to, slot = page+uint64(i.Field(10, 12))*8, true
		case i.Is(0xffc003ff, 0x91000210): // add x16, x16, #n
			if !slot {
				to = page + uint64(i.Field(10, 12))
			}
		case i.flow() == flowSlot && i.Is(0xfefff800, 0xd61f0000):
			return to, slot, to != 0
		default:
			return 0, false, false
		}
	}
	return 0, false, false
}

// signalReturn is "mov x8, #139; svc #0", the trampoline of the vDSO and of musl.
// Sources: linux/arch/arm64/kernel/vdso/sigreturn.S, musl src/signal/aarch64/restore.s.
const signalReturn = "\x68\x11\x80\xd2\x01\x00\x00\xd4"

// SignalReturn reports whether code[at] is an instruction of a signal trampoline, where at is the place of the exact
// PC in bytes read around it: 4 before and 8 from it on are enough.
func SignalReturn(code []byte, at int) bool {
	for _, start := range [...]int{at, at - size} {
		if start >= 0 && start+len(signalReturn) <= len(code) && string(code[start:start+len(signalReturn)]) ==
			signalReturn {
			return true
		}
	}
	return false
}
