package hotspot

import (
	"debug/elf"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// port is what the JVM's code has of its own on one machine. Where frames have their caller is the same on all of 64
// bits: the return address above the saved frame pointer, and below that the words of the interpreter.
type port struct {
	arch *regs.Arch
	// method is the register of a method that is called; bytecode that of the next bytecode in the interpreter.
	method, bytecode regs.Reg
	// saved are the registers that the frame by which C++ calls Java keeps for it, by how many words they are below
	// its frame pointer.
	saved map[regs.Reg]int
	// bcpSlot is how many words below its frame pointer an interpreted frame has its bytecode pointer.
	bcpSlot func(version int) int
	// resetsSP says that the interpreter sets its stack pointer again after a call: a callee may begin above what it
	// was then.
	resetsSP bool
	// shifted is by how many bits generational ZGC shifts each reference, 0 where the reference says that.
	shifted uint
	// before and behind are how much of the code around a PC is copied, bytes.
	before, behind int
	// calls reports whether code ends with a call, of at most maxCall bytes.
	calls   func(code []byte) bool
	maxCall int

	// These find the caller of a frame of their kind.
	interpreted, frameless     func(*step) (regs.Registers, error)
	compiled, wrapper, routine func(*step, *codecache.Blob) (regs.Registers, error)
}

// portOf is that of an ELF machine, nil for one that is not known.
func portOf(machine uint16) *port {
	switch elf.Machine(machine) {
	case elf.EM_X86_64:
		return &onAMD64
	case elf.EM_AARCH64:
		return &onARM64
	}
	return nil
}

// register is the value of r, 0 where it is not known.
func (s *step) register(r regs.Reg) mem.Addr {
	v, _ := s.now.Get(r)
	return mem.Addr(v)
}
