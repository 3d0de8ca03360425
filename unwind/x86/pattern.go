package x86

import "github.com/fpstack/fpstack/unwind/cfi"

// Pattern finds the row at pc from the few instructions around it. pc is exact: an
// interrupted PC, or a return address as it is. atEntry says that pc is known to be a
// function's first instruction.
//
// It reports false where no pattern is met.
func (c *Code) Pattern(pc uint64, atEntry bool) (cfi.Row, bool) {
	b := c.at(pc)
	in, ok := decode(b, c.Mode64)
	if !ok {
		return cfi.Row{}, false
	}
	word := c.word()
	n := len(frameStart(b, c.Mode64))
	switch {
	case c.isDroppedCall(pc):
		return c.plainRow(pc, in.n, rsp, 2*word), true
	case atEntry, in.flow() == flowReturn, isEndbr(b), n != 0, c.isTrapLoop(pc):
		return c.plainRow(pc, in.n, rsp, word), true
	case c.behindPush(pc), b[0] == 0x5d && len(b) > 1 && b[1]&0xfe == 0xc2:
		// mov SP, FP behind push FP; pop FP in front of ret.
		return c.framed(c.plainRow(pc, in.n, rsp, 2*word)), true
	case in.space == mapOne && in.op == 0xc9:
		return c.framed(c.plainRow(pc, in.n, rbp, 2*word)), true
	}
	return cfi.Row{}, false
}

// framed adds the frame pointer saved below the return address.
func (c *Code) framed(row cfi.Row) cfi.Row {
	row.Regs = []cfi.RegRule{{Reg: c.dwarf(rbp), Rule: cfi.Rule{Kind: cfi.Offset, N: -2 * c.word()}}}
	return row
}

// isEndbr recognises endbr64 and endbr32: Intel SDM volume 2, ENDBR64.
func isEndbr(b []byte) bool {
	return hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfa) || hasPrefix(b, 0xf3, 0x0f, 0x1e, 0xfb)
}

// movFrame are the two encodings of mov SP, FP.
func movFrame(b []byte, mode64 bool) bool {
	if mode64 {
		return hasPrefix(b, 0x48, 0x89, 0xe5) || hasPrefix(b, 0x48, 0x8b, 0xec)
	}
	return hasPrefix(b, 0x89, 0xe5) || hasPrefix(b, 0x8b, 0xec)
}

// frameStart returns the bytes of push FP; mov SP, FP at the start of b, nil without.
func frameStart(b []byte, mode64 bool) []byte {
	if len(b) > 1 && b[0] == 0x55 && movFrame(b[1:], mode64) {
		return b[:2]
	}
	return nil
}

// behindPush reports whether pc is mov SP, FP with push FP in front.
func (c *Code) behindPush(pc uint64) bool {
	before := c.at(pc - 1)
	return len(before) > 0 && before[0] == 0x55 && movFrame(before[1:], c.Mode64)
}

// isDroppedCall reports whether pc is where a return thunk or retpoline goes on behind its
// inner call: lea 8(SP), SP; ret, or mov REG, (SP); ret, with the loop that catches
// speculation in front.
// Source: linux/arch/x86/lib/retpoline.S.
func (c *Code) isDroppedCall(pc uint64) bool {
	b := c.at(pc)
	in, ok := decode(b, c.Mode64)
	if !ok || in.space != mapOne || !in.native() || !in.isMem || in.index != noReg {
		return false
	}
	if next, ok := decode(b[in.n:], c.Mode64); !ok || next.flow() != flowReturn {
		return false
	}
	if in.base != rsp {
		return false
	}
	switch in.op {
	case 0x8d: // lea: only return thunks do this right in front of ret
		return in.reg == rsp && in.disp == c.word()
	case 0x89:
		return in.disp == 0 && c.behindTrapLoop(pc)
	}
	return false
}

// maxTrapLoop is the length of the longest known loop with its padding, in bytes.
const maxTrapLoop = 32

// behindTrapLoop reports whether a loop that catches speculation ends at pc.
func (c *Code) behindTrapLoop(pc uint64) bool {
	for n := uint64(2); n <= maxTrapLoop && c.Contains(pc-n); n++ {
		if c.isTrapLoop(pc - n) {
			return true
		}
	}
	return false
}

// isTrapLoop reports whether pc is in the loop pause; lfence; jmp back.
func (c *Code) isTrapLoop(pc uint64) bool {
	start, paused := pc, false
	for range 3 {
		b := c.at(pc)
		switch {
		case hasPrefix(b, 0xf3, 0x90):
			pc, paused = pc+2, true
		case hasPrefix(b, 0x0f, 0xae, 0xe8):
			pc, paused = pc+3, true
		case hasPrefix(b, 0xeb):
			in, ok := decode(b, c.Mode64)
			return ok && paused && in.imm < 0 && c.target(pc+2, in.imm) <= start
		default:
			return false
		}
	}
	return false
}
