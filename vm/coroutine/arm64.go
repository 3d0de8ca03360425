package coroutine

import (
	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

var onARM64 = port{isa: emulate.ARM64, first: regs.ARM64X0, last: regs.ARM64LR, keeps: keptOnARM64,
	reader: readARM64, taken: takenOnARM64}

// keptOnARM64 implements port. Source: AAPCS64, 6.1.1.
func keptOnARM64(r regs.Reg) bool { return r >= regs.ARM64X0+19 }

// readARM64 implements port. Source: Arm Architecture Reference Manual for A-profile, C6.2.
func readARM64(index field) reader {
	var constants [32]int64 // of registers, where a constant was put into one; 31 is 0
	return func(code []byte, pc mem.Addr) (out instruction, ok bool) {
		if len(code) < arm64.Size {
			return out, false
		}
		in := arm64.Inst(order.Uint32(code))
		out.size = arm64.Size
		to, from := in.Field(0, 5), in.Field(16, 5)
		switch {
		case in>>26 == 0x25: // bl
			out.called = pc + mem.Addr(in.Signed(0, 26)*arm64.Size)
		case to == 31:
		case in.Is(0x7f800000, 0x52800000): // mov
			constants[to] = int64(in.Field(5, 16)) << (16 * in.Field(21, 2))
		case in.Is(0x7f800000, 0x12800000):
			constants[to] = ^(int64(in.Field(5, 16)) << (16 * in.Field(21, 2)))
		case in.Is(0x7fe0ffe0, 0x2a0003e0): // of another register
			constants[to] = constants[from]
		}
		// b, br, ret
		out.leaves = in>>26 == 0x05 || in.Is(0xff9ff000, 0xd61f0000)
		if size := 1 << (in >> 30); in.Is(0x3fc00000, 0x39000000) && size >= index.size && // str, strh, strb
			int64(in.Field(10, 12))*int64(size) == index.offset {
			out.value, out.stores = constants[to], true
		}
		return out, true
	}
}

// takenOnARM64 implements port: a page of code and what is added to it, one near the other.
func takenOnARM64(code []byte, at module.Vaddr, starts map[module.Vaddr]module.Vaddr) (out []taken) {
	const near = 16 * arm64.Size
	var pages [32]struct{ at, page module.Vaddr }
	for ; len(code) >= arm64.Size && len(out) < maxTaken; code, at = code[arm64.Size:], at+arm64.Size {
		in := arm64.Inst(order.Uint32(code))
		to, from := in.Field(0, 5), in.Field(5, 5)
		offset := in.Signed(5, 19)<<2 | int64(in.Field(29, 2))
		var f module.Vaddr
		switch page := &pages[from]; {
		case in.Is(0x9f000000, 0x90000000): // adrp
			pages[to].at, pages[to].page = at, at&^0xfff+module.Vaddr(offset<<12)
			continue
		case in.Is(0x9f000000, 0x10000000): // adr
			f = at + module.Vaddr(offset)
		case in.Is(0xffc00000, 0x91000000) && page.at != 0 && at-page.at <= near: // add
			f = page.page + module.Vaddr(in.Field(10, 12))
		default:
			continue
		}
		if _, ok := starts[f]; ok {
			out = append(out, taken{at, f})
		}
	}
	return out
}
