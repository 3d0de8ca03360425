package waits

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
)

// machine is what has to be known of one architecture to tell how a call was made: what its instructions say, and where
// the kernel keeps the registers of what a signal interrupted.
type machine struct {
	// call is the length of the instruction that makes a system call; isCall recognises it.
	call   mem.Addr
	isCall func(b []byte) bool
	// stepsBack says that in a stop PC is already at that instruction again, if the call goes on when the thread does.
	stepsBack bool
	// loads reads the number of a call out of the bytes before the end of that instruction, numberBytes of them.
	loads func(b []byte) (number int64, ok bool)
	// generic is how the code of glibc's syscall(2) ends, with that instruction; "" where it looks like other code.
	generic string
	// called reports whether a call of a function ends where b does, callBytes of it.
	called func(b []byte) bool
	frame  contextLayout
}

// InCall reports whether a thread of that architecture ("amd64") that a stop found at pc is in the call from which it
// was to return to call, by what the kernel does to PC.
func InCall(arch string, call, pc mem.Addr) bool {
	m := machines[arch]
	return pc == call || m.stepsBack && pc+m.call == call
}

// Bytes that are read for the functions of a machine.
const (
	numberBytes = 32
	callBytes   = 7
)

// contextLayout is where struct ucontext, which the kernel makes for a handler, has what a call was made with, bytes.
type contextLayout struct {
	size       int    // of what is looked at
	args       [6]int // registers of the arguments
	number     int    // the register with the number
	result     int    // the register with the result
	sp, pc     int
	flags      int    // flags of the processor, 64 bits
	always     uint64 // those of them that are always set in programs
	never      uint64 // those that never are
	segment    int    // the segment of code, 0 for none
	userCode   uint64 // what that is in programs, 16 bits
	link       int    // uc_link, which is 0
	futex      int64  // the number of futex
	forgetting bool   // the number stands in the register of the result, and is lost where the call returned EINTR
}

// machines are known by the name of their architecture.
var machines = map[string]machine{
	"amd64": {
		call: 2, isCall: func(b []byte) bool { return string(b) == "\x0f\x05" }, loads: loadsX86,
		generic: "\x4c\x8b\x4c\x24\x08\x0f\x05", // mov 8(%rsp),%r9; syscall: its sixth argument is on the stack
		called:  calledX86,
		// Source: struct sigcontext_64 of linux/arch/x86/include/uapi/asm/sigcontext.h: registers from byte 40 on.
		frame: contextLayout{size: 40 + 24*8, args: [6]int{40 + 64, 40 + 72, 40 + 96, 40 + 16, 40, 40 + 8},
			number: 40 + 104, result: 40 + 104, sp: 40 + 120, pc: 40 + 128, flags: 40 + 136, always: 2,
			never: ^uint64(1<<22 - 1), segment: 40 + 144, userCode: 0x33, link: 8, futex: 202, forgetting: true},
	},
	"386": {called: calledX86},
	"arm64": {
		call: 4, isCall: func(b []byte) bool { return string(b) == "\x01\x00\x00\xd4" }, loads: loadsARM64,
		// Source: do_signal in linux/arch/arm64/kernel/signal.c.
		stepsBack: true,
		generic:   "\xe6\x03\x07\xaa\x01\x00\x00\xd4", // mov x6, x7; svc #0
		called:    calledARM64,
		// Source: struct ucontext and struct sigcontext of linux/arch/arm64/include/uapi/asm: fault_address from byte
		// 176 on, x0 to x30, sp, pc, pstate. Programs run with the mode and the masks of pstate 0.
		frame: contextLayout{size: 184 + 34*8, args: [6]int{184, 184 + 8, 184 + 16, 184 + 24, 184 + 32, 184 + 40},
			number: 184 + 64, result: 184, sp: 184 + 31*8, pc: 184 + 32*8, flags: 184 + 33*8, never: 0x3cf, link: 8,
			futex: 98},
	},
}

// loadsX86 reads mov eax, NUMBER; syscall: as libc's wrappers begin a call.
func loadsX86(b []byte) (int64, bool) {
	b = b[len(b)-7:]
	if b[0] != 0xb8 || b[5] != 0x0f || b[6] != 0x05 {
		return 0, false
	}
	return int64(u32(b[1:])), true
}

// calledX86 recognises E8 with four bytes and FF /2 with its operand. Source: Intel SDM, volume 2, CALL.
func calledX86(b []byte) bool {
	if b[callBytes-5] == 0xe8 {
		return true
	}
	for n := 2; n <= callBytes; n++ {
		if op := b[callBytes-n:]; op[0] == 0xff && op[1]>>3&7 == 2 {
			return true
		}
	}
	return false
}

// loadsARM64 reads mov x8, NUMBER and svc, with moves of arguments between the two.
// Source: Arm Architecture Reference Manual, C6.2: MOVZ, ORR (shifted register), SVC.
func loadsARM64(b []byte) (int64, bool) {
	at := len(b) - 4
	for first := true; at >= 0; at, first = at-4, false {
		switch i := binary.LittleEndian.Uint32(b[at:]); {
		case first:
			if i != 0xd4000001 {
				return 0, false
			}
		case i&0xffe0001f == 0xd2800008: // mov x8, #n
			return int64(i >> 5 & 0xffff), true
		case i&0x7fe0ffe0 == 0x2a0003e0 && i&31 < 8, i&0x7f800018 == 0x52800000: // mov xN, xM; mov xN, #n
		default:
			return 0, false
		}
	}
	return 0, false
}

// calledARM64 recognises bl, blr and their signed forms. Source: the same, BL, BLR, BLRA.
func calledARM64(b []byte) bool {
	i := binary.LittleEndian.Uint32(b[callBytes-4:])
	return i&0xfc000000 == 0x94000000 || i&0xfefff000 == 0xd63f0000
}
