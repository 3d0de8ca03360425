package v8

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// Cross implements [unwind.Crosser]: it leads out of the innermost frame, and out of the deoptimizer.
func (r *Runtime) Cross(frames []unwind.Frame, now *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	f := &frames[len(frames)-1]
	a := r.areas.Load().find(f.LookupPC())
	if a == nil || now.Arch != r.port.arch {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	v := r.walked(m)
	if b := r.builtinAt(a, f.LookupPC()); b != nil && b.kind == deoptimizer {
		return r.crossDeoptimizer(a, b, f, now, v)
	} else if b != nil && b.inFrame() && !f.Interrupted {
		next, err := r.callerOfEntry(now, v)
		return unwind.Crossing{Registers: next}, err
	}
	if next, is, err := r.crossMade(a, f, now, v); is {
		return unwind.Crossing{Registers: next}, err
	}
	s, err := r.port.stateOf(r, a, now, v)
	switch {
	case err != nil:
		return unwind.Crossing{}, err
	case !s.framed:
		return unwind.Crossing{Registers: s.caller}, nil
	}
	next, err := callerOf(now, v)
	return unwind.Crossing{Registers: next}, err
}

// walked is the memory of a walk, which notes itself what of it was not copied.
func (r *Runtime) walked(m mem.Reader) *view.View {
	v := view.Lasting(m, r.budget)
	return &v
}

// code is the memory that code is read from in a walk: what was not copied of it is as it was, while some frame
// executes it.
func (r *Runtime) code(v *view.View) *view.View {
	if r.live == nil {
		return v
	}
	return r.walked(r.live)
}

// callerOfEntry goes from an entry of the interpreter to the caller of the function whose frame it runs in. While it
// calls C++ it has a frame of its own below that, which has a type and no return address.
func (r *Runtime) callerOfEntry(now *regs.Registers, v *view.View) (regs.Registers, error) {
	fp, _ := now.FP()
	marker, err := v.Word(fp + mem.Addr(r.layout.Frame.Context))
	if err == nil && marker&1 == 0 {
		own := *now
		saved, err := v.Word(fp)
		if err != nil {
			return own, err
		}
		own.Set(own.Arch.FP, saved)
		return callerOf(&own, v)
	}
	return callerOf(now, v)
}

// callerOf goes by the frame pointer.
func callerOf(now *regs.Registers, v *view.View) (regs.Registers, error) {
	sp, _ := now.SP()
	fp, ok := now.FP()
	switch {
	case !ok:
		return regs.Registers{}, errors.New("the frame pointer is not known")
	case fp < sp || fp-sp > maxFrame || fp%wordSize != 0:
		return regs.Registers{}, fmt.Errorf("%#x is no frame pointer (stack pointer %#x)", uint64(fp), uint64(sp))
	}
	saved, err := v.Word(fp)
	if err != nil {
		return regs.Registers{}, err
	}
	ra, err := v.Word(fp + wordSize)
	if err != nil {
		return regs.Registers{}, err
	}
	return behindRecord(now.Arch, fp, saved, ra), nil
}

// behindRecord are the registers of the caller of a function whose frame record at fp has those two words.
func behindRecord(arch *regs.Arch, fp mem.Addr, saved, ra uint64) regs.Registers {
	next := regs.New(arch)
	next.Set(arch.PC, ra)
	next.Set(arch.SP, uint64(fp)+2*wordSize)
	next.Set(arch.FP, saved)
	return next
}
