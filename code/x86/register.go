package x86

// register is a general register in the order of its encoding (Intel SDM volume 2, table
// 2-2), or regRA for the return address.
type register uint8

const (
	rax register = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	regRA // the return address, where a value is tracked
	regIP // the base of a RIP-relative operand
	noReg
)

const registers = int(regRA) // tracked registers

// dwarf64 gives DWARF numbers: System V ABI for x86-64, figure 3.36.
var dwarf64 = [registers + 1]uint64{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// dwarf returns the DWARF number of r. Those of 386 follow the encoding, the return
// address is 8: System V ABI for i386, table 2.14.
func (c *Code) dwarf(r register) uint64 {
	switch {
	case c.Mode64:
		return dwarf64[r]
	case r == regRA:
		return 8
	}
	return uint64(r)
}

// The registers that a function gives back as they were: x86-64 ABI section 3.2.1, i386
// ABI section 2.2.1, in ascending DWARF number.
var (
	kept64 = []register{rbx, rbp, r12, r13, r14, r15}
	kept32 = []register{rbx, rbp, rsi, rdi}
)

func (c *Code) kept() []register {
	if c.Mode64 {
		return kept64
	}
	return kept32
}

// isKept reports whether r survives a call.
func isKept(r register, mode64 bool) bool {
	if mode64 {
		return r == rbx || r == rbp || r >= r12 && r <= r15
	}
	return r == rbx || r == rbp || r == rsi || r == rdi
}
