package cfi

import (
	"errors"
	"fmt"
)

// Call frame instructions. Source: DWARF 5, section 7.24; Linux Standard Base Core 5.0,
// section 10.5.2 (GNU); AADWARF64 (AARCH64); binutils include/dwarf2.def (MIPS).
const (
	opAdvanceLoc = 0x40 // the low 6 bits are the operand
	opOffset     = 0x80
	opRestore    = 0xc0

	opNop              = 0x00
	opSetLoc           = 0x01
	opAdvanceLoc1      = 0x02
	opAdvanceLoc2      = 0x03
	opAdvanceLoc4      = 0x04
	opOffsetExtended   = 0x05
	opRestoreExtended  = 0x06
	opUndefined        = 0x07
	opSameValue        = 0x08
	opRegister         = 0x09
	opRememberState    = 0x0a
	opRestoreState     = 0x0b
	opDefCFA           = 0x0c
	opDefCFARegister   = 0x0d
	opDefCFAOffset     = 0x0e
	opDefCFAExpression = 0x0f
	opExpression       = 0x10
	opOffsetExtendedSF = 0x11
	opDefCFASF         = 0x12
	opDefCFAOffsetSF   = 0x13
	opValOffset        = 0x14
	opValOffsetSF      = 0x15
	opValExpression    = 0x16

	opMIPSAdvanceLoc8            = 0x1d
	opAArch64NegateRAStateWithPC = 0x2c
	opAArch64NegateRAState       = 0x2d // GNU_window_save on SPARC
	opGNUArgsSize                = 0x2e
	opGNUNegativeOffsetExtended  = 0x2f
)

const (
	maxRemembered = 32      // depth of DW_CFA_remember_state
	maxWork       = 1 << 20 // instructions of one FDE, and rules copied or passed by them
	rulesAStep    = 16      // rules that are passed in the time of an instruction
)

// program runs the instructions of a CIE and an FDE up to an address. Its memory is reused
// from run to run.
type program struct {
	now        state
	initial    *state // what DW_CFA_restore goes back to
	remembered [maxRemembered]state
	depth      int
	work       int

	cie     *CIE
	bases   bases
	aarch64 bool
	loc, pc uint64
	next    uint64 // location behind pc where the rules change; 0 if none was met
}

// start prepares a run from address loc to pc.
func (p *program) start(cie *CIE, initial *state, loc, pc uint64) {
	p.cie, p.initial = cie, initial
	p.depth, p.work = 0, 0
	p.loc, p.pc, p.next = loc, pc, 0
	initial.copyTo(&p.now)
}

// run executes until the location passes pc or the instructions end. Each instruction takes
// at least one byte and one of maxWork.
func (p *program) run(c *cursor) error {
	for c.pos < len(c.data) && p.next == 0 {
		at := c.pos
		op := c.u8()
		p.work++
		p.step(op, c)
		if p.work > maxWork {
			c.fail(fmt.Errorf("more than %d instructions", maxWork))
		}
		if c.err != nil {
			return fmt.Errorf("instruction %#02x at +%#x: %w", op, at, c.err)
		}
	}
	return nil
}

// step executes one instruction; errors stay in c.
func (p *program) step(op uint8, c *cursor) {
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case opAdvanceLoc:
		p.advance(c, low)
		return
	case opOffset:
		p.set(c, low, Rule{Kind: Offset, N: p.factored(c)})
		return
	case opRestore:
		p.set(c, low, p.initial.rule(low))
		return
	}
	switch op {
	case opNop:
	case opSetLoc:
		p.moveTo(c, c.pointer(p.cie.fdeEnc, p.cie.addrSize, p.bases))
	case opAdvanceLoc1:
		p.advance(c, c.unsigned(1))
	case opAdvanceLoc2:
		p.advance(c, c.unsigned(2))
	case opAdvanceLoc4:
		p.advance(c, c.unsigned(4))
	case opMIPSAdvanceLoc8:
		p.advance(c, c.unsigned(8))
	case opRememberState:
		p.remember(c)
	case opRestoreState:
		p.restore(c)
	case opDefCFA, opDefCFASF, opDefCFARegister, opDefCFAOffset, opDefCFAOffsetSF, opDefCFAExpression:
		p.defineCFA(op, c)
	case opAArch64NegateRAState, opAArch64NegateRAStateWithPC:
		if !p.aarch64 {
			c.fail(errors.New("not supported on this architecture"))
		}
		p.now.signed = !p.now.signed
	case opGNUArgsSize:
		c.uleb() // only for landing pads
	default:
		p.setRegister(op, c)
	}
}

// setRegister executes an instruction whose first operand is a register.
func (p *program) setRegister(op uint8, c *cursor) {
	reg := c.uleb()
	var rule Rule
	switch op {
	case opOffsetExtended:
		rule = Rule{Kind: Offset, N: p.factored(c)}
	case opOffsetExtendedSF:
		rule = Rule{Kind: Offset, N: p.factoredSigned(c)}
	case opGNUNegativeOffsetExtended:
		rule = Rule{Kind: Offset, N: -p.factored(c)}
	case opValOffset:
		rule = Rule{Kind: ValOffset, N: p.factored(c)}
	case opValOffsetSF:
		rule = Rule{Kind: ValOffset, N: p.factoredSigned(c)}
	case opRestoreExtended:
		rule = p.initial.rule(reg)
	case opUndefined:
		rule = Rule{Kind: Undefined}
	case opSameValue:
		rule = Rule{Kind: SameValue}
	case opRegister:
		rule = Rule{Kind: Register, Reg: c.uleb()}
	case opExpression:
		rule = Rule{Kind: Expression, Expr: c.bytes(c.uleb())}
	case opValExpression:
		rule = Rule{Kind: ValExpression, Expr: c.bytes(c.uleb())}
	default:
		c.err = errors.New("opcode not supported")
		return
	}
	p.set(c, reg, rule)
}

// defineCFA executes an instruction that changes the rule of the CFA.
func (p *program) defineCFA(op uint8, c *cursor) {
	cfa := &p.now.cfa
	switch op {
	case opDefCFA:
		*cfa = Rule{Kind: Register, Reg: c.uleb(), N: c.offset()}
		return
	case opDefCFASF:
		*cfa = Rule{Kind: Register, Reg: c.uleb(), N: p.factoredSigned(c)}
		return
	case opDefCFAExpression:
		*cfa = Rule{Kind: ValExpression, Expr: c.bytes(c.uleb())}
		return
	}
	// Before any register an offset says nothing yet: wasmtime_fiber_start sets 0 and then an expression.
	if early := cfa.Kind == Unspecified && op != opDefCFARegister; cfa.Kind != Register && !early {
		c.fail(errors.New("the CFA is not a register and offset"))
		return
	}
	switch op {
	case opDefCFARegister:
		cfa.Reg = c.uleb()
	case opDefCFAOffset:
		cfa.N = c.offset()
	case opDefCFAOffsetSF:
		cfa.N = p.factoredSigned(c)
	}
}

// set gives reg a rule unless its operands could not be read.
func (p *program) set(c *cursor, reg uint64, rule Rule) {
	if c.err == nil {
		p.work += len(p.now.regs) / rulesAStep
		c.fail(p.now.set(reg, rule))
	}
}

// advance moves the location by delta code alignment units.
func (p *program) advance(c *cursor, delta uint64) {
	unit := p.cie.CodeAlign
	bytes := delta * unit
	if unit != 0 && bytes/unit != delta || p.loc+bytes < p.loc {
		c.fail(fmt.Errorf("advance by %#x units of %#x exceeds the address space", delta, unit))
		return
	}
	p.moveTo(c, p.loc+bytes)
}

func (p *program) moveTo(c *cursor, loc uint64) {
	switch {
	case c.err != nil:
	case loc < p.loc:
		c.fail(fmt.Errorf("location goes back from %#x to %#x", p.loc, loc))
	case loc > p.pc:
		p.next = loc
	default:
		p.loc = loc
	}
}

func (p *program) remember(c *cursor) {
	if p.depth == maxRemembered {
		c.fail(fmt.Errorf("more than %d states remembered", maxRemembered))
		return
	}
	p.work += len(p.now.regs)
	p.now.copyTo(&p.remembered[p.depth])
	p.depth++
}

func (p *program) restore(c *cursor) {
	if p.depth == 0 {
		c.fail(errors.New("no state was remembered"))
		return
	}
	p.depth--
	p.remembered[p.depth].copyTo(&p.now)
	p.work += len(p.now.regs)
}

// offset reads an unsigned offset. Those that no int64 can hold as bytes after scaling are
// refused here, others that are too large only when a row uses them.
func (c *cursor) offset() int64 {
	v := c.uleb()
	if v > 1<<40 {
		c.fail(fmt.Errorf("offset %#x out of range", v))
		return 0
	}
	return int64(v)
}

func (p *program) factored(c *cursor) int64 { return p.scale(c, c.offset()) }

func (p *program) factoredSigned(c *cursor) int64 { return p.scale(c, c.sleb()) }

// scale multiplies by the data alignment factor.
func (p *program) scale(c *cursor, n int64) int64 {
	unit := p.cie.DataAlign
	v := n * unit
	if unit != 0 && v/unit != n {
		c.fail(fmt.Errorf("offset of %d units of %d out of range", n, unit))
		return 0
	}
	return v
}
