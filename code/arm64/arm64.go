// Package arm64 finds the caller of arm64 code that has no unwind table by reading its instructions: machine code ->
// the same [cfi.Row] that a table would give. It is for that machine what code/x86 is for its own.
//
// The caller provides the bytes of an executable range as a [Code], at link addresses, and the address to look up: the
// interrupted PC as it is, or an address inside the call instruction (the return address minus one). Where a method
// wants the exact PC, it says so.
//
// A call leaves its return address in x30, and code may keep it there. So a row without a rule for it (kind
// [cfi.Unspecified]) says that x30 holds the caller now, which is true of an innermost frame alone.
//
// It guarantees bounded work on any bytes and no panic. It knows no process: no register values, no stack, no files,
// no symbols. A row rests on the assumption that calls return with SP as it was and keep the registers of the ABI. A
// signed return address (PAC) is followed as if it were not: who reads it takes the code off.
//
// It follows the Arm Architecture Reference Manual for A-profile (C4.1 for encodings, C6.2 for what they do) and the
// Procedure Call Standard for the Arm 64-bit Architecture, sections 6.1.1 (registers) and 6.4.6 (frame records).
package arm64

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/work"
)

// Code is one executable range of a module.
type Code struct {
	Start uint64 // link address of Data[0], a multiple of 4
	Data  []byte // may be a mapped file; is only read
	// Budget bounds the work of all answers together; nil: nothing does. Where it does not suffice there is
	// no row, and [work.Budget.Err] says so.
	Budget *work.Budget
}

// Size is the length of every instruction, bytes.
const Size = 4

const size = Size

// Steps of a [work.Budget]: for an instruction that is interpreted, for one that is only decoded, for a copy
// of the state. One pays for so many comparisons of a place with an indirect jump.
const (
	stepCost        = 40
	decodeCost      = 5
	cloneCost       = 250
	comparesPerStep = 16
)

// End is the address behind the last byte.
func (c *Code) End() uint64 { return c.Start + uint64(len(c.Data)) }

// Contains reports whether addr lies in the range.
func (c *Code) Contains(addr uint64) bool { return addr-c.Start < uint64(len(c.Data)) }

// at returns the instruction that addr lies in, false outside of the range.
func (c *Code) at(addr uint64) (Inst, bool) {
	off := addr&^(size-1) - c.Start
	if off >= uint64(len(c.Data)) || uint64(len(c.Data))-off < size {
		return 0, false
	}
	return Inst(binary.LittleEndian.Uint32(c.Data[off:])), true
}

// Inst is one instruction. Besides those of its bits, its methods that others may ask are of the stack pointer and the
// frame record: for code of a compiler that is known.
type Inst uint32

// Is reports whether the bits of mask are those of code.
func (i Inst) Is(mask, code Inst) bool { return i&mask == code }

// Field returns n bits from low on.
func (i Inst) Field(low, n uint) uint32 { return uint32(i) >> low & (1<<n - 1) }

// Signed is [Inst.Field] as a number of two's complement.
func (i Inst) Signed(low, n uint) int64 { return int64(int32(uint32(i)<<(32-low-n)) >> (32 - n)) }

// The register fields of most instructions. Number 31 is SP or zero, as the instruction has it.
func (i Inst) rd() register { return register(i.Field(0, 5)) }
func (i Inst) rn() register { return register(i.Field(5, 5)) }
func (i Inst) ra() register { return register(i.Field(10, 5)) }
func (i Inst) rm() register { return register(i.Field(16, 5)) }

// register is a general register, or SP, by its DWARF number (DWARF for the Arm 64-bit Architecture, 4.1).
type register uint8

const (
	x0  register = 0
	x8  register = 8  // number of a system call
	x16 register = 16 // of veneers and stubs
	x17 register = 17
	x19 register = 19
	fp  register = 29
	lr  register = 30
	sp  register = 31

	registers = 32
)

// isKept reports whether r survives a call.
func isKept(r register) bool { return r >= x19 && r <= fp || r == sp }
