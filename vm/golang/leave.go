package golang

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// enterGo is called by C, with what Go function to call, and calls runtime.cgocallback.
const enterGo = "crosscall2"

// leftNote is of the C that called a goroutine which waits.
const leftNote = "the goroutine that was called from here waits: its frames before this one are missing"

// Words of the frame of runtime.cgocallback on the system stack, from its stack pointer.
const (
	callGoSP, callGoFP, callGoRA = 0, 3, 4 // g0's stack pointer before, saved registers
	callGoWords                  = 5
)

// crossLeave goes from runtime.mcall, which runs the scheduler on the system stack, to the C below it, if a goroutine
// that C called has given the thread away: that is locked to the thread, so that C is there until it goes on.
// runtime.mcall begins where g0's stack pointer is, with one word and the return address: there is the frame of
// runtime.cgocallback then, and else one of runtime.mstart0.
// Source: runtime/asm_amd64.s and runtime/cgo/asm_amd64.s.
func (r *Runtime) crossLeave(top *unwind.Frame, v *view.View) (unwind.Crossing, error) {
	const word = 8
	arch := regs.AMD64
	var w words
	at := top.SP + word
	if r.m.Machine() != machineAMD64 || top.Interrupted || w.read(v, uint64(at), callGoWords) != nil {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	pc := mem.Addr(w[callGoRA])
	target, ok := r.callBefore(pc)
	if !ok || r.name(pc-1) != enterGo || r.name(target) != callGo || w[callGoSP] < uint64(at) ||
		w[callGoFP] <= uint64(at)+callGoRA*word {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	next := regs.New(arch)
	next.Set(arch.PC, w[callGoRA])
	next.Set(arch.SP, uint64(at)+callGoWords*word)
	next.Set(arch.FP, w[callGoFP])
	return unwind.Crossing{Registers: next, Note: leftNote}, nil
}
