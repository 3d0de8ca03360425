package hotspot

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/view"
)

// step is one frame of the JVM's code on the way to its caller.
type step struct {
	r   *Runtime
	j   *jvm
	v   *view.View      // the memory of the walk
	now *regs.Registers // in the frame
	pc  mem.Addr
	sp  mem.Addr
	fp  mem.Addr
	// interrupted says that pc is where the thread was interrupted: the frame may not be built yet, or be gone.
	interrupted bool
	// leaf says that no method was called from here, but a routine or C++: words may have been pushed for that.
	leaf bool
	act  *activation
}

// activation is what was found out of a frame on the way to its caller, which says what executes in it.
type activation struct {
	pc, sp mem.Addr // of the frame, as the walk knows it
	// at is where it executes: pc, or what was replaced by the way to a deoptimisation.
	at     mem.Addr
	blob   *codecache.Blob // nil for the interpreter
	method mem.Addr        // of an interpreted frame, 0 for none
	bcp    mem.Addr        // where its bytecode is, 0 if it has not begun
	// entry says that it is the entry of a method that has no frame of its own.
	entry bool
	// building says that the frames outside of it are being built: they may have what was left over of others.
	building bool
	// heap says that older frames of a virtual thread are not on the stack.
	heap bool
}

var (
	errStack  = errors.New("what is on the stack is no frame of this code")
	errCaller = errors.New("no return address was found")
	// errReplaces is where no order of frames is on the stack.
	errReplaces = errors.New("frames of compiled code are being replaced by those of the interpreter")
)

// maxFrame bounds one frame, bytes.
const maxFrame = 1 << 20

// Cross implements [unwind.Crosser].
func (r *Runtime) Cross(frames []unwind.Frame, now *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	f := &frames[len(frames)-1]
	j := r.jvm.Load()
	if j == nil || now.Arch != r.port.arch || !j.made(f.LookupPC()) {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	v := view.Lasting(m, r.budget) // the walk notes itself what of it was not copied
	s := step{r: r, j: j, v: &v, now: now, pc: f.PC, sp: f.SP, interrupted: f.Interrupted,
		act: r.activation(len(frames)-1, f)}
	s.fp, _ = now.FP()
	s.leaf = len(frames) < 2 || !r.isMethod(len(frames)-2, &frames[len(frames)-2], j)
	next, err := s.caller()
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("%v: %w", r, err)
	}
	if sp, _ := next.SP(); sp == s.sp && !s.interrupted && !s.act.entry || sp < s.sp || sp-s.sp > maxFrame {
		return unwind.Crossing{}, fmt.Errorf("%v: %w", r, errStack)
	}
	return unwind.Crossing{Registers: next}, nil
}

// activation is the one of frame number i, f, to be filled.
func (r *Runtime) activation(i int, f *unwind.Frame) *activation {
	for len(r.acts) <= i {
		r.acts = append(r.acts, activation{})
	}
	a := &r.acts[i]
	*a = activation{pc: f.PC, sp: f.SP, at: f.PC}
	return a
}

// isMethod reports whether frame number i, f, was found to be of a method.
func (r *Runtime) isMethod(i int, f *unwind.Frame, j *jvm) bool {
	if j.interprets(f.LookupPC()) {
		return true
	}
	b := r.acts[i].blob
	return r.acts[i].pc == f.PC && b != nil && b.Kind == codecache.Compiled
}

// caller finds the caller by what the frame is of.
func (s *step) caller() (regs.Registers, error) {
	switch {
	case s.pc == s.j.returns:
		return s.entryFrame()
	case s.j.interprets(s.pc):
		return s.r.port.interpreted(s)
	}
	b, err := s.r.blobAt(s.v, s.j, s.pc)
	if err != nil {
		return regs.Registers{}, err
	}
	s.act.blob = b
	switch b.Kind {
	case codecache.Compiled, codecache.Stub:
		return s.r.port.compiled(s, b)
	case codecache.Wrapper:
		return s.r.port.wrapper(s, b)
	case codecache.Frameless:
		return s.r.port.frameless(s)
	case codecache.Upcall:
		return s.byFramePointer()
	}
	return s.r.port.routine(s, b)
}

// entryFrame leaves the frame by which C++ calls Java, which saves what C++ must have back.
func (s *step) entryFrame() (regs.Registers, error) {
	next, err := s.byFramePointer()
	for reg, below := range s.r.port.saved {
		v, e := s.v.Word(s.fp - mem.Addr(below*wordSize))
		if err == nil {
			err = e
		}
		next.Set(reg, v)
	}
	return next, err
}

// byFramePointer leaves a frame that has a frame pointer.
func (s *step) byFramePointer() (regs.Registers, error) {
	return s.leave(s.fp+wordSize, s.fp+2*wordSize, s.fp, false)
}

// leave goes to the caller whose return address is at ra, with that stack pointer. The frame pointer of the caller is
// at saved, or where that is 0 it is the one of now. native says that native code may have called.
func (s *step) leave(ra, sp, saved mem.Addr, native bool) (regs.Registers, error) {
	pc, err := s.v.Word(ra)
	if err != nil {
		return regs.Registers{}, err
	}
	return s.leaveTo(mem.Addr(pc), sp, saved, native)
}

// leaveTo is leave with the return address itself.
func (s *step) leaveTo(pc, sp, saved mem.Addr, native bool) (regs.Registers, error) {
	arch := s.now.Arch
	fp, known := s.now.Get(arch.FP)
	if saved != 0 {
		var err error
		known = true
		if saved < s.sp || saved-s.sp > maxFrame {
			return regs.Registers{}, errStack
		}
		if fp, err = s.v.Word(saved); err != nil {
			return regs.Registers{}, err
		}
	}
	pc = s.r.unsigned(uint64(pc))
	next := regs.New(arch)
	if native { // what called native code knows its registers: this one has saved none
		next = *s.now
	}
	next.Set(arch.PC, uint64(pc))
	next.Set(arch.SP, uint64(sp))
	if next.Forget(arch.FP); known {
		next.Set(arch.FP, fp)
	}
	if sp%wordSize != 0 || !native && pc != s.j.returns && !s.j.made(pc-1) && s.act.blob != nil &&
		s.act.blob.Kind != codecache.Upcall {
		return next, errCaller
	}
	return next, nil
}

// returns reports whether the word at a is an address in the code cache.
func (s *step) returns(a mem.Addr) bool {
	ra, err := s.link(a)
	return err == nil && s.j.made(ra) && s.j.made(ra-1)
}

// link is the return address at a.
func (s *step) link(a mem.Addr) (mem.Addr, error) {
	w, err := s.v.Word(a)
	return s.r.unsigned(w), err
}
