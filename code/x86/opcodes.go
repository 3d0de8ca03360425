package x86

// opcodeMap is the table an opcode byte belongs to: Intel SDM volume 2, appendix A.
type opcodeMap uint8

const (
	mapOne  opcodeMap = iota // one-byte opcodes
	map0F                    // 0F xx
	map0F38                  // 0F 38 xx
	map0F3A                  // 0F 3A xx
	map5                     // EVEX only: FP16
	map6                     // EVEX only: FP16
	mapXOP8                  // AMD XOP, with imm8
	mapXOP9                  // AMD XOP
	mapXOPA                  // AMD XOP, with imm32
)

// Operand letters of the opcode tables. Each says what follows the opcode byte:
//
//	.  nothing                    m  ModRM
//	b  imm8                       M  ModRM, imm8
//	w  imm16                      z  imm16 or imm32 by operand size
//	Z  ModRM, z                   v  imm16, imm32 or, with REX.W, imm64
//	e  imm16, imm8 (enter)        o  address (moffs), by address size
//	j  rel8                       J  rel16 or rel32
//	f  far pointer                t  ModRM, imm8 if reg < 2 (F6)
//	T  ModRM, z if reg < 2 (F7)   c  ModRM that always names registers (control registers)
//	x  no such instruction        -  prefix or escape, dealt with before
//	6  nothing, none on amd64     7  b, none on amd64
//	8  M, none on amd64           9  f, none on amd64
const (
	oneByteOperands = "" +
		"mmmmbz66mmmmbz6-" + // 00
		"mmmmbz66mmmmbz66" + // 10
		"mmmmbz-6mmmmbz-6" + // 20
		"mmmmbz-6mmmmbz-6" + // 30
		"................" + // 40: REX on amd64, dealt with before
		"................" + // 50
		"66mm----zZbM...." + // 60: 62 is bound where it is not EVEX
		"jjjjjjjjjjjjjjjj" + // 70
		"MZ8Mmmmmmmmmmmmm" + // 80
		"..........9....." + // 90
		"oooo....bz......" + // A0
		"bbbbbbbbvvvvvvvv" + // B0
		"MMw.mmMZe.w..b6." + // C0: C4, C5 are les, lds where they are not VEX
		"mmmm776.mmmmmmmm" + // D0
		"jjjjbbbbJJ9j...." + // E0
		"-.--..tT......mm" // F0

	twoByteOperands = "" +
		"mmmmx.....x.xm.M" + // 00: 0F 0F is 3DNow!, its opcode comes last
		"mmmmmmmmmmmmmmmm" + // 10
		"ccccxxxxmmmmmmmm" + // 20
		"......x.-x-xxxxx" + // 30
		"mmmmmmmmmmmmmmmm" + // 40
		"mmmmmmmmmmmmmmmm" + // 50
		"mmmmmmmmmmmmmmmm" + // 60
		"MMMMmmm.mmxxmmmm" + // 70
		"JJJJJJJJJJJJJJJJ" + // 80
		"mmmmmmmmmmmmmmmm" + // 90
		"...mMmmm...mMmmm" + // A0
		"mmmmmmmmmmMmmmmm" + // B0
		"mmMmMMMm........" + // C0
		"mmmmmmmmmmmmmmmm" + // D0
		"mmmmmmmmmmmmmmmm" + // E0
		"mmmmmmmmmmmmmmmm" // F0
)

// operands returns the operand letter of an opcode, 'x' for none.
func operands(m opcodeMap, op byte, vex, mode64 bool) byte {
	letter := byte('x')
	switch m {
	case mapOne:
		letter = oneByteOperands[op]
		if mode64 && letter >= '6' && letter <= '9' {
			return 'x'
		}
	case map0F:
		letter = twoByteOperands[op]
		if vex && letter != 'M' && op != 0x77 { // 77: vzeroupper has no operands
			letter = 'm'
		}
	case map0F38, map5, map6, mapXOP9:
		letter = 'm'
	case map0F3A, mapXOP8:
		letter = 'M'
	case mapXOPA:
		letter = 'Z'
	}
	switch letter {
	case '6':
		return '.'
	case '7':
		return 'b'
	case '8':
		return 'M'
	case '9':
		return 'f'
	}
	return letter
}
