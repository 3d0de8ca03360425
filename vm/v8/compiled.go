package v8

import (
	"errors"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// What code is called that belongs to no function. That of a regular expression has a frame type of its own from V8
// 11 on.
const (
	regularExpression = "(regular expression)"
	madeCode          = "(regular expression, or other code of no function)"
)

// Notes on frames whose line, or more of which, is not known.
const (
	firstLineNote = "positions of this code cannot be read: the line is the function's first"
	movedNote     = "V8 moved its code meanwhile: the line is the function's first"
	inlinedNote   = "V8 moved its code meanwhile: the line is the function's first, and inlined calls may be missing"
)

// identifyCode names an activation of code that V8 has made, of f or, if that is nil, of what the code is known to be.
func (r *Runtime) identifyCode(a *activation, f *function, v *view.View) (unwind.Site, error) {
	if r.wasm.At(a.pc) != nil {
		return r.identifyWasm(a, v) // its frame is not built yet
	}
	c, err := r.codeAt(a.area, a.pc, v)
	if err != nil {
		if f == nil {
			return 0, err
		}
		return r.noted(f, made, inlinedNote, v)
	}
	if f == nil && !c.found.Before(a.stopped) {
		a.unsure = lateNote // it was there neither before nor in the stop, as far as we saw
	}
	switch c.Kind {
	case heap.Maglev, heap.Turbofan:
		return r.optimized(a, c, f, v)
	case heap.Baseline:
		return r.baseline(a, c, f, v)
	case heap.Interpreted:
		if f != nil {
			return r.identifyBytecode(a, f, v)
		}
		return r.stub("InterpreterEntryTrampoline") // a copy of it, which returns
	}
	return r.apart(madeCode)
}

// baseline names an activation of f by its baseline code c, which has been made of bytecode, one after the other. That
// c is of f is shown by the bytecode that both lead to.
func (r *Runtime) baseline(a *activation, c *code, f *function, v *view.View) (unwind.Site, error) {
	if f == nil {
		f = c.of
	}
	if f == nil {
		return 0, errNoFunction
	}
	if f != c.of {
		switch same, err := r.isCompiledTo(f, c.Deopt, v); {
		case same:
			c.of = f
		case !a.sure:
			return 0, errors.Join(errLateFunction, err)
		default:
			return r.noted(f, baselineTier, movedNote, v)
		}
	}
	a.sure = true
	key := a.in(c, f)
	if s, ok := r.sites.byCode.Get(key); ok && r.sites.has(s) {
		return s, nil
	}
	b, offset, ok := r.baselineOffset(c, a.pc, v)
	if !ok {
		return r.noted(f, baselineTier, firstLineNote, v)
	}
	unread := r.sites.unread
	s, err := r.position(f, b, offset, baselineTier, v)
	if err == nil && unread == r.sites.unread {
		r.sites.byCode.Keep(key, s, placeCost)
	}
	return s, err
}

// isCompiledTo reports whether f has been compiled to the bytecode that array refers to.
func (r *Runtime) isCompiledTo(f *function, array heap.Tagged, v *view.View) (bool, error) {
	b, err := r.heap(v).BytecodeOf(array)
	if err != nil {
		return false, err
	}
	return r.heap(v).Runs(f.Shared, b)
}

// baselineOffset finds the bytecode that the baseline code at pc was made of; false if a table is missing, as that of
// the lengths of bytecodes in a stripped object.
func (r *Runtime) baselineOffset(c *code, pc mem.Addr, v *view.View) (b heap.Bytecode, offset int, ok bool) {
	h := r.heap(v)
	b, err := h.BytecodeOf(c.Deopt)
	if err != nil || r.builtins.bytecodeSizes() == nil {
		return b, 0, false
	}
	lengths, err := h.Table(c.Positions)
	if err != nil {
		return b, 0, false
	}
	bytecode, err := h.Instructions(b)
	if err != nil {
		return b, 0, false
	}
	offset, ok = heap.BaselineOffset(lengths, bytecode, r.builtins.bytecodeSizes(), int(pc-c.Start))
	return b, offset, ok
}
