package golang

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	// growth keeps in its g where a goroutine was whose stack is full, clears the frame pointer and calls
	// runtime.newstack on the system stack, which never returns: that resumes the goroutine out of the g, or gives
	// the thread to another one. So no word of the system stack leads back, and the way is that of the runtime's own
	// traceback: from the register that holds the current g to its m, to the goroutine of that, to what was saved
	// there.
	growth = "runtime.morestack"
	// callC goes to the system stack and calls C there. It keeps how deep the stack of the goroutine was: that may be
	// moved while C calls back, when frame pointers that C code keeps still lead to the old one.
	callC = "runtime.asmcgocall"
	// resume loads the stack pointer of a goroutine, and then jumps to where that goes on.
	resume = "gogo"
	// leave goes from a goroutine to the system stack for good.
	leave = "runtime.mcall"

	left = growth + " left the stack of a goroutine"
)

// Cross implements [unwind.Crosser].
func (r *Runtime) Cross(frames []unwind.Frame, now *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	v := view.Lasting(m, r.budget)
	switch top := &frames[len(frames)-1]; r.name(top.LookupPC()) {
	case callC:
		return r.crossCallC(top, &v)
	case growth, growth + "_noctxt":
		return r.crossGrowth(frames, now, &v)
	case resume:
		return r.crossResume(top, now, &v)
	case leave:
		return r.crossLeave(top, &v)
	}
	return unwind.Crossing{}, unwind.ErrDeclined
}

// crossGrowth goes from runtime.morestack on the system stack to the goroutine that called it.
func (r *Runtime) crossGrowth(frames []unwind.Frame, now *regs.Registers, v *view.View) (unwind.Crossing, error) {
	if r.gaveUp(frames) {
		return unwind.Crossing{Root: true}, nil
	}
	arch := now.Arch
	if r.port == nil || r.port.arch != arch {
		return unwind.Crossing{}, fmt.Errorf("%s; how to find it on %s is not known", left, arch.Name)
	}
	if r.port.grown != nil {
		if next, ok := r.port.grown(r, now); ok {
			return unwind.Crossing{Registers: next, Interrupted: true}, nil
		}
	}
	g, ok := now.Get(r.port.g)
	if !ok {
		return unwind.Crossing{}, fmt.Errorf("%s, and %s, which leads to it, is not known", left,
			arch.RegName(r.port.g))
	}
	sp, _ := now.SP()
	m, err := machineOf(g, v)
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("%s: %w", left, err)
	}
	called, ok := r.grown(m, v)
	if !m.stack.holds(uint64(sp)) && !(ok && called.holds(uint64(sp))) {
		return unwind.Crossing{}, fmt.Errorf("%s: g %#x is not of this thread", left, g)
	}
	if !ok {
		return unwind.Crossing{}, errors.New(left + ", which is no longer to be found")
	}
	return unwind.Crossing{Registers: saved(called[gSched:], arch), Interrupted: true}, nil
}

// yields are the functions by which runtime.newstack gives the thread away: what follows runs for
// no goroutine.
var yields = []string{"runtime.gopreempt_m", "runtime.goschedImpl", "runtime.preemptPark", "runtime.schedule"}

// gaveUp reports whether the frames below runtime.morestack, the last frame, have given the thread away.
func (r *Runtime) gaveUp(frames []unwind.Frame) bool {
	const near = 4 // newstack, gopreempt_m, goschedImpl, schedule
	for i := len(frames) - 2; i >= max(0, len(frames)-1-near); i-- {
		if slices.Contains(yields, r.name(frames[i].LookupPC())) {
			return true
		}
	}
	return false
}

// grown looks among the words of m for the goroutine that called runtime.morestack, and returns the
// words of its g; false if there is none (any more).
func (r *Runtime) grown(m *machine, v *view.View) (g words, ok bool) {
	known := int(r.curg.Load()) // others were not copied
	for i, at := range m.words {
		if i < mFirst || known != 0 && i != known || !mayBeG(at, m.system) {
			continue
		}
		if g.read(v, at, gWords) != nil || g[gM] != m.at {
			continue
		}
		// While the stack is copied SP may be in the old one and the bounds be the new one's.
		if g[gSched+bufSP] != 0 && r.calledGrowth(mem.Addr(g[gSched+bufPC])) {
			return g, true
		}
	}
	return g, false
}

// calledGrowth reports whether Go code goes on at pc behind a call of runtime.morestack.
func (r *Runtime) calledGrowth(pc mem.Addr) bool {
	if r.name(pc) == "" {
		return false
	}
	target, ok := r.callBefore(pc)
	if !ok {
		return r.port == nil
	}
	switch r.name(target) {
	case growth, growth + "_noctxt", "": // "": by way of a stub of the linker
		return true
	}
	return false
}

// callBefore is the target of the direct call that ends at pc.
func (r *Runtime) callBefore(pc mem.Addr) (mem.Addr, bool) {
	if r.port == nil {
		return 0, false
	}
	at := pc - r.port.callLength
	code, ok := r.m.Text(r.m.Vaddr(at))
	if !ok || len(code) < int(r.port.callLength) {
		return 0, false
	}
	distance, ok := r.port.call(code)
	return offset(at, distance), ok
}

// saved returns the registers with which the goroutine goes on whose gobuf that is.
func saved(buf []uint64, arch *regs.Arch) regs.Registers {
	last := buf[bufLR:]
	// Both layouts are told apart by a word that is 0 only in the old one.
	link := arch.LR != regs.NoReg
	if link && last[0] == 0 || !link && last[1] == 0 {
		last = last[1:]
	}
	next := regs.New(arch)
	next.Set(arch.SP, buf[bufSP])
	next.Set(arch.PC, buf[bufPC])
	if link {
		next.Set(arch.LR, last[0])
	}
	if fp := last[1] + wordSize; fp >= buf[bufSP] && fp-buf[bufSP] < maxFrame { // arm64 keeps it below SP
		next.Set(arch.FP, last[1])
	}
	return next
}

// maxFrame bounds the bytes of one frame.
const maxFrame = 8 << 20

// crossResume goes from gogo, which has loaded the stack pointer of a goroutine, to that. Nobody waits for gogo to
// return, so that it is the outermost frame where this is not known.
func (r *Runtime) crossResume(top *unwind.Frame, now *regs.Registers, v *view.View) (unwind.Crossing, error) {
	root := unwind.Crossing{Root: true}
	if r.port == nil || now.Arch != r.port.arch {
		return root, nil
	}
	code, ok := r.m.Text(r.m.Vaddr(top.PC))
	if !ok {
		return root, nil
	}
	next, ok, err := r.port.resumed(code, now, v.Word)
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("read where the goroutine goes on: %w", err)
	}
	if pc, _ := next.PC(); !ok || r.name(pc) == "" {
		return root, nil
	}
	return unwind.Crossing{Registers: next, Interrupted: true}, nil
}

// crossCallC goes from runtime.asmcgocall, which waits for C on the system stack, to its caller: on the goroutine's
// stack, or on the same one where that was the system stack already. It keeps there the depth below the end of the
// goroutine's stack and the g, or the stack pointer itself and 0.
func (r *Runtime) crossCallC(top *unwind.Frame, v *view.View) (unwind.Crossing, error) {
	var saved, g words
	if r.port == nil || top.Interrupted {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	code, ok := r.m.Text(r.m.Vaddr(top.PC))
	if !ok {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	kept, from := &r.port.kept, top.SP
	if r.port.keptAt != nil {
		from += r.port.keptAt(code)
	}
	if saved.read(v, uint64(from), 2) != nil {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	sp := saved[kept.depth]
	if saved[kept.g] != 0 {
		if g.read(v, saved[kept.g], 2) != nil || sp >= g[gStackHi]-g[gStackLo] {
			return unwind.Crossing{}, unwind.ErrDeclined
		}
		sp = g[gStackHi] - sp
	}
	fp, err := v.Word(offset(mem.Addr(sp), kept.fp))
	pc, err2 := v.Word(offset(mem.Addr(sp), kept.ra))
	if err != nil || err2 != nil || !r.callsC(mem.Addr(pc)) {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	next := regs.New(r.port.arch)
	next.Set(next.Arch.FP, fp)
	next.Set(next.Arch.PC, pc)
	next.Set(next.Arch.SP, sp+uint64(kept.size))
	return unwind.Crossing{Registers: next}, nil
}

// callsC reports whether Go code goes on at pc behind a call of runtime.asmcgocall.
func (r *Runtime) callsC(pc mem.Addr) bool {
	if r.name(pc) == "" {
		return false
	}
	target, ok := r.callBefore(pc)
	return ok && (r.name(target) == callC || r.name(target) == "") // "": by way of a stub of the linker
}
