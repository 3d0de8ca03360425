package v8

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
)

// Cross implements [unwind.Crosser]: it leads out of the innermost frame, and out of the deoptimizer.
func (r *Runtime) Cross(frames []unwind.Frame, now *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	f := &frames[len(frames)-1]
	a := r.areas.Load().find(f.LookupPC())
	if a == nil || now.Arch != regs.AMD64 {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	if b := r.builtinAt(a, f.LookupPC()); b != nil && b.kind == deoptimizer {
		return r.crossDeoptimizer(a, b, f, now, m)
	}
	s, err := r.stateOf(a, now, m)
	switch {
	case err != nil:
		return unwind.Crossing{}, err
	case !s.framed:
		return unwind.Crossing{Registers: s.caller}, nil
	}
	next, err := callerOf(now, m)
	return unwind.Crossing{Registers: next}, err
}

// callerOf goes by the frame pointer.
func callerOf(now *regs.Registers, m mem.Reader) (regs.Registers, error) {
	sp, _ := now.SP()
	fp, ok := now.FP()
	switch {
	case !ok:
		return regs.Registers{}, errors.New("the frame pointer is not known")
	case fp < sp || fp-sp > maxFrame || fp%wordSize != 0:
		return regs.Registers{}, fmt.Errorf("rbp %#x is no frame pointer (stack pointer %#x)", uint64(fp), uint64(sp))
	}
	saved, err := word(m, fp)
	if err != nil {
		return regs.Registers{}, err
	}
	ra, err := word(m, fp+wordSize)
	if err != nil {
		return regs.Registers{}, err
	}
	next := regs.New(regs.AMD64)
	next.Set(regs.AMD64RIP, ra)
	next.Set(regs.AMD64RSP, uint64(fp)+2*wordSize)
	next.Set(regs.AMD64RBP, saved)
	return next, nil
}
