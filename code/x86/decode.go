package x86

import "encoding/binary"

// inst is one decoded instruction.
type inst struct {
	n      int // length in bytes
	space  opcodeMap
	op     byte
	vex    bool // VEX, EVEX or XOP encoded
	rex    bool // any REX prefix: byte registers 4-7 are spl, bpl, sil, dil
	wide   bool // REX.W
	small  bool // prefix 66
	addr   bool // prefix 67
	repeat byte // last of F2, F3; 0 without
	thread bool // segment FS or GS: memory that is no stack
	gs     bool // segment GS
	lock   bool // prefix F0
	mode64 bool

	hasModRM bool
	isMem    bool
	reg      register // extended by REX.R; groups use reg & 7
	rm       register // the register operand; only if !isMem
	vvvv     register // the extra operand of VEX
	base     register // noReg: none, regIP: RIP-relative
	index    register // noReg: none
	scale    byte     // of index, as a shift
	disp     int64
	imm      int64 // immediate or relative offset, sign-extended
}

// maxInst is the longest instruction: Intel SDM volume 2, section 2.3.11.
const maxInst = 15

// cursor reads the bytes of one instruction. It stays at the end once it ran over it.
type cursor struct {
	b   []byte
	pos int
	bad bool
}

func (c *cursor) next() byte {
	if c.pos >= len(c.b) {
		c.bad = true
		return 0
	}
	c.pos++
	return c.b[c.pos-1]
}

// signed reads a little-endian number of 0, 1, 2, 4 or 8 bytes.
func (c *cursor) signed(size int) int64 {
	if c.pos+size > len(c.b) {
		c.bad = true
		return 0
	}
	p := c.b[c.pos:]
	c.pos += size
	switch size {
	case 1:
		return int64(int8(p[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(p)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(p)))
	case 8:
		return int64(binary.LittleEndian.Uint64(p))
	}
	return 0
}

// decode reads the instruction at the start of b. It reports false for bytes that are no
// instruction of the tables here, or that end early.
func decode(b []byte, mode64 bool) (inst, bool) {
	if len(b) > maxInst {
		b = b[:maxInst]
	}
	c := cursor{b: b}
	in := inst{base: noReg, index: noReg, mode64: mode64}
	var x extension
	if !in.opcode(&c, &x) {
		return inst{}, false
	}
	in.rm = x.b // for registers in the opcode byte; ModRM overwrites it
	letter := operands(in.space, in.op, in.vex, mode64)
	if letter == 'x' || letter == '-' {
		return inst{}, false
	}
	if hasModRM(letter) {
		in.modRM(&c, &x, letter == 'c')
	}
	if !in.immediate(&c, letter) || c.bad || !in.exists() {
		return inst{}, false
	}
	in.n = c.pos
	return in, true
}

// extension holds the register bits of REX, VEX, EVEX and XOP, each 0 or 8.
type extension struct{ r, x, b register }

func hasModRM(letter byte) bool {
	switch letter {
	case 'm', 'M', 'Z', 't', 'T', 'c':
		return true
	}
	return false
}

// opcode reads prefixes, escapes and the opcode byte.
func (in *inst) opcode(c *cursor, x *extension) bool {
	op := in.prefixes(c)
	if in.mode64 && op&0xf0 == 0x40 {
		in.rex, in.wide = true, op&8 != 0
		*x = extension{register(op&4) << 1, register(op&2) << 2, register(op&1) << 3}
		op = c.next()
	}
	in.op = op
	switch op {
	case 0x0f:
		return in.escape(c)
	case 0xc4, 0xc5, 0x62, 0x8f:
		return in.vector(c, x)
	}
	return !c.bad
}

// prefixes reads the legacy prefixes and returns the byte behind them.
func (in *inst) prefixes(c *cursor) byte {
	for { // ends with the bytes: at most maxInst
		op := c.next()
		switch op {
		case 0x66:
			in.small = true
		case 0x67:
			in.addr = true
		case 0xf2, 0xf3:
			in.repeat = op
		case 0x64, 0x65:
			in.thread, in.gs = true, op == 0x65
		case 0xf0:
			in.lock = true
		case 0x26, 0x2e, 0x36, 0x3e:
		default:
			return op
		}
	}
}

// escape reads the opcode behind 0F.
func (in *inst) escape(c *cursor) bool {
	in.op, in.space = c.next(), map0F
	switch in.op {
	case 0x38:
		in.op, in.space = c.next(), map0F38
	case 0x3a:
		in.op, in.space = c.next(), map0F3A
	}
	return !c.bad
}

// immediate reads what follows ModRM.
func (in *inst) immediate(c *cursor, letter byte) bool {
	switch letter {
	case 'b', 'M', 'j':
		in.imm = c.signed(1)
	case 'w':
		in.imm = c.signed(2)
	case 'z', 'Z':
		in.imm = c.signed(in.sizeZ())
	case 't':
		if in.reg&7 < 2 {
			in.imm = c.signed(1)
		}
	case 'T':
		if in.reg&7 < 2 {
			in.imm = c.signed(in.sizeZ())
		}
	case 'v':
		if in.wide {
			in.imm = c.signed(8)
		} else {
			in.imm = c.signed(in.sizeZ())
		}
	case 'e':
		in.imm = c.signed(2) & 0xffff
		in.imm |= (c.signed(1) & 0x1f) << 16
	case 'o':
		c.signed(in.addressSize())
	case 'J':
		// Intel ignores 66 here, AMD does not: the length is known with REX.W only.
		if in.mode64 && in.small && !in.wide {
			return false
		}
		in.imm = c.signed(in.sizeZ())
	case 'f':
		c.signed(in.sizeZ())
		c.signed(2)
	}
	if in.space == map0F && in.op == 0x78 && !in.vex && (in.small || in.repeat == 0xf2) {
		c.signed(2) // SSE4a extrq, insertq: two imm8
	}
	return true
}

func (in *inst) sizeZ() int {
	if in.small && !in.wide {
		return 2
	}
	return 4
}

func (in *inst) addressSize() int {
	switch {
	case in.mode64 && !in.addr:
		return 8
	case !in.mode64 && in.addr:
		return 2
	}
	return 4
}

// exists rejects the empty places of the opcode groups: Intel SDM volume 2, table A-6.
func (in *inst) exists() bool {
	if in.space != mapOne {
		return true
	}
	group := in.reg & 7
	switch in.op {
	case 0x8f:
		return group == 0
	case 0x8d:
		return in.isMem
	case 0xc6, 0xc7:
		return group == 0 || group == 7 && !in.isMem
	case 0xfe:
		return group < 2
	case 0xff:
		return group < 7 && (in.isMem || group != 3 && group != 5)
	}
	return true
}
