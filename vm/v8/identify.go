package v8

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// activation is one frame of V8's code as it is named.
type activation struct {
	area    *area
	builtin *builtin // nil if pc is in none that is known
	pc      mem.Addr // as it is looked up
	fp      mem.Addr // 0 where the frame is not built, or given up
	// sp and regs are of the innermost frame of a thread; 0 and nil elsewhere. Slots below sp have not been written.
	sp   mem.Addr
	regs *regs.Registers
	// interrupted says that pc is where the code was interrupted, and no call.
	interrupted bool
	// deoptimizes says that the code is being given up: it has called the deoptimizer.
	deoptimizes bool
	// entered says that the function has just been called, so that registers have what a caller sets.
	entered bool
	regexp  bool      // it is of a regular expression, whose frame is not a function's
	stopped time.Time // when the thread was; zero if that is not known
	// sure says that its function was copied in the stop, or that what it executes leads to the same one.
	sure bool
	// note is what more makes the name less sure, and unsure why it may be another's; set by who names.
	note, unsure string
	gap          bool // functions are missing behind it
}

// lateNote is said where a function was found by what was read when the thread ran again.
const lateNote = "what it executes was read when the thread ran again: it may be another function"

// Identify implements [unwind.Identifier].
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	areas := r.areas.Load()
	if t.Arch != r.port.arch {
		return
	}
	v := view.Over(m, r.live, r.budget)
	v.Within(identifyWork)
	defer r.publish()
	for i := range s.Frames {
		f := &s.Frames[i]
		a := areas.find(f.LookupPC())
		if a == nil || f.Site != 0 || a.mixed && !withoutTable(s, i) {
			continue
		}
		is, err := r.ours(a, f.LookupPC()), error(nil)
		if !is {
			is, err = r.isWasm(f, a, &v)
		}
		var act activation
		if is {
			act, err = r.activationOf(a, f, t, i == 0, &v)
		}
		if err != nil {
			f.Note = cmp.Or(f.Note, "not named: "+r.String()+": "+err.Error())
		}
		if err != nil || !is {
			continue
		}
		act.deoptimizes = i > 0 && r.calledDeoptimizer(areas, &s.Frames[i-1])
		site, err := r.identifyIn(areas, &act, &v)
		if err != nil {
			act.note = "not named: " + r.String() + ": " + err.Error()
		}
		site = r.withAwaiting(site, &act, &v)
		if site != 0 {
			f.Runtime, f.Site = r, site
		}
		r.note(f, &act)
	}
}

// note says of f what is not sure of the activation that it is.
func (r *Runtime) note(f *unwind.Frame, a *activation) {
	note := a.note
	f.Gap = f.Gap || a.gap
	if a.unsure != "" && f.Site != 0 {
		f.Unsure, note = true, a.unsure
	}
	if all := r.sites.list(f.Site); note == "" && len(all) > 0 {
		note = all[len(all)-1].Note
	}
	if f.Note == "" {
		f.Note = note
	}
}

// identifyWork bounds what naming one stack may read of the heap, bytes and some a read: texts of scripts are read,
// once, to count their lines, and a bundle has some megabytes.
const identifyWork = 1 << 29

// withoutTable reports whether frame i of s is of code that no unwind table knows: the next one was found by the
// runtime.
func withoutTable(s *unwind.Stack, i int) bool {
	if i+1 >= len(s.Frames) {
		return false
	}
	o := s.Frames[i+1].Origin
	return o == unwind.ByRuntime || o == unwind.Context
}

// activationOf gathers what the frame f, the innermost of t or not, shows; an error says why its frame pointer is not
// known.
func (r *Runtime) activationOf(a *area, f *unwind.Frame, t *snapshot.Thread, innermost bool, v *view.View) (activation,
	error) {
	act := activation{area: a, builtin: r.builtinAt(a, f.LookupPC()), pc: f.LookupPC(), interrupted: f.Interrupted,
		stopped: t.Time}
	if act.regexp = r.savingAt(a, act.pc, v) != nil; act.regexp {
		return act, nil
	}
	if !innermost || !f.Interrupted || t.Registers == nil {
		act.fp, act.sp = f.CFA-2*wordSize, 0
		if act.builtin != nil && act.builtin.kind == deoptimizer {
			act.sp = f.SP
		}
		if f.CFA == 0 {
			return act, errNoFrame
		}
		return act, nil
	}
	act.regs, act.sp = t.Registers, f.SP
	s, err := r.port.stateOf(r, a, t.Registers, v)
	if err != nil {
		return act, err
	}
	if s.framed {
		act.fp, _ = t.Registers.FP()
	}
	act.entered = s.entered
	return act, nil
}

// identifyIn is identify, with what is known of the deoptimizer.
func (r *Runtime) identifyIn(areas *areas, a *activation, v *view.View) (unwind.Site, error) {
	if a.builtin != nil && a.builtin.kind == deoptimizer {
		return r.identifyDeoptimizer(a, areas, v)
	}
	return r.identify(a, v)
}

// calledDeoptimizer reports whether f is of the builtin that optimised code calls to be given up, and the frame behind
// is that of the code: later it stands for the code itself.
func (r *Runtime) calledDeoptimizer(areas *areas, f *unwind.Frame) bool {
	pc := f.LookupPC()
	a := areas.find(pc)
	if a == nil {
		return false
	}
	b := r.builtinAt(a, pc)
	return b != nil && b.kind == deoptimizer && !b.deopt.standsFor(a, pc, f.Interrupted)
}

// in is what the place of a in c is remembered by, in a frame of f.
func (a *activation) in(c *code, f *function) codeKey {
	return codeKey{c, f, a.pc, a.interrupted, a.deoptimizes}
}

// slot reads the word at offset of the frame.
func (a *activation) slot(v *view.View, offset int32) (heap.Tagged, bool) {
	at := a.fp + mem.Addr(offset)
	if a.fp == 0 || at < a.sp {
		return 0, false
	}
	w, err := v.Word(at)
	return heap.Tagged(w), err == nil
}

// register is a register of a, the innermost frame, by V8's number.
func (r *Runtime) register(a *activation, number int32) (uint64, bool) {
	if a.regs == nil {
		return 0, false
	}
	return a.regs.Get(r.port.register(number))
}

var (
	errNoFrame      = errors.New("where its frame is is not known")
	errNoFunction   = errors.New("its function is not known")
	errLateFunction = errors.New("its function was not copied while the thread was stopped, and has moved since")
)

// identify returns the Site of an activation, 0 where it has none: then the symbol table names it. An error says what
// is not known of it.
func (r *Runtime) identify(a *activation, v *view.View) (unwind.Site, error) {
	if a.regexp && !r.layout.Code.Inline {
		return r.apart(regularExpression)
	} else if a.regexp {
		return r.apart(madeCode)
	}
	if marker, ok := a.slot(v, r.layout.Frame.Context); ok && marker&1 == 0 {
		return r.identifyTyped(a, int32(marker>>1), v)
	}
	f, err := r.functionOf(a, v)
	defer func() {
		if err == nil && !a.sure {
			a.unsure = lateNote
		}
	}()
	if err != nil {
		return r.withoutFunction(a, err, v)
	}
	switch {
	case a.area.made:
		return r.identifyCode(a, f, v)
	case a.builtin != nil && a.builtin.kind == baselinePrologue:
		return r.atStart(f, baselineTier, v)
	case a.fp == 0:
		return r.atStart(f, interpreterTier, v)
	case r.interprets(a, v):
		return r.identifyBytecode(a, f, v)
	}
	return r.builtinFunction(a, f, v)
}

// withoutFunction is the Site of an activation whose function is not known, for that reason: of the code alone.
func (r *Runtime) withoutFunction(a *activation, why error, v *view.View) (unwind.Site, error) {
	begun := a.fp != 0 && a.fp+mem.Addr(r.layout.Frame.Context) >= a.sp // its frame has what says of what it is
	switch b := a.builtin; {
	case b != nil && (!begun || b.kind != interpreterEntry && b.kind != bytecodeHandler):
		if begun {
			a.note = "which function of V8 it is is not known: " + why.Error()
		}
		return r.stub(b.name)
	case a.area.made && errors.Is(why, errNoFunction):
		return r.identifyCode(a, nil, v)
	}
	return 0, why
}

// functionOf finds the function that a executes: in its frame, or where the frame is not built in the register that a
// caller sets.
func (r *Runtime) functionOf(a *activation, v *view.View) (*function, error) {
	tagged, ok := a.slot(v, r.layout.Frame.Function)
	if !ok && (a.fp != 0 || a.entered) && a.calledByFunction() {
		w, known := r.register(a, r.layout.Registers.Function)
		tagged, ok = heap.Tagged(w), known
	}
	if !ok {
		return nil, errNoFunction
	}
	receiver, _ := a.slot(v, r.layout.Frame.Args)
	before := v.Fault()
	f, sure, err := r.function(tagged, receiver, v)
	if a.sure = sure; err == nil && !f.label.final && v.Fault() != before {
		a.note = "it may have another name: what would say so cannot be read"
	}
	return f, err
}

// calledByFunction reports whether a caller of the code that a executes sets the register of functions: where that is a
// builtin for something else it has any value.
func (a *activation) calledByFunction() bool {
	if a.builtin == nil {
		return a.area.made
	}
	return a.builtin.kind == interpreterEntry || a.builtin.kind == baselinePrologue
}

// interprets reports whether a runs bytecode: its code is the interpreter's, or that is not known and the frame shows
// it. A builtin without a frame of its own, innermost, executes in that of its caller.
func (r *Runtime) interprets(a *activation, v *view.View) bool {
	if b := a.builtin; b != nil && (b.kind == interpreterEntry || b.kind == bytecodeHandler) {
		return true
	} else if b != nil && a.regs == nil {
		return false
	}
	array, ok := a.slot(v, r.layout.Frame.BytecodeArray)
	offset, written := a.slot(v, r.layout.Frame.BytecodeOffset)
	if _, smi := offset.Int(); !ok || !written || !smi {
		return false
	}
	_, err := r.heap(v).BytecodeOf(array)
	return err == nil
}

// identifyBytecode names an activation that the interpreter runs. That f is its function, if that was not copied, is
// shown by the bytecode that both lead to.
func (r *Runtime) identifyBytecode(a *activation, f *function, v *view.View) (unwind.Site, error) {
	array, ok := a.slot(v, r.layout.Frame.BytecodeArray)
	biased, known := r.biasedOffset(a, array, v)
	if ok && !a.sure {
		same, err := r.isCompiledTo(f, array, v)
		if !same {
			return 0, errors.Join(errLateFunction, err)
		}
		a.sure = true
	}
	if !ok || !known { // the frame is being built
		return r.atStart(f, interpreterTier, v)
	}
	h := r.heap(v)
	if offset, ok := h.BytecodeOffset(heap.Bytecode{Length: math.MaxInt}, biased); ok {
		if s, ok := r.sites.byBytecode.Get(bytecodeKey{f, offset, interpreterTier}); ok && r.sites.has(s) {
			return s, nil
		}
	}
	b, err := h.BytecodeOf(array)
	if err != nil {
		return r.noted(f, interpreterTier, firstLineNote, v)
	}
	offset, ok := h.BytecodeOffset(b, biased)
	if !ok {
		return r.atStart(f, interpreterTier, v)
	}
	return r.position(f, b, offset, interpreterTier, v)
}

// biasedOffset is the place of the bytecode that a executes, as V8 counts it. A handler keeps it in a register, and
// what the frame has is of an earlier bytecode.
func (r *Runtime) biasedOffset(a *activation, array heap.Tagged, v *view.View) (int, bool) {
	if a.builtin != nil && a.builtin.kind == bytecodeHandler {
		held, ok := r.register(a, r.layout.Registers.BytecodeArray)
		biased, ok2 := r.register(a, r.layout.Registers.BytecodeOffset)
		if ok && ok2 && heap.Tagged(held) == array && biased < 1<<31 {
			return int(biased), true
		}
	}
	slot, ok := a.slot(v, r.layout.Frame.BytecodeOffset)
	biased, smi := slot.Int()
	return biased, ok && smi
}

// irregexpFrame is the type of frames of regular expressions.
const irregexpFrame = "IrregexpFrame"

// identifyTyped names a frame that says by a number what it is.
func (r *Runtime) identifyTyped(a *activation, number int32, v *view.View) (unwind.Site, error) {
	name, known := r.layout.FrameType(number)
	if known && name == builtinExit {
		if tagged, ok := a.slot(v, exitTarget); ok {
			if f, _, err := r.function(tagged, 0, v); err == nil {
				return r.builtinFunction(a, f, v)
			}
		}
	}
	switch {
	case a.builtin != nil:
		return r.stub(a.builtin.name)
	case name == wasmFrame:
		return r.identifyWasm(a, v)
	case name == irregexpFrame:
		return r.apart(regularExpression)
	case known:
		return r.stub(name)
	}
	return r.stub(fmt.Sprintf("frame type %d", number))
}
