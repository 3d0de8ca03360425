package coreclr

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// trip is the function of the runtime whose address it puts in the place of a return address, so that a thread which
// runs managed code stops for a garbage collection (OnHijackTripThread). A thread comes into it by a return: where its
// tables expect the return address is another thing. It makes room for the true one itself, and the first that it calls
// fills that; before, only the runtime's Thread has it.
//
// Source: ThreadSuspend::HijackThread and OnHijackWorker in src/coreclr/vm/threadsuspend.cpp.
type trip struct {
	arch  *regs.Arch
	start mem.Addr
	// depth is how far below where it began SP is at each place in its code.
	depth []int64
	ra    int64     // of the return address, as place in saved
	saved []savedAt // ascending
	call  int       // place behind the call that brings the return address
	// changed is a register of the caller that has another value once it is saved; regs.NoReg: none before the call.
	changed regs.Reg
	// above is how far below where it began the place of the replaced return address may be.
	above mem.Addr
}

// savedAt is where a register of the caller is saved, from where SP was at the beginning: below 0.
type savedAt struct {
	reg regs.Reg
	at  int64
}

// tripReach is how much code before and behind a place in the function belongs to it, bytes.
const tripReach = 128

// tripAt returns the function if pc lies in it, nil if not.
func (r *Runtime) tripAt(pc mem.Addr) *trip {
	m := r.o.m
	if m == nil || pc < m.Start() || pc >= m.End() {
		return nil
	}
	if t := r.trip; t != nil {
		if pc >= t.start && pc-t.start < mem.Addr(len(t.depth)) {
			return t
		}
		return nil
	}
	part, ok := m.Code(m.Vaddr(pc))
	if !ok {
		return nil
	}
	at := int(m.Vaddr(pc) - part.Addr)
	from := max(0, at-tripReach) &^ 3
	t, begin := r.o.port.trip(part.Data[from:min(len(part.Data), at+tripReach)], at-from)
	if t == nil || begin+len(t.depth) <= at-from {
		return nil
	}
	t.start = pc - mem.Addr(at-from-begin)
	r.trip = t
	return t
}

// sorted is t when all of it is known.
func (t *trip) sorted() *trip {
	slices.SortFunc(t.saved, func(a, b savedAt) int { return int(a.reg) - int(b.reg) })
	return t
}

// region is the function: the tables of the runtime's object are wrong there.
func (t *trip) region() unwind.Region {
	return unwind.Region{Start: t.start, End: t.start + mem.Addr(len(t.depth)), Instead: true}
}

// row is the row at pc, as tables are looked up with it; nil where the return address is not on the stack yet.
func (t *trip) row(pc mem.Addr, interrupted bool) *cfi.Row {
	at := int(pc - t.start)
	if interrupted && at < t.call {
		return nil
	}
	row := returnRow(t.arch, pc, t.depth[at])
	if t.held(t.ra, at) {
		row.RA = cfi.Rule{Kind: cfi.Offset, N: t.ra}
	}
	for _, s := range t.saved {
		if t.held(s.at, at) {
			row.Regs = append(row.Regs, cfi.RegRule{Reg: uint64(s.reg), Rule: cfi.Rule{Kind: cfi.Offset, N: s.at}})
		}
	}
	return row
}

// held reports whether what is saved at a place is above SP at place at of the code.
func (t *trip) held(place int64, at int) bool { return -place <= t.depth[at] }

// returnRow is the row of code that has no frame but n bytes, at pc: where a call leaves its return address in a
// register it is there still, else in the word below.
func returnRow(arch *regs.Arch, pc mem.Addr, n int64) *cfi.Row {
	row := &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(arch.PC),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(arch.SP), N: n}, RA: cfi.Rule{Kind: cfi.Offset, N: -wordSize}}
	if arch.LR != regs.NoReg {
		row.RAReg, row.RA = uint64(arch.LR), cfi.Rule{}
	}
	return row
}

// Cross implements [unwind.Crosser]: out of the function that stops threads, where the return address is not on the
// stack: the runtime's Thread has it, together with the place where it was.
func (r *Runtime) Cross(frames []unwind.Frame, rs *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	top := &frames[len(frames)-1]
	t := r.tripAt(top.PC)
	if t == nil || !top.Interrupted {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	return r.crossTrip(t, top, rs, m)
}

// crossTrip is the way out of t, at top.
func (r *Runtime) crossTrip(t *trip, top *unwind.Frame, rs *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	sp, ok := rs.SP()
	if !ok {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	at := int(top.PC - t.start)
	sp += mem.Addr(t.depth[at])
	v := view.Lasting(m, r.budget)
	threads, err := r.threads(&v)
	for _, th := range threads {
		if th.os != r.walked {
			continue
		}
		ra, err := r.returnBefore(&v, th.at, sp-wordSize-t.above, sp-wordSize)
		if err != nil {
			return unwind.Crossing{}, err
		}
		next := *rs
		for _, s := range t.saved {
			if s.reg == t.changed && t.held(s.at, at) {
				value, err := v.Word(sp + mem.Addr(s.at))
				if err != nil {
					return unwind.Crossing{}, err
				}
				next.Set(s.reg, value)
			}
		}
		if t.arch.LR != regs.NoReg {
			next.Forget(t.arch.LR)
		}
		next.Set(t.arch.PC, uint64(ra))
		next.Set(t.arch.SP, uint64(sp))
		return unwind.Crossing{Registers: next}, nil
	}
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("%v has replaced the return address: %w", r, err)
	}
	return unwind.Crossing{}, fmt.Errorf("%v does not list this thread, whose return address it has replaced", r)
}

// maxThreadBytes is how much of a Thread is searched; it has 0x600 bytes and more.
const maxThreadBytes = 0x600

// returnBefore is the return address, in managed code, that the Thread at a says was at a place from low to high: it
// has the one and behind it the other.
// Source: m_pvHJRetAddr and m_ppvHJRetAddrPtr in src/coreclr/vm/threads.h.
func (r *Runtime) returnBefore(v *view.View, a, low, high mem.Addr) (mem.Addr, error) {
	before := mem.Addr(0)
	for at := mem.Addr(0); at < maxThreadBytes; at += wordSize {
		word, err := v.Word(a + at)
		switch slot := mem.Addr(word); {
		case err != nil:
			return 0, err
		case slot >= low && slot <= high && r.sectionAt(before) != nil:
			return before, nil
		}
		before = mem.Addr(word)
	}
	return 0, fmt.Errorf("%v says no longer which return address it has replaced below %#x", r, uint64(high)+wordSize)
}
