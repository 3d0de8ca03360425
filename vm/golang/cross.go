package golang

import (
	"bytes"
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
	v := view.Over(m, nil, r.budget)
	switch top := &frames[len(frames)-1]; r.name(top.LookupPC()) {
	case callC:
		return r.crossCallC(top, &v)
	case growth:
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
	reg, ok := register[arch]
	if !ok {
		return unwind.Crossing{}, fmt.Errorf("%s; how to find it on %s is not known", left, arch.Name)
	}
	g, ok := now.Get(reg)
	if !ok {
		return unwind.Crossing{}, fmt.Errorf("%s, and %s, which leads to it, is not known", left, arch.RegName(reg))
	}
	sp, _ := now.SP()
	m, err := machineOf(g, uint64(sp), v)
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("%s: %w", left, err)
	}
	called, ok := r.grown(m, v)
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
		return r.m.Machine() != machineAMD64
	}
	switch r.name(target) {
	case growth, growth + "_noctxt", "": // "": by way of a stub of the linker
		return true
	}
	return false
}

// callBefore is the target of the direct call that ends at pc, on amd64: e8 and the distance.
func (r *Runtime) callBefore(pc mem.Addr) (mem.Addr, bool) {
	const length = 5
	if r.m.Machine() != machineAMD64 {
		return 0, false
	}
	b, ok := r.m.Text(r.m.Vaddr(pc - length))
	if !ok || len(b) < length || b[0] != 0xe8 {
		return 0, false
	}
	return pc + mem.Addr(int32(regs.AMD64.Order.Uint32(b[1:]))), true
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
	if fp := last[1]; fp >= buf[bufSP] && fp-buf[bufSP] < maxFrame {
		next.Set(arch.FP, fp)
	}
	return next
}

// maxFrame bounds the bytes of one frame.
const maxFrame = 8 << 20

// crossResume goes from gogo, which has loaded the stack pointer of a goroutine, to that: PC is in
// the gobuf that rbx points to until it is loaded too, for the jump that comes last. Nobody waits for
// gogo to return, so that it is the outermost frame where this is not known.
func (r *Runtime) crossResume(top *unwind.Frame, now *regs.Registers, v *view.View) (unwind.Crossing, error) {
	const jump = "\xff\xe3" // jmp rbx
	root := unwind.Crossing{Root: true}
	buf, ok := now.Get(regs.AMD64RBX)
	if now.Arch != regs.AMD64 || !ok {
		return root, nil
	}
	code, ok := r.m.Text(r.m.Vaddr(top.PC))
	if !ok || len(code) < len(jump) {
		return root, nil
	}
	pc := mem.Addr(buf)
	if string(code[:len(jump)]) != jump {
		saved, err := v.Word(pc + bufPC*wordSize)
		if err != nil {
			return unwind.Crossing{}, fmt.Errorf("read where the goroutine goes on: %w", err)
		}
		pc = mem.Addr(saved)
	}
	if r.name(pc) == "" {
		return root, nil
	}
	next := *now
	next.Set(next.Arch.PC, uint64(pc))
	return unwind.Crossing{Registers: next, Interrupted: true}, nil
}

// crossCallC goes from runtime.asmcgocall, which waits for C on the system stack, to its caller: on the goroutine's
// stack, or on the same one where that was the system stack already. It keeps there the depth below the end of the
// goroutine's stack and the g, or the stack pointer itself and 0.
// Source: runtime/asm_amd64.s.
func (r *Runtime) crossCallC(top *unwind.Frame, v *view.View) (unwind.Crossing, error) {
	arch := regs.AMD64
	var saved, record, g words
	code, ok := r.m.Text(r.m.Vaddr(top.PC))
	if !ok || r.m.Machine() != machineAMD64 || top.Interrupted {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	if saved.read(v, uint64(top.SP+keptAt(code)), 2) != nil {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	sp := saved[0]
	if saved[1] != 0 {
		if g.read(v, saved[1], 2) != nil || saved[0] >= g[gStackHi]-g[gStackLo] {
			return unwind.Crossing{}, unwind.ErrDeclined
		}
		sp = g[gStackHi] - saved[0]
	}
	if record.read(v, sp, 2) != nil || !r.callsC(mem.Addr(record[1])) {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	next := regs.New(arch)
	next.Set(arch.FP, record[0])
	next.Set(arch.PC, record[1])
	next.Set(arch.SP, sp+16)
	return unwind.Crossing{Registers: next}, nil
}

// keptAt is how far above SP runtime.asmcgocall keeps what it needs, by the code that it goes on with: up to Go 1.21
// "mov rdi, [rsp+48]" or "mov rsi, [rsp+40]", since then at SP.
func keptAt(code []byte) mem.Addr {
	code = code[:min(len(code), 32)]
	if bytes.Contains(code, []byte("\x48\x8b\x7c\x24\x30")) || bytes.Contains(code, []byte("\x48\x8b\x74\x24\x28")) {
		return 40
	}
	return 0
}

// callsC reports whether Go code goes on at pc behind a call of runtime.asmcgocall.
func (r *Runtime) callsC(pc mem.Addr) bool {
	if r.name(pc) == "" {
		return false
	}
	target, ok := r.callBefore(pc)
	return ok && (r.name(target) == callC || r.name(target) == "") // "": by way of a stub of the linker
}
