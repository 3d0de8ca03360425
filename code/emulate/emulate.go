// Package emulate runs machine code of amd64 and arm64 over a copy-on-write view of memory: what it writes goes to an
// overlay, which is all that ever changes.
//
// The caller provides the code, the memory that it reads, registers and a stack. It guarantees bounded work on any
// bytes: a run ends when the function returns, after so many steps, or at what is not known here, which is an error: a
// system call, a trap, an instruction outside of the tables, memory that is not to be had. Nothing is guessed: what an
// instruction that is known leaves undefined (some flags) has one of the values that it may have.
//
// It knows no process. Instructions: what compilers make of safe code for the baselines of both: integers, atomics
// (alone: nobody else runs in the overlay), strings, and vectors of integers. Not floating point, not AVX, not SVE.
//
// Source: Intel SDM volume 2; Arm Architecture Reference Manual for A-profile, C4 and C6.
package emulate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/code/x86"
)

// exchange is the opcode of xchg, which is atomic with memory without a prefix.
const exchange = 0x86

// longest is how many bytes an instruction has at the most.
const longest = 15

// Registers by their number in instructions.
const (
	RAX = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
)

// Machine is one processor and its view of memory. Its zero value has no memory.
type Machine struct {
	ISA *ISA
	// R are the registers by their numbers in instructions, X the vectors. amd64 has sixteen each.
	R     [32]uint64
	X     [32]Vector
	PC    uint64
	Flags Flags
	// TP is the thread pointer: the base of FS, TPIDR_EL0.
	TP uint64

	// Code returns bytes of code at pc, as many as an instruction may have or what there is.
	Code func(pc uint64) []byte
	// Decoded has what was decoded already; nil: nothing is kept.
	Decoded *Decoded
	// Read fills b with the memory at a, and reports whether it could. What was written lies above it.
	Read func(b []byte, a uint64) bool
	// Writable reports whether the n bytes at a may be written; nil: what can be read may.
	Writable func(a uint64, n int) bool
	// Call hears of each call, when PC is at its first instruction. It may do the function's work and return true: then
	// the machine goes on behind the call. A jump through a word of memory is one, too: slot is where that word is, 0
	// for other calls.
	Call func(slot uint64) bool
	// Return hears of each return to PC; nil: nobody does.
	Return func()

	// Touched is the operand in memory of the instruction that ran last, with FS, 0 if it has none; a stack that is
	// pushed or popped is none on amd64. Atomic says that it was read and written as one, or is the half of a pair of
	// instructions that do so.
	Touched uint64
	Atomic  bool

	overlay overlay
	next    uint64 // behind the instruction at hand
	fault   error

	// Of arm64: what was read into each register last, and the address that was read to be written exclusively.
	loads      [32]loaded
	reserved   bool
	reservedAt uint64
}

// Decoded are instructions of code that stays the same. Its zero value has none. Machines that run one after the other
// may share it.
type Decoded struct{ at []decoded } // by a hash of where they are

// decoded is an instruction, and where it is; its length is 0 for none.
type decoded struct {
	pc uint64
	in x86.Instruction
}

// decodedBits is how many bits the number of those has that are kept.
const decodedBits = 14

// Vector is an XMM register, the low half first.
type Vector [2]uint64

// Why a run ends before the function returns.
var (
	ErrSteps  = errors.New("it takes too many steps")
	ErrSystem = errors.New("it calls the kernel")
	ErrTrap   = errors.New("it comes to a trap")
	ErrMemory = errors.New("its memory is not to be had")
	ErrRoom   = errors.New("it writes to too much memory")
	ErrDivide = errors.New("it divides by zero")
)

// UnknownError is an instruction that is not known.
type UnknownError struct {
	PC   uint64
	Code []byte
}

func (e *UnknownError) Error() string { return fmt.Sprintf("the instruction % x is not known", e.Code) }

// Run runs from PC on until PC is end, which no code is at. It returns how many of steps it took.
func (m *Machine) Run(end uint64, steps int) (taken int, err error) {
	for ; m.PC != end; taken++ {
		if taken == steps {
			return taken, ErrSteps
		}
		if err := m.Step(); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// Step runs one instruction. After an error PC is at the one that has failed, and registers and memory may be as it
// leaves them or as they were, in part: the run is over.
func (m *Machine) Step() error {
	at := m.PC
	m.fault, m.Touched, m.Atomic = nil, 0, false
	switch known, code := m.ISA.step(m); {
	case m.fault != nil:
		return m.fault
	case !known:
		return &UnknownError{at, append([]byte(nil), code...)}
	}
	m.PC = m.next
	return nil
}

// stepAMD64 implements ISA.
func (m *Machine) stepAMD64() (known bool, code []byte) {
	in, ok := m.decode()
	if !ok {
		code = m.Code(m.PC)
		return false, code[:min(longest, len(code))]
	}
	at := m.PC
	m.next = at + uint64(in.Len)
	m.Atomic = in.IsMem && (in.Lock || in.Space == 0 && in.Op&^1 == exchange)
	if known = !in.VEX && !in.Other && (!in.Lock || isLockable(in)) && m.execute(in); !known {
		code = m.Code(at)
		code = code[:min(in.Len, len(code))]
	}
	return known, code
}

// decode is the instruction at PC.
func (m *Machine) decode() (*x86.Instruction, bool) {
	if m.Decoded == nil {
		in, ok := x86.Decode(m.Code(m.PC))
		return &in, ok
	}
	if m.Decoded.at == nil {
		m.Decoded.at = make([]decoded, 1<<decodedBits)
	}
	d := &m.Decoded.at[m.PC*0x9e3779b97f4a7c15>>(64-decodedBits)]
	if d.pc == m.PC && d.in.Len != 0 {
		return &d.in, true
	}
	in, ok := x86.Decode(m.Code(m.PC))
	if ok {
		*d = decoded{m.PC, in}
	}
	return &in, ok
}

// fail ends the run.
func (m *Machine) fail(err error) bool {
	if m.fault == nil {
		m.fault = err
	}
	return true
}

// execute does what in says, false if it is not known.
func (m *Machine) execute(in *x86.Instruction) bool {
	switch in.Space {
	case 0:
		return m.oneByte(in)
	case 1:
		return m.twoByte(in) || m.vector(in)
	}
	return false
}

// isLockable reports whether an instruction may have the prefix for atomic access; others with it are traps.
func isLockable(in *x86.Instruction) bool {
	number := in.Reg & 7
	switch {
	case !in.IsMem || in.Space > 1:
		return false
	case in.Space == 1:
		return slices.Contains([]byte{0xab, 0xb0, 0xb1, 0xb3, 0xbb, 0xc0, 0xc1, 0xc7}, in.Op) ||
			in.Op == 0xba && number > 4
	case in.Op < 0x38:
		return in.Op&7 < 2
	case in.Op == 0x80, in.Op == 0x81, in.Op == 0x83:
		return number != 7
	}
	return in.Op&^1 == exchange || in.Op&^1 == 0xf6 && number&^1 == 2 || in.Op&^1 == 0xfe && number < 2
}
