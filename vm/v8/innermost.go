package v8

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/code/x86"
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
	// maxBelow bounds the search for a return address, bytes from the stack pointer on.
	maxBelow = 512
	// maxFrame bounds one frame, bytes.
	maxFrame = 8 << 20
)

var errNoReturn = errors.New("no return address is found on the stack")

// stateOf finds the state at PC, in a.
func (r *Runtime) stateOf(a *area, now *regs.Registers, v *view.View) (state, error) {
	pc, _ := now.PC()
	var window [before + behind]byte
	n := copy(window[:], v.UpTo(pc-before, before+behind))
	if n < before+1 {
		return state{}, fmt.Errorf("read code: %w", v.Fault())
	}
	code := window[before:n]
	b := r.builtinAt(a, pc)
	switch {
	case b != nil && b.kind == baselinePrologue && b.prologue >= 0 && !bytes.HasPrefix(code, buildsFrame):
		return r.inBaselinePrologue(a, b, now, v)
	case bytes.HasPrefix(code, buildsFrame), r.notBegun(a, b, pc, v):
		return returning(now, v, 0)
	case window[before-1] == buildsFrame[0] && bytes.HasPrefix(code, buildsFrame[1:]):
		return returning(now, v, wordSize)
	}
	e := epilogue{now: *now, v: v}
	if e.run(code) {
		return state{caller: e.now}, nil
	}
	// An entry of the interpreter without a prologue runs in a frame that is there: the deoptimizer has made it.
	if a.made || b != nil && (b.kind == bytecodeHandler || b.kind == entryFromC || b.kind == interpreterEntry ||
		b.prologue >= 0) {
		return state{framed: true}, nil
	}
	if s, err := r.callerOnStack(now, v); err == nil {
		return s, nil
	}
	return state{framed: true}, nil
}

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

// inBaselinePrologue is the state of the builtin that builds the frame of baseline code. It pops its own return address
// right before that; behind it is that of the function.
// Source: Builtins::Generate_BaselineOutOfLinePrologue in src/builtins/x64/builtins-x64.cc.
func (r *Runtime) inBaselinePrologue(a *area, b *builtin, now *regs.Registers, v *view.View) (state, error) {
	pc, _ := now.PC()
	sp, _ := now.SP()
	fp, _ := now.FP()
	switch at := int64(uint64(pc) - a.bias - uint64(b.start)); {
	case at < int64(b.prologue):
		callee := *now
		callee.Set(regs.AMD64RSP, uint64(sp)+wordSize)
		return returning(&callee, v, 0)
	case at == int64(b.prologue)+1:
		return returning(now, v, wordSize)
	}
	function, _ := now.Get(numbered[r.layout.Registers.Function&15])
	held, err := v.Word(fp + mem.Addr(r.layout.Frame.Function))
	marker, _ := v.Word(fp + mem.Addr(r.layout.Frame.Context))
	if err == nil && sp <= fp && (fp-sp < 3*wordSize || held == function || marker&1 == 0) {
		e := epilogue{now: *now, v: v}
		if code := r.instructions(pc, v); e.run(code) {
			return state{caller: e.now}, nil
		}
		return state{framed: true}, nil
	}
	return returning(now, v, 0) // it leaves for other code of the function
}

// instructions are the bytes from pc on.
func (r *Runtime) instructions(pc mem.Addr, v *view.View) []byte {
	return slices.Clone(v.UpTo(pc, behind))
}

// returning is the state of a function that returns to the word above saved bytes on the stack: 0 where the frame
// pointer is the caller's, 8 where it has just been pushed.
func returning(now *regs.Registers, v *view.View, saved mem.Addr) (state, error) {
	sp, _ := now.SP()
	next := *now
	if saved != 0 {
		fp, err := v.Word(sp)
		if err != nil {
			return state{}, err
		}
		next.Set(regs.AMD64RBP, fp)
	}
	ra, err := v.Word(sp + saved)
	if err != nil {
		return state{}, err
	}
	next.Set(regs.AMD64RIP, ra)
	next.Set(regs.AMD64RSP, uint64(sp+saved+wordSize))
	return state{caller: next, entered: true}, nil
}

// callerOnStack finds the caller of a builtin that has no frame: the first word above the stack pointer that is a
// return address into V8's code. Below it are at most what the builtin has saved, above it is the frame of the caller.
func (r *Runtime) callerOnStack(now *regs.Registers, v *view.View) (state, error) {
	sp, _ := now.SP()
	fp, ok := now.FP()
	if !ok || fp < sp || fp%wordSize != 0 {
		return state{}, errNoReturn
	}
	var buf [maxBelow]byte
	n := copy(buf[:], v.UpTo(sp, int(min(maxBelow, fp-sp))))
	for at := 0; at+wordSize <= n; at += wordSize {
		ra := mem.Addr(order.Uint64(buf[at:]))
		if r.areas.Load().find(ra-1) == nil || !called(ra, r.code(v)) {
			continue
		}
		next := *now
		next.Set(regs.AMD64RIP, uint64(ra))
		next.Set(regs.AMD64RSP, uint64(sp)+uint64(at)+wordSize)
		return state{caller: next}, nil
	}
	return state{}, errNoReturn
}

// called reports whether a call ends at ra.
func called(ra mem.Addr, v *view.View) bool {
	const longest = 10
	var b [longest]byte
	if _, err := v.ReadMem(b[:], ra-longest); err != nil {
		return false
	}
	code := x86.Code{Start: uint64(ra - longest), Data: b[:], Mode64: true}
	_, _, ok := code.CallBefore(uint64(ra))
	return ok
}
