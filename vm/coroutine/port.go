package coroutine

import (
	"debug/elf"

	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// port is what differs between machines.
type port struct {
	isa         *emulate.ISA
	first, last regs.Reg // the registers that may lead to a frame
	// keeps reports whether a function that was called keeps one of them, or returns by it.
	keeps func(regs.Reg) bool
	// reader returns what reads the instructions of a function, one after the other.
	reader func(index field) reader
	// taken are the places of code at which the address of a function is taken.
	taken func(code []byte, at module.Vaddr, starts map[module.Vaddr]module.Vaddr) []taken
}

// ports are those of machines that are known.
var ports = map[uint16]*port{uint16(elf.EM_X86_64): &onAMD64, uint16(elf.EM_AARCH64): &onARM64}

// reader reads the instruction that begins code, at pc. It is false for what is none.
type reader func(code []byte, pc mem.Addr) (instruction, bool)

// instruction is one, as far as it matters here.
type instruction struct {
	size   int      // bytes
	called mem.Addr // what it calls, 0 for nothing
	leaves bool     // what is behind it does not run next
	stores bool     // it puts value where the number of a place is
	value  int64
}
