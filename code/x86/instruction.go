package x86

// Instruction is one instruction of amd64 as it is encoded: for who gives it a meaning, as an emulator does.
type Instruction struct {
	Len   int
	Space int  // which table Op is of: 0 one byte, 1 behind 0F, 2 behind 0F 38, 3 behind 0F 3A; others have VEX
	Op    byte // the opcode
	VEX   bool // encoded with VEX, EVEX or XOP
	REX   bool // byte registers 4 to 7 are spl, bpl, sil, dil
	Wide  bool // REX.W
	Small bool // prefix 66
	Lock  bool // prefix F0
	FS    bool // its memory is from the base of FS
	// Repeat is F2 or F3, 0 without.
	Repeat byte
	// Other says that a prefix changes its meaning in a way that is rare: addresses of 32 bits, segment GS.
	Other bool

	HasModRM bool
	IsMem    bool // the operand RM is memory: Base, Index, Disp
	// Reg and RM are registers 0 to 15. Reg of groups has the number of the instruction in its low bits; without ModRM
	// RM is the register that the low bits of the opcode name, where they name one.
	Reg, RM uint8
	Base    int8  // of an address, [NoBase] or [RelativeBase]
	Index   int8  // of an address, [NoBase] for none
	Scale   uint8 // of Index, as a shift
	Disp    int64
	Imm     int64 // or the offset of a jump
}

// What an address counts from if it is no register.
const (
	NoBase       = -1
	RelativeBase = -2 // the next instruction
)

// Decode decodes the instruction of amd64 that b begins with. It reports false for what is none, or not known.
func Decode(b []byte) (Instruction, bool) {
	in, ok := decode(b, true)
	if !ok {
		return Instruction{}, false
	}
	if !in.hasModRM {
		in.rm |= register(in.op & 7)
	}
	return Instruction{Len: in.n, Space: int(in.space), Op: in.op, VEX: in.vex, REX: in.rex, Wide: in.wide,
		Small: in.small, Lock: in.lock, FS: in.thread && !in.gs, Repeat: in.repeat, Other: in.addr || in.gs,
		HasModRM: in.hasModRM, IsMem: in.isMem, Reg: uint8(in.reg), RM: uint8(in.rm), Base: in.base.of(),
		Index: in.index.of(), Scale: in.scale, Disp: in.disp, Imm: in.imm}, true
}

// of is the number of the register, in terms of [Instruction].
func (r register) of() int8 {
	switch r {
	case regIP:
		return RelativeBase
	case noReg:
		return NoBase
	}
	return int8(r)
}
