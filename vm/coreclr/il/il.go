// Package il reads the bodies of methods in the common intermediate language: where a state machine that a compiler
// made of an async method says which of its awaits comes.
//
// It knows no process. Bytes may be somebody's: each step takes one byte at least.
//
// Source: ECMA-335, 6th edition, III (instructions) and II.25.4 (bodies).
package il

import (
	"encoding/binary"
	"errors"
)

// ErrFormat says that bytes are no body of a method.
var ErrFormat = errors.New("malformed body of a .NET method")

// HeadSize is how many bytes of a body [Extent] takes.
const HeadSize = 12

// Extent is where the code of the body that begins with head is, bytes from its beginning.
func Extent(head []byte) (offset, size uint32, err error) {
	const tiny, fat = 2, 3 // II.25.4.1
	switch {
	case len(head) < 1:
	case head[0]&3 == tiny:
		return 1, uint32(head[0] >> 2), nil
	case head[0]&3 == fat && len(head) >= HeadSize && head[1]>>4 == 3:
		return HeadSize, binary.LittleEndian.Uint32(head[4:]), nil
	}
	return 0, 0, ErrFormat
}

const (
	dup        = 0x25
	stloc0     = 0x0a
	stloc3     = 0x0d
	stlocShort = 0x13
	ldcM1      = 0x15
	ldc8       = 0x1e
	ldcShort   = 0x1f
	ldc        = 0x20
	stfld      = 0x7d
	switches   = 0x45
	prefix     = 0xfe
	twoSTLOC   = 0x0e // behind prefix
)

// Constants gives yield each constant that code puts into a field of an object: where that instruction is, bytes from
// the beginning of code, the field's token and the constant, until it returns false.
func Constants(code []byte, yield func(offset, field uint32, value int32) bool) error {
	value, known := int32(0), false
	for at := 0; at < len(code); {
		size, ok := length(code[at:])
		if !ok || size > len(code)-at {
			return ErrFormat
		}
		operand := code[at+1 : at+size]
		switch op := code[at]; {
		case op >= ldcM1 && op <= ldc8:
			value, known = int32(op)-ldcM1-1, true
		case op == ldcShort:
			value, known = int32(int8(operand[0])), true
		case op == ldc:
			value, known = int32(binary.LittleEndian.Uint32(operand)), true
		case op == stfld:
			if known && !yield(uint32(at), binary.LittleEndian.Uint32(operand), value) {
				return nil
			}
			known = false
		case op == dup, op >= stloc0 && op <= stloc3, op == stlocShort, op == prefix && operand[0] == twoSTLOC:
		default: // what is stored is another value
			known = false
		}
		at += size
	}
	return nil
}

// length is how many bytes the instruction at the beginning of b takes; false for none that is known.
func length(b []byte) (int, bool) {
	op := b[0]
	if op == prefix {
		if len(b) < 2 || int(b[1]) >= len(twoByte) || twoByte[b[1]] == '-' {
			return 0, false
		}
		return 2 + int(twoByte[b[1]]-'0'), true
	}
	if op == switches {
		const most = 1 << 20
		if len(b) < 5 {
			return 0, false
		}
		n := binary.LittleEndian.Uint32(b[1:])
		return 5 + 4*int(min(n, most)), n <= most
	}
	if int(op) >= len(oneByte) || oneByte[op] == '-' {
		return 0, false
	}
	return 1 + int(oneByte[op]-'0'), true
}

// oneByte and twoByte are the sizes of operands, bytes, by the number of the instruction, sixteen a line; '-' for none.
const (
	oneByte = "0000000000000011" + // 00
		"1111000000000001" + // 10
		"4848-00444011111" + // 20
		"1111111144444444" + // 30
		"44444-0000000000" + // 40, of which 45 is switch
		"0000000000000000" + // 50
		"0000000000000004" + // 60
		"4444440--4044444" + // 70
		"4400000000004404" + // 80
		"0000000000000000" + // 90
		"000444----------" + // a0
		"---00000000-----" + // b0
		"--40--4---------" + // c0
		"4000000000000410" + // d0
		"0" // e0
	twoByte = "00000044-2222220" + // fe 00
		"-0100440010-400" // fe 10
)
