package cfi

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	maxSteps = 100 // operations of one evaluation; real expressions have up to 12
	maxStack = 64  // values
)

// Machine gives an expression the values of the frame it is evaluated in.
type Machine interface {
	// Reg returns the value of the register with DWARF number n; false if it is not known.
	Reg(n uint64) (uint64, bool)
	// Read returns size bytes at addr as a number, 1 <= size <= 8, in the byte order of the
	// target.
	Read(addr uint64, size int) (uint64, error)
}

// ExprError says at which operation an evaluation ended.
type ExprError struct {
	Offset int   // of the operation in the expression
	Op     uint8 // DW_OP code
	Err    error // the cause: what Machine.Read returned, or what the expression does wrong
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("evaluate DW_OP %#02x at +%#x: %v", e.Op, e.Offset, e.Err)
}

func (e *ExprError) Unwrap() error { return e.Err }

// Eval returns what is on top of the stack after expr has run on initial, whose last value
// is the top. The rules Expression and ValExpression begin with the CFA on the stack, the
// rule of the CFA with nothing.
//
// Values have wordSize bytes: arithmetic wraps, comparisons, div, shra and abs are signed.
// An expression that needs an unknown register, divides by zero, is not a stack expression
// (locations, types, calls) or takes more than 100 steps fails with an *ExprError.
//
// Precondition: wordSize is 4 or 8. Source: DWARF 5, sections 2.5 and 6.4.2.
func Eval(expr []byte, initial []uint64, m Machine, order binary.ByteOrder, wordSize int) (uint64, error) {
	e := evaluation{machine: m, word: wordSize}
	e.c = cursor{data: expr, big: bigEndian(order)}
	for _, v := range initial {
		e.push(v)
	}
	for step := 0; e.c.pos < len(expr); step++ {
		at := e.c.pos
		op := e.c.u8()
		if step == maxSteps {
			e.c.fail(fmt.Errorf("more than %d steps", maxSteps))
		}
		e.step(op)
		if e.c.err != nil {
			return 0, &ExprError{at, op, e.c.err}
		}
	}
	if e.depth == 0 || e.c.err != nil {
		return 0, &ExprError{Offset: len(expr), Err: errStack}
	}
	return e.stack[e.depth-1], nil
}

var (
	errStack    = errors.New("stack empty or full")
	errNotStack = errors.New("operation not supported in call frame information")
)

// evaluation is the state of a run. Errors stay in c; later steps then do no harm.
type evaluation struct {
	c       cursor
	machine Machine
	word    int
	stack   [maxStack]uint64
	depth   int
}

func (e *evaluation) push(v uint64) {
	if e.depth == maxStack {
		e.c.fail(errStack)
		return
	}
	e.stack[e.depth] = truncate(v, e.word)
	e.depth++
}

func (e *evaluation) pop() uint64 {
	if e.depth == 0 {
		e.c.fail(errStack)
		return 0
	}
	e.depth--
	return e.stack[e.depth]
}

// pick pushes the value n places below the top.
func (e *evaluation) pick(n int) {
	if n >= e.depth {
		e.c.fail(errStack)
		return
	}
	e.push(e.stack[e.depth-1-n])
}

// register pushes a register plus an offset.
func (e *evaluation) register(n uint64, offset int64) {
	if e.c.err != nil {
		return
	}
	v, ok := e.machine.Reg(n)
	if !ok {
		e.c.fail(fmt.Errorf("register %d is not known", n))
		return
	}
	e.push(v + uint64(offset))
}

// load replaces an address by the size bytes there.
func (e *evaluation) load(size int) {
	addr := e.pop()
	if size < 1 || size > e.word {
		e.c.fail(fmt.Errorf("size %d is not between 1 and %d", size, e.word))
	}
	if e.c.err != nil {
		return
	}
	v, err := e.machine.Read(addr, size)
	if err != nil {
		e.c.fail(err)
		return
	}
	e.push(v)
}

// jump moves by a signed 16-bit number of bytes, within the expression or to its end.
func (e *evaluation) jump(taken bool) {
	delta := int(int16(e.c.unsigned(2)))
	if !taken || e.c.err != nil {
		return
	}
	to := e.c.pos + delta
	if to < 0 || to > len(e.c.data) {
		e.c.fail(fmt.Errorf("jump by %d leaves the expression", delta))
		return
	}
	e.c.pos = to
}

// signed extends the sign of a value of the word size.
func (e *evaluation) signed(v uint64) int64 {
	shift := 64 - 8*uint(e.word)
	return int64(v<<shift) >> shift
}
