package tokio

import (
	"debug/elf"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/mem"
)

// port is what differs between machines.
type port struct {
	isa *emulate.ISA
	// slots are the kinds of relocations of words through which functions of other modules are called.
	slots []uint32
	// call is the length of the instruction that begins code, at pc, 0 for none, and the function that it calls, if it
	// does.
	call func(code []byte, pc mem.Addr) (size int, to mem.Addr)
}

// ports are those of machines that are known. Source: the ABI of x86-64, table 4.10; AAELF64, 5.7.
var ports = map[uint16]*port{
	uint16(elf.EM_X86_64):  {emulate.AMD64, []uint32{6, 7}, callOnAMD64},
	uint16(elf.EM_AARCH64): {emulate.ARM64, []uint32{1025, 1026}, callOnARM64},
}

func callOnAMD64(code []byte, pc mem.Addr) (size int, to mem.Addr) {
	const call = 0xe8
	in, ok := x86.Decode(code)
	switch {
	case !ok:
		return 0, 0
	case in.Space == 0 && in.Op == call && !in.VEX:
		return in.Len, pc + mem.Addr(in.Len) + mem.Addr(in.Imm)
	}
	return in.Len, 0
}

func callOnARM64(code []byte, pc mem.Addr) (size int, to mem.Addr) {
	if len(code) < arm64.Size {
		return 0, 0
	}
	in := arm64.Inst(order.Uint32(code))
	if !in.Is(0xfc000000, 0x94000000) { // bl
		return arm64.Size, 0
	}
	return arm64.Size, pc + mem.Addr(in.Signed(0, 26)*arm64.Size)
}
