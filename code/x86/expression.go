package x86

// DWARF operators: DWARF 5, section 7.7.1.
const (
	opDeref      = 0x06
	opConsts     = 0x11
	opPlus       = 0x22
	opPlusUconst = 0x23
	opBreg0      = 0x70
)

// breg is the expression "register + n".
func breg(dwarf uint64, n int64) []byte {
	return sleb([]byte{opBreg0 + byte(dwarf)}, n)
}

// addConstant adds n to the value on the stack.
func addConstant(expr []byte, n int64) []byte {
	switch {
	case n > 0:
		return sleb(append(expr, opPlusUconst), n)
	case n < 0:
		return append(sleb(append(expr, opConsts), n), opPlus)
	}
	return expr
}

// sleb appends n as signed LEB128, DWARF 5 section 7.6. For n >= 0 the bytes also read as
// unsigned LEB128: the last has its bit 6 clear.
func sleb(b []byte, n int64) []byte {
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
