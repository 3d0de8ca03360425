package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/view"
)

// state is what the code at an interrupted PC has done to the stack.
type state struct {
	// framed says that the frame pointer is that of the function, or of the frame that it executes in.
	framed bool
	// entered says that the function has only been called yet.
	entered bool
	// caller is where it goes on if not framed: its registers, as far as they are known.
	caller regs.Registers
}

const (
	// before and behind are how many bytes around a PC are read.
	before, behind = 8, 32
	// maxFrame bounds one frame, bytes.
	maxFrame = 8 << 20
)

// notBegun reports whether pc is before the instructions that build the frame of its function.
func (r *Runtime) notBegun(a *area, b *builtin, pc mem.Addr, v *view.View) bool {
	switch {
	case b != nil:
		return b.prologue >= 0 && int64(uint64(pc)-a.bias-uint64(b.start)) < int64(b.prologue)
	case !a.made:
		return false
	}
	c, err := r.codeAt(a, pc, r.code(v))
	return err == nil && c.prologue >= 0 && int64(pc-c.Start) < int64(c.prologue)
}

// called reports whether a call ends at ra.
func (r *Runtime) called(ra mem.Addr, v *view.View) bool {
	const longest = 12
	var b [longest]byte
	if _, err := v.ReadMem(b[:], ra-longest); err != nil {
		return false
	}
	return r.port.called(b[:], uint64(ra-longest), uint64(ra))
}
