package golang

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/view"
)

// arm64 is what runtime/asm_arm64.s does, and runtime/cgo/asm_arm64.s. Functions keep x30 at SP, and x29 below it. What
// runs on the system stack meanwhile, as the call of C that asks for the time, overwrites the one that
// runtime.cgocallback keeps so: its caller, crosscall2, has it too.
// Encodings: Arm Architecture Reference Manual for A-profile, C6.2.
var arm64 = port{
	arch:       regs.ARM64,
	g:          regs.ARM64X0 + 28,
	callLength: 4,
	call: func(code []byte) (int64, bool) {
		i := order.Uint32(code) // BL
		return int64(int32(i<<6)>>6) * 4, i>>26 == 0b100101
	},
	resumed:   resumedARM64,
	grown:     (*Runtime).grownARM64,
	tlsReader: "runtime.load_g",
	tls:       (*Runtime).readsTPIDR,
	refers:    refersARM64,
	calledC:   (*Runtime).calledCARM64,
	left:      16,
	entered:   []uint64{16},
	frame:     goFrame{sp: 16, fp: 48 + 176, ra: 0, size: 48},
	kept:      callFrame{fp: -8, ra: 0, size: 16, depth: 1, g: 0},
}

// resumedARM64 reads which registers gogo has yet to load from the gobuf that x5 points to: it loads PC last, into x6.
func resumedARM64(code []byte, now *regs.Registers, word func(mem.Addr) (uint64, error)) (regs.Registers, bool, error) {
	const buf, pc, branch = 5, 6, 0xd61f00c0        // BR x6
	const setSP, setSPMask = 0x9100001f, 0xfffffc1f // MOV SP, Xn
	const load, loadMask = 0xf9400000, 0xffc00000   // LDR Xt, [Xn, #i]
	next := *now
	at, ok := now.Get(regs.ARM64X0 + buf)
	for ; ok && len(code) >= 4; code = code[4:] {
		i := order.Uint32(code)
		switch to := regs.Reg(i & 31); {
		case i == branch:
			goesOn, known := next.Get(regs.ARM64X0 + pc)
			next.Set(regs.ARM64.PC, goesOn)
			return next, known, nil
		case i&setSPMask == setSP, i>>26 == 0b100101: // what is before it, and what it calls, is on the other stack
			return next, false, nil
		case i&loadMask == load && i>>5&31 == buf && (to == pc || to == regs.ARM64.FP || to == regs.ARM64.LR):
			v, err := word(mem.Addr(at + uint64(i>>10&0xfff)*wordSize))
			if err != nil {
				return next, false, err
			}
			next.Set(to, v)
		}
	}
	return next, false, nil
}

// calledCARM64 is where runtime.asmcgocall goes on behind the call of C that it made at sp. It makes it in two places,
// the second one where it was on this stack already, with 0 at SP.
func (r *Runtime) calledCARM64(sp mem.Addr, v *view.View) (mem.Addr, bool) {
	const call = 0xd63f0020 // BLR x1
	g, err := v.Word(sp)
	code, at, fail := r.codeOf(callC)
	if err != nil || fail != nil {
		return 0, false
	}
	pc := mem.Addr(0)
	for i := 0; i+4 <= len(code); i += 4 {
		if order.Uint32(code[i:]) != call {
			continue
		}
		pc = at + mem.Addr(i) + 4
		if g != 0 {
			break
		}
	}
	return pc, pc != 0
}

// grownARM64 are the registers with which the function goes on that called runtime.morestack, where that is the
// innermost: x30 leads there, x3 has what x30 was before. It is false once x30 was used again.
func (r *Runtime) grownARM64(now *regs.Registers) (regs.Registers, bool) {
	next := *now
	link, ok := now.Get(regs.ARM64.LR)
	caller, known := now.Get(regs.ARM64X0 + 3)
	if !ok || !known || !r.calledGrowth(mem.Addr(link)) {
		return next, false
	}
	next.Set(regs.ARM64.PC, link)
	next.Set(regs.ARM64.LR, caller)
	return next, true
}

// readsTPIDR is the offset from the thread pointer by which the code loads g: a constant in x27, or a word that the
// loader has filled in.
// Source: runtime/tls_arm64.s; "ELF for the Arm 64-bit Architecture", 5.7.11 (initial exec, local exec).
func (r *Runtime) readsTPIDR(code []byte, at mem.Addr) int64 {
	const readTP, loadG = 0xd53bd040, 0xf87b681c // MRS x0, TPIDR_EL0; LDR x28, [x0, x27]
	const index, to = 27, 0x1f
	began, offset, page := false, int64(0), mem.Addr(0)
	for ; len(code) >= 4; code, at = code[4:], at+4 {
		i := order.Uint32(code)
		imm, shift := int64(i>>5&0xffff), i>>21&3*16
		switch {
		case i == readTP:
			began = true
		case !began:
		case i == loadG:
			if offset > 0 && offset%wordSize == 0 {
				return offset
			}
			return 0
		case i&to != index:
			return 0
		case i&0xff800000 == 0xd2800000: // MOVZ
			offset = imm << shift
		case i&0xff800000 == 0xf2800000: // MOVK
			offset = offset&^(0xffff<<shift) | imm<<shift
		case i&adrpMask == adrp:
			page = pageOf(i, at)
		case i&0xffc003e0 == 0xf9400000|index<<5 && r.memory != nil: // LDR x27, [x27, #i]
			v := view.Lasting(r.memory, r.budget)
			word, err := v.Word(page + mem.Addr(i>>10&0xfff*wordSize))
			if err != nil {
				return 0
			}
			offset = int64(word)
		default:
			return 0
		}
	}
	return 0
}

const adrp, adrpMask = 0x90000000, 0x9f000000

// pageOf is the page that ADRP at an address puts in its register.
func pageOf(i uint32, at mem.Addr) mem.Addr {
	pages := int64(int32(i<<8)>>13)<<2 | int64(i>>29&3)
	return at&^0xfff + mem.Addr(pages<<12)
}

// refersARM64 lists what ADRP refers to with the instruction behind it, which adds to the page, loads from it or stores
// there.
func refersARM64(code []byte, at mem.Addr) (out []mem.Addr) {
	for ; len(code) >= 8; code, at = code[4:], at+4 {
		i, next := order.Uint32(code), order.Uint32(code[4:])
		if i&adrpMask != adrp || next>>5&31 != i&31 {
			continue
		}
		switch page, n := pageOf(i, at), mem.Addr(next>>10&0xfff); {
		case next&0xffc00000 == 0x91000000: // ADD Xd, Xn, #n
			out = append(out, page+n)
		case next&0x3f000000 == 0x39000000: // LDR, STR with an unsigned offset, by their size
			out = append(out, page+n<<(next>>30))
		}
	}
	return out
}
