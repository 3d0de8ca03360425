package unwind

import (
	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// calls says where calls and stubs lead.
type calls interface {
	// CallBefore reports whether a call ends at pc, and where it leads if that is fixed.
	CallBefore(pc uint64) (target uint64, direct, ok bool)
	// CallSlot is the word of memory with the target of the call that ends at pc.
	CallSlot(pc uint64) (slot uint64, ok bool)
	// Jump is where the stub at pc leads, or with slot the word of memory with its target.
	Jump(pc uint64) (to uint64, slot, ok bool)
}

// rows says what code does to the stack.
type rows interface {
	FromEntry(entry, end, pc uint64) (cfi.Row, bool)
	FromEntrySP(entry, end, pc uint64) (cfi.Row, bool)
	// Forward is given the exact pc; called says that it is a return address.
	Forward(pc uint64, called bool) (cfi.Row, bool)
}

// instructions are read by a room of their machine, code/x86 or code/arm64.
type instructions interface {
	calls
	rows
	// CallNumber is the number of the system call that ends at pc, in the function [start, end).
	CallNumber(start, end, pc uint64) (int64, bool)
}

// text is executable code, at link addresses of its module, or at those of the process.
type text struct {
	instructions
	start  uint64
	data   []byte
	budget *work.Budget
}

// hasCode reports whether instructions of the architecture can be read.
func hasCode(a *regs.Arch) bool { return a == regs.AMD64 || a == regs.I386 || a == regs.ARM64 }

// newText returns code of a, which must be one that can be read.
func newText(a *regs.Arch, start uint64, data []byte, b *work.Budget) text {
	t := text{start: start, data: data, budget: b}
	if a == regs.ARM64 {
		t.instructions = &arm64.Code{Start: start, Data: data, Budget: b}
	} else {
		t.instructions = x86Code{&x86.Code{Start: start, Data: data, Mode64: a.WordSize == 8, Budget: b}}
	}
	return t
}

// contains reports whether addr lies in the code.
func (t *text) contains(addr uint64) bool { return addr-t.start < uint64(len(t.data)) }

// x86Code is what code/x86 reads, where a return address is always in memory.
type x86Code struct{ *x86.Code }

func (c x86Code) Forward(pc uint64, _ bool) (cfi.Row, bool) { return c.Code.Forward(pc) }

func (c x86Code) Jump(pc uint64) (to uint64, slot, ok bool) {
	stub, ok := c.Stub(pc)
	return stub.Value, stub.Kind == x86.StubSlot, ok && (stub.Kind == x86.StubJump || stub.Kind == x86.StubSlot)
}

// threadSite says of code[at], where bytes around it were read, whether a C library looks there if it goes on in a
// thread that it has made, and whether that alone runs it.
func threadSite(a *regs.Arch, code []byte, at int) (begins, runs bool) {
	switch a {
	case regs.AMD64:
		return x86.BeginsThread(code, at), x86.ThreadReturns(code, at)
	case regs.ARM64:
		return arm64.BeginsThread(code, at), arm64.RunsThread(code, at)
	}
	return false, false
}

// signalReturn is the signal trampoline of which code[at] is an instruction, where bytes around it were read.
func signalReturn(a *regs.Arch, code []byte, at int) signalSite {
	if a == regs.ARM64 {
		if arm64.SignalReturn(code, at) {
			return signalSite{kind: rtSignal}
		}
		return signalSite{}
	}
	offset, rt, ok := x86.SignalReturn(code, at, a.WordSize == 8)
	switch {
	case !ok:
		return signalSite{}
	case rt:
		return signalSite{kind: rtSignal}
	case offset == 0:
		return signalSite{kind: oldSignal}
	}
	return signalSite{kind: oldSignal, moved: int64(a.WordSize)} // behind its pop
}
