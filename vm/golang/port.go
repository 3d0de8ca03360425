package golang

import (
	"debug/elf"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/view"
)

// port is what the assembly of Go's runtime has of its own on one machine.
type port struct {
	arch *regs.Arch
	// g holds the current g in Go code.
	// Source: cmd/compile/abi-internal.md of the Go distribution.
	g regs.Reg
	// callLength is the length of a direct call, bytes; call is where that leads from its beginning.
	callLength mem.Addr
	call       func(code []byte) (distance int64, ok bool)
	// resumed are the registers with which the goroutine goes on that [resume] is about to run, from those before code,
	// the rest of it; false where the stack pointer is not loaded yet.
	resumed func(code []byte, now *regs.Registers, word func(mem.Addr) (uint64, error)) (regs.Registers, bool, error)
	// grown is the function that called runtime.morestack, where that has not left its stack yet and a register has
	// its return address; nil where this is on the stack.
	grown func(r *Runtime, now *regs.Registers) (regs.Registers, bool)
	// tls is where the code of tlsReader, which lies at an address, says that the g of a thread is; 0 if it does not.
	tlsReader string
	tls       func(r *Runtime, code []byte, at mem.Addr) int64
	// refers are the addresses that code, which lies at one, refers to from there, each that may be one, in any order.
	refers func(code []byte, at mem.Addr) []mem.Addr
	// calledC is where [callC] goes on behind the call of C that it made at a stack pointer.
	calledC func(r *Runtime, sp mem.Addr, v *view.View) (mem.Addr, bool)
	// keptAt is how far above SP [callC] keeps what it needs, by the code that it goes on with; nil: at SP.
	keptAt func(code []byte) mem.Addr
	// left is how far above its stack pointer runtime.mcall began, bytes; entered are rooms that runtime.asmcgocall
	// takes below where g0 says that C begins.
	left    mem.Addr
	entered []uint64
	// frame is that of [callGo] on the system stack, kept that of [callC] on the stack that it came from.
	frame goFrame
	kept  callFrame
}

// goFrame is the frame of [callGo], each offset in bytes from its stack pointer.
type goFrame struct {
	sp     int64 // the stack pointer of g0 before
	fp, ra int64 // what its caller has in them
	size   int64 // up to the caller's stack pointer
}

// callFrame is the frame of [callC] that its saved stack pointer leads to, in bytes from there.
type callFrame struct {
	fp, ra, size int64
	// depth and g are words from the stack pointer at the call of C: how deep the stack was, and the g of that, 0
	// where the first is the stack pointer itself.
	depth, g int
}

var ports = map[uint16]*port{uint16(elf.EM_X86_64): &amd64, uint16(elf.EM_AARCH64): &arm64}

// offset is the address n bytes from a.
func offset(a mem.Addr, n int64) mem.Addr { return a + mem.Addr(n) }
