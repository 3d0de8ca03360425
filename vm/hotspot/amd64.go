package hotspot

import "github.com/fpstack/fpstack/regs"

// onAMD64 is what HotSpot does on x86-64.
// Sources: src/hotspot/cpu/x86/frame_x86.hpp; generate_call_stub in stubGenerator_x86_64.cpp there.
var onAMD64 = port{
	arch:     regs.AMD64,
	method:   regs.AMD64RBX,
	bytecode: regs.AMD64R13,
	saved: map[regs.Reg]int{regs.AMD64RBX: 7, regs.AMD64R12: 8, regs.AMD64R13: 9, regs.AMD64R14: 10,
		regs.AMD64R15: 11},
	bcpSlot: func(version int) int {
		if version == oldest { // JDK 9 put the mirror of the class in between
			return 7
		}
		return 8
	},
	before: codeBefore, behind: codeBehind,
	calls: endsWithCall, maxCall: 7,
	interpreted: (*step).interpreted, frameless: (*step).frameless,
	compiled: (*step).compiled, wrapper: (*step).wrapper, routine: (*step).routine,
}

// numbered are the registers as instructions count them.
var numbered = [16]regs.Reg{regs.AMD64RAX, regs.AMD64RCX, regs.AMD64RDX, regs.AMD64RBX, regs.AMD64RSP, regs.AMD64RBP,
	regs.AMD64RSI, regs.AMD64RDI, regs.AMD64R8, regs.AMD64R9, regs.AMD64R10, regs.AMD64R11, regs.AMD64R12,
	regs.AMD64R13, regs.AMD64R14, regs.AMD64R15}

// endsWithCall reports whether the last instruction of code, which is seven bytes, is a call, or may be one.
func endsWithCall(code []byte) bool {
	longest := len(code)
	if code[longest-5] == 0xe8 { // call rel32
		return true
	}
	for n := 2; n <= longest; n++ { // call r/m64, of as many bytes
		if c := code[longest-n:]; c[0] == 0xff && c[1]&0x38 == 0x10 {
			return true
		}
	}
	return false
}
