package arm64

import "encoding/binary"

// Ret is the instruction that returns by x30.
const Ret Inst = 0xd65f03c0

// pair is the offset of stp and ldp of 64 bits, bytes.
func (i Inst) pair() int64 { return i.Signed(15, 7) * 8 }

// SavesRecord reports stp x29, x30, [sp, #n], or with before [sp, #n]!, which moves SP by n first.
func (i Inst) SavesRecord() (n int64, before, ok bool) {
	return i.pair(), i.Field(23, 1) == 1, i.Is(0xff407fff, 0xa9007bfd)
}

// LoadsRecord reports ldp x29, x30, [sp, #n], or with behind [sp], #n, which moves SP by n then.
func (i Inst) LoadsRecord() (n int64, behind, ok bool) {
	return i.pair(), i.Field(24, 1) == 0, i.Is(0xfe407fff, 0xa8407bfd)
}

// SetsFP reports add x29, sp, #n; mov x29, sp has 0.
func (i Inst) SetsFP() (n int64, ok bool) {
	return int64(i.Field(10, 12)), i.Is(0xffc003ff, 0x910003fd)
}

// AddsSP reports add sp, sp, #n, or with n below 0 sub.
func (i Inst) AddsSP() (n int64, ok bool) {
	n = int64(i.Field(10, 12)) << (12 * i.Field(22, 1))
	if i.Field(30, 1) == 1 {
		n = -n
	}
	return n, i.Is(0xbf8003ff, 0x910003ff)
}

// Pushes reports stp of two registers, [sp, #-n]!.
func (i Inst) Pushes() (n int64, ok bool) { return -i.pair(), i.Is(0xffc003e0, 0xa98003e0) }

// Pops reports ldp of two registers, or ldr of one, [sp], #n.
func (i Inst) Pops() (n int64, ok bool) {
	switch {
	case i.Is(0x3fc003e0, 0x28c003e0): // w and signed w, x
		return i.Signed(15, 7) * int64([...]int{4, 4, 8, 0}[i>>30]), true
	case i.Is(0x3fc003e0, 0x2cc003e0): // s, d, q
		return i.Signed(15, 7) * int64([...]int{4, 8, 16, 0}[i>>30]), true
	case i.Is(0xffe00fe0, 0xf84007e0), i.Is(0xffe00fe0, 0xfc4007e0): // ldr x, d
		return i.Signed(12, 9), true
	}
	return 0, false
}

// IsJump reports that no instruction follows: a branch without a condition, or a return.
func (i Inst) IsJump() bool {
	switch i.flow() {
	case flowJump, flowIndirect, flowSlot, flowReturn:
		return true
	}
	return false
}

// Words are the instructions of code.
func Words(code []byte) []Inst {
	out := make([]Inst, len(code)/size)
	for i := range out {
		out[i] = Word(code[i*size:])
	}
	return out
}

// Word is the first instruction of code, which has one.
func Word(code []byte) Inst { return Inst(binary.LittleEndian.Uint32(code)) }
