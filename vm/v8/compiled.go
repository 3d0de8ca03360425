package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// What code is called that belongs to no function. That of a regular expression has a frame type of its own from V8
// 11 on.
const (
	regularExpression = "(regular expression)"
	madeCode          = "(regular expression, or other code of no function)"
)

// identifyCode names an activation of code that V8 has made, of f or, if that is nil, of what the code is known to be.
func (r *Runtime) identifyCode(a *activation, f *function, m mem.Reader) (unwind.Site, error) {
	if r.wasm.at(a.pc) != nil {
		return r.identifyWasm(a, m) // its frame is not built yet
	}
	c, err := r.codeAt(a.area, a.pc, m)
	if err != nil {
		if f == nil {
			return 0, err
		}
		a.note = firstLineNote
		return r.atStart(f, made, m)
	}
	switch c.Kind {
	case heap.Maglev, heap.Turbofan:
		return r.optimized(a, c, f, m)
	case heap.Baseline:
		if f == nil {
			f = c.of
		}
		if f == nil {
			return 0, errNoFunction
		}
		c.of = f
		return r.baseline(a, c, f, m)
	case heap.Interpreted:
		if f != nil {
			return r.identifyBytecode(a, f, m)
		}
	}
	return r.apart(madeCode)
}

// baseline names an activation of f by its baseline code c, which has been made of bytecode, one after the other.
func (r *Runtime) baseline(a *activation, c *code, f *function, m mem.Reader) (unwind.Site, error) {
	key := codeKey{c, a.pc, a.interrupted}
	if s, ok := r.sites.byCode[key]; ok {
		return s.site, nil
	}
	b, offset, ok := r.baselineOffset(c, a.pc, m)
	if !ok {
		a.note = firstLineNote
		return r.atStart(f, baselineTier, m)
	}
	unread := r.sites.unread
	s, err := r.position(f, b, offset, baselineTier, m)
	if err == nil && unread == r.sites.unread {
		r.sites.keepCode(key, codeSite{site: s})
	}
	return s, err
}

// firstLineNote is said where it is not known how far a function is.
const firstLineNote = "positions of this code cannot be read: the line is the function's first"

// baselineOffset finds the bytecode that the baseline code at pc was made of; false if a table is missing, as that of
// the lengths of bytecodes in a stripped object.
func (r *Runtime) baselineOffset(c *code, pc mem.Addr, m mem.Reader) (b heap.Bytecode, offset int, ok bool) {
	h := r.heap(m)
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
