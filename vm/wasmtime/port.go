package wasmtime

import (
	"debug/elf"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// port is what wasmtime and its code have of their own on one machine.
type port struct {
	arch *regs.Arch
	// relocations are the bytes of those whose value is that of the symbol and the addend.
	relocations map[uint32]int
	// framed is the row of a function that has made its frame record, with which all begin; nil where it is not known.
	// Source: preserve_frame_pointers in crates/wasmtime/src/config.rs.
	framed *cfi.Row
	// byCode is the row at pc in the function whose code is b, from start on, where a thread was interrupted; false
	// where the instructions do not say it. It is nil where they are not read.
	byCode func(b []byte, start, pc mem.Addr, budget *work.Budget) (*cfi.Row, bool)
	// saved are the words at the stack pointer of a stack that was left for a fiber, of which the last is the return
	// address; 0 where that is not known. Source: crates/fiber/src/stackswitch.
	saved int
}

// ports are those of the machines whose images are read.
var ports = map[elf.Machine]*port{elf.EM_X86_64: &onAMD64, elf.EM_AARCH64: &onARM64, elf.EM_RISCV: &onRISCV64}

// onRISCV64 has what names and lines need: no row of it was tried.
var onRISCV64 = port{
	arch:        regs.RISCV64,
	relocations: map[uint32]int{uint32(elf.R_RISCV_64): 8, uint32(elf.R_RISCV_32): 4},
}

// at is the row for pc alone.
func at(row *cfi.Row, pc mem.Addr) *cfi.Row {
	out := *row
	out.Start, out.End = uint64(pc), uint64(pc)+1
	return &out
}
