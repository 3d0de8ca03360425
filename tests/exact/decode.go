package exact

// kind is what an instruction does to the chain of return addresses.
type kind uint8

const (
	other    kind = iota
	call          // pushes the address behind it
	ret           // pops an address and goes there
	pop           // pops one word into a register or memory
	jump          // jmp through a register or memory
	adjust        // moves SP by a distance: sub, add, and, lea d(%rsp), enter
	syscall_      // enters the kernel
	reserve       // loads a word that nobody else may write until it is stored
	store         // stores it, or says that somebody has
)

// instruction is what the truth needs to know of the code at a PC.
type instruction struct {
	kind kind
	len  int // bytes; known for calls and system calls alone
	// reads says that a call goes to the pop behind it: position-independent code of 386
	// reads its PC so, and no frame comes of it.
	reads bool
	// bits is the instruction itself where it reserves or stores.
	bits uint32
}

// maxInstruction is the longest instruction, Intel SDM volume 2, 2.3.11.
const maxInstruction = 15

// decode reads the instruction at the start of b, which may be shorter than the instruction:
// then it is other. wide says that the code is 64-bit.
func decode(b []byte, wide bool) instruction {
	at := prefixes(b, wide)
	op := func(i int) byte {
		if at+i < len(b) {
			return b[at+i]
		}
		return 0
	}
	reg := op(1) >> 3 & 7
	rmSP := op(1)&0xc7 == 0xc4 // register form; r12 is taken for rsp, which harms nobody
	switch o := op(0); {
	case o == 0xe8 && at+5 <= len(b):
		return instruction{kind: call, len: at + 5, reads: op(1)|op(2)|op(3)|op(4) == 0 && op(5)&0xf8 == 0x58}
	case o == 0xff && reg == 2:
		return instruction{kind: call, len: at + 1 + modRM(b[at+1:], wide)}
	case o == 0xff && reg == 4:
		return instruction{kind: jump}
	case o == 0xc3, o == 0xc2:
		return instruction{kind: ret}
	case o == 0x0f && (op(1) == 0x05 || op(1) == 0x34), o == 0xcd && op(1) == 0x80:
		return instruction{kind: syscall_, len: at + 2}
	case o&0xf8 == 0x58, o == 0x8f && reg == 0:
		return instruction{kind: pop}
	case (o == 0x81 || o == 0x83) && rmSP, // add, and, sub imm
		(o == 0x29 || o == 0x01) && rmSP,                       // sub, add reg to rsp
		(o == 0x2b || o == 0x03) && reg == 4,                   // sub, add from rm
		o == 0x8d && reg == 4 && op(1)&7 == 4 && op(2) == 0x24, // lea d(%rsp),%rsp
		o == 0xc8: // enter
		return instruction{kind: adjust}
	}
	return instruction{}
}

// prefixes returns how many prefix bytes b begins with.
func prefixes(b []byte, wide bool) int {
	n := 0
	for n < len(b) && n < maxInstruction-1 {
		switch c := b[n]; {
		case c == 0x66, c == 0x67, c == 0xf0, c == 0xf2, c == 0xf3,
			c == 0x26, c == 0x2e, c == 0x36, c == 0x3e, c == 0x64, c == 0x65:
		case wide && c&0xf0 == 0x40:
		default:
			return n
		}
		n++
	}
	return n
}

// modRM returns the length of a ModRM byte with the SIB byte and displacement that follow,
// Intel SDM volume 2, tables 2-2 and 2-3. Sixteen-bit addressing does not occur.
func modRM(b []byte, wide bool) int {
	if len(b) == 0 {
		return 1
	}
	mod, rm := b[0]>>6, b[0]&7
	if mod == 3 {
		return 1
	}
	n := 1
	if rm == 4 {
		n++
		if mod == 0 && len(b) > 1 && b[1]&7 == 5 {
			return n + 4
		}
	} else if mod == 0 && rm == 5 {
		return n + 4
	}
	switch mod {
	case 1:
		n++
	case 2:
		n += 4
	}
	return n
}
