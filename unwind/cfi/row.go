// Package cfi reads DWARF call frame information: .eh_frame with its .eh_frame_hdr, and
// .debug_frame. It turns a program counter into a [Row], the rules by which the registers
// of the caller are found.
//
// The caller provides the bytes of the sections, the address that each is linked at, and
// looks up interrupted PCs as they are and return addresses minus one.
//
// It guarantees bounded work on any bytes: no panic, no endless loop, no allocation that
// grows beyond the input. It knows no process, no register values and no files; the values
// of an expression come from a [Machine].
//
// It follows DWARF 5 section 6.4, the Linux Standard Base Core (.eh_frame, .eh_frame_hdr)
// and the System V ABIs for pointer encodings.
package cfi

// RuleKind says how a value of the caller is found.
type RuleKind uint8

// The kinds of rules, DWARF 5 section 6.4.1. The zero value stands for "no rule": the
// register keeps its value, as unwinders in use do for the whole register file.
const (
	Unspecified   RuleKind = iota
	Undefined              // the value is lost; for the return address: the outermost frame
	SameValue              // the register keeps its value
	Offset                 // stored at CFA + N
	ValOffset              // is CFA + N
	Register               // is the value of register Reg; for the CFA: Reg + N
	Expression             // stored at the address that Expr gives
	ValExpression          // is the value that Expr gives
)

// Rule finds one value. For the CFA only Register and ValExpression occur.
type Rule struct {
	Kind RuleKind
	Reg  uint64 // DWARF number
	N    int64  // bytes
	Expr []byte // DWARF expression, part of the section; nil for other kinds
}

// RegRule is the rule of one register.
type RegRule struct {
	Reg  uint64 // DWARF number
	Rule Rule
}

// Row holds the rules for the addresses [Start, End) of a module. It is not changed after it was made.
type Row struct {
	Start, End uint64 // link addresses
	CFA        Rule
	RA         Rule      // of the return address column
	RAReg      uint64    // the return address column, a DWARF number
	Regs       []RegRule // all others that have a rule, each register once, ascending
	Signal     bool      // augmentation 'S': the caller was interrupted, its PC is exact
	PACSigned  bool      // arm64: the return address has an authentication code (DW_CFA_AARCH64_negate_ra_state)
}

// Rule returns the rule of a register, the zero Rule where there is none.
func (r *Row) Rule(reg uint64) Rule {
	if reg == r.RAReg {
		return r.RA
	}
	for i := range r.Regs {
		if r.Regs[i].Reg == reg {
			return r.Regs[i].Rule
		}
	}
	return Rule{}
}
