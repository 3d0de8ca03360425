package v8

import (
	"debug/elf"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// port is what V8's code has of its own on one machine. The slots of frames are the same on all of 64 bits.
type port struct {
	arch *regs.Arch
	// numbered are the registers as V8 counts them, a power of two; fallback are the numbers of those of which a V8
	// has no symbol.
	numbered []regs.Reg
	fallback map[string]int32
	// framed is the row of code with a frame record, which has used all other registers: V8's code saves none.
	framed *cfi.Row
	// entry is the row at v in b, which C++ called; nil if its instructions are others.
	entry func(r *Runtime, b *builtin, v module.Vaddr, interrupted bool) *cfi.Row
	// entryHolding finds a JSEntry by its instructions, in an object that names no builtin; nil where a frame of it is
	// walked like others.
	entryHolding func(r *Runtime, v module.Vaddr) *builtin
	// stateOf finds the state at an interrupted PC, in a.
	stateOf func(r *Runtime, a *area, now *regs.Registers, v *view.View) (state, error)
	// prologue is how many bytes of code come before the frame is built, below 0 if that is not seen; of code that
	// builds it first it is seen in the first prologueSize ones. baseline is the same of baseline code.
	prologue     func(code []byte) int
	prologueSize int
	baseline     func(code []byte) int
	// saving is what code that begins at start does that saves more than a frame record, nil if it does not, and where
	// no code does.
	saving func(start mem.Addr, size int, v *view.View) *saving
	// called reports whether a call ends at ra, in bytes that begin at start.
	called func(b []byte, start, ra uint64) bool
	// deoptEntry is nil where that is not read.
	deoptEntry func(code []byte, start module.Vaddr) *deoptEntry
	// returned is what a function without arguments returns, if that is all that it does.
	returned func(m *module.Module, code []byte, at module.Vaddr) (module.Vaddr, bool)
}

// portOf is that of an object's machine, nil for one that is not known.
func portOf(m *module.Module) *port {
	switch elf.Machine(m.Machine()) {
	case elf.EM_X86_64:
		return &onAMD64
	case elf.EM_AARCH64:
		return &onARM64
	}
	return nil
}

// register is the one that V8 gives a number.
func (p *port) register(number int32) regs.Reg { return p.numbered[int(number)&(len(p.numbered)-1)] }

// isExit reports whether the link register leads back to code that was made and has called.
func (r *Runtime) isExit(now *regs.Registers, v *view.View) bool {
	link, ok := now.Get(now.Arch.LR)
	a := r.areas.Load().find(mem.Addr(link) - 1)
	return ok && a != nil && a.made && r.called(mem.Addr(link), r.code(v))
}

// atLink are the registers of the caller where the link register leads there.
func atLink(now *regs.Registers) regs.Registers {
	next := *now
	link, _ := now.Get(now.Arch.LR)
	next.Set(now.Arch.PC, link)
	next.Forget(now.Arch.LR)
	return next
}
