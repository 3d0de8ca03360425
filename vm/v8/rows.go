package v8

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Row implements [unwind.RowSource]. A frame that has called another one has its frame pointer; what the innermost has,
// its instructions say, and what the deoptimizer was entered from is on the stack: see Cross.
func (r *Runtime) Row(_ unwind.Region, pc mem.Addr, interrupted bool) (*cfi.Row, bool, error) {
	a := r.areas.Load().find(pc)
	if a == nil {
		return nil, false, nil
	}
	b := r.builtinAt(a, pc)
	if b != nil && b.kind == entryFromC {
		if row := r.port.entry(r, b, module.Vaddr(uint64(pc)-a.bias), interrupted); row != nil {
			return row, true, nil
		}
	}
	switch {
	case interrupted, r.mayHaveSaving(a):
		return nil, false, nil
	case b == nil:
		return r.port.framed, true, nil
	case b.kind == deoptimizer, b.inFrame():
		return nil, false, nil
	}
	return r.port.framed, true, nil
}
