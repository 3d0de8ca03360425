// Package x86 finds the caller of code that has no unwind table by reading its
// instructions: amd64 and 386 machine code -> the same [cfi.Row] that a table would give.
//
// The caller provides the bytes of an executable range as a [Code], at link addresses, and
// the address to look up. In this package that is the interrupted PC as it is, or an
// address inside the call instruction (the return address minus one), as with tables;
// where a method wants the exact PC, it says so.
//
// It guarantees bounded work on any bytes and no panic. It knows no process: no register
// values, no stack, no files, no symbols. Its answers depend on the bytes alone, so they
// can be kept for as long as the module is mapped. A row rests on the assumption that
// calls return with SP as it was and keep the registers of the ABI; where an instruction
// is not known to the decoder, the path ends there and no row comes of it.
//
// It follows the Intel SDM volume 2 (encodings, appendix A opcode maps) and the System V
// ABIs for x86-64 (section 3.2, figure 3.36) and i386 (section 2.2, table 2.14) for the
// calling conventions and DWARF register numbers.
package x86

import (
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// Code is one executable range of a module.
type Code struct {
	Start  uint64 // link address of Data[0]
	Data   []byte // may be a mapped file; is only read
	Mode64 bool   // amd64; else 386
	// Budget bounds the work of all answers together; nil: nothing does. Where it does not suffice there is
	// no row, and [work.Budget.Err] says so.
	Budget *work.Budget
}

// Steps of a [work.Budget]: for an instruction that is interpreted, for one that is only decoded, for a copy
// of the state.
const (
	stepCost   = 60
	decodeCost = 20
	cloneCost  = 200
)

// End is the address behind the last byte.
func (c *Code) End() uint64 { return c.Start + uint64(len(c.Data)) }

// Contains reports whether addr lies in the range.
func (c *Code) Contains(addr uint64) bool { return addr-c.Start < uint64(len(c.Data)) }

// at returns the bytes from addr to the end of the range, nil outside of it.
func (c *Code) at(addr uint64) []byte {
	if !c.Contains(addr) {
		return nil
	}
	return c.Data[addr-c.Start:]
}

// decode decodes the instruction at addr.
func (c *Code) decode(addr uint64) (inst, bool) { return decode(c.at(addr), c.Mode64) }

// word is the size of a stack slot in bytes.
func (c *Code) word() int64 { return wordSize(c.Mode64) }

func wordSize(mode64 bool) int64 {
	if mode64 {
		return 8
	}
	return 4
}

// target gives the destination of a direct branch whose next instruction is at next.
func (c *Code) target(next uint64, rel int64) uint64 {
	t := next + uint64(rel)
	if !c.Mode64 {
		t = uint64(uint32(t))
	}
	return t
}

// plainRow is the row "CFA = reg + n, return address just below", the state of a function
// entry when reg is SP and n one word.
func (c *Code) plainRow(at uint64, length int, reg register, n int64) cfi.Row {
	return cfi.Row{
		Start: at, End: at + uint64(length),
		CFA:   cfi.Rule{Kind: cfi.Register, Reg: c.dwarf(reg), N: n},
		RA:    cfi.Rule{Kind: cfi.Offset, N: -c.word()},
		RAReg: c.dwarf(regRA),
	}
}
