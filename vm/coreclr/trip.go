package coreclr

import (
	"bytes"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
)

// trip is the function of the runtime whose address it puts in the place of a return address, so that a thread which
// runs managed code stops for a garbage collection (OnHijackTripThread). A thread comes into it by a return: where its
// tables expect the return address is what the caller has on its stack. It makes room for the true one itself, by its
// first push, and the first that it calls fills that; before, only the runtime's Thread has it.
//
// Source: src/coreclr/vm/amd64/unixasmhelpers.S; ThreadSuspend::HijackThread and OnHijackWorker in
// src/coreclr/vm/threadsuspend.cpp. Seen in 8.0.30, 9.0.1 to 9.0.7, 10.0.9 and 10.0.11.
type trip struct {
	start mem.Addr
	// depth is how many bytes have been pushed at each place in its code.
	depth []int64
	saved []regs.Reg // in the order of the pushes; the first is the place of the return address
	call  int        // place behind the call that brings the return address
}

// tripHead begins the function: it saves rax, rbp, rbx, r15, r14, r13, r12.
var tripHead = []byte{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54}

const maxTrip = 96 // bytes of it; 0x44 were seen

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
	from := max(0, at-maxTrip)
	window := part.Data[from:min(len(part.Data), at+len(tripHead))]
	i := bytes.LastIndex(window, tripHead)
	if i < 0 {
		return nil
	}
	t := parseTrip(part.Data[from+i : min(len(part.Data), from+i+maxTrip)])
	if t == nil || from+i+len(t.depth) <= at {
		return nil
	}
	t.start = pc - mem.Addr(at-from-i)
	r.trip = t
	return t
}

// parseTrip reads the function that b begins with; nil if it is another one.
func parseTrip(b []byte) *trip {
	t := &trip{}
	depth := int64(0)
	for at := 0; at < len(b); {
		size, pushed, ok := tripStep(b[at:])
		if !ok {
			return nil
		}
		for range size {
			t.depth = append(t.depth, depth)
		}
		switch b[at] {
		case 0xc3: // ret, to the word that was pushed first
			if t.call == 0 || depth != wordSize {
				return nil
			}
			return t
		case 0xe8:
			if t.call != 0 {
				return nil
			}
			t.call = at + size
		}
		if t.call == 0 && pushed == wordSize {
			t.saved = append(t.saved, pushedRegister(b[at:at+size]))
		}
		depth += pushed
		at += size
	}
	return nil
}

// pushedRegister is what an instruction pushes, of those that a caller may want; regs.NoReg for another one.
func pushedRegister(b []byte) regs.Reg {
	number := b[len(b)-1] & 7
	if len(b) == 2 {
		number += 8
	}
	switch number {
	case 3:
		return regs.AMD64RBX
	case 5:
		return regs.AMD64RBP
	case 12:
		return regs.AMD64R12
	case 13:
		return regs.AMD64R13
	case 14:
		return regs.AMD64R14
	case 15:
		return regs.AMD64R15
	}
	return regs.NoReg
}

// tripStep is the size of the instruction at b, and how many bytes it pushes; false for one that the function has not.
func tripStep(b []byte) (size int, pushed int64, ok bool) {
	has := func(head ...byte) bool { return bytes.HasPrefix(b, head) }
	prefix := 0
	if has(0x41) {
		prefix = 1
	}
	switch {
	case len(b) > prefix && b[prefix]&^7 == 0x50: // push
		return prefix + 1, wordSize, true
	case len(b) > prefix && b[prefix]&^7 == 0x58: // pop
		return prefix + 1, -wordSize, true
	case has(0x48, 0x8d, 0x64, 0x24) && len(b) > 4: // lea rsp, [rsp+n]
		return 5, -int64(int8(b[4])), true
	case has(0x48, 0x89, 0xe7): // mov rdi, rsp
		return 3, 0, true
	case has(0x66, 0x0f, 0x7f, 0x04, 0x24), has(0x66, 0x0f, 0x6f, 0x04, 0x24): // movdqa between [rsp] and xmm0
		return 5, 0, true
	case has(0x66, 0x0f, 0x7f, 0x4c, 0x24) && len(b) > 5, has(0x66, 0x0f, 0x6f, 0x4c, 0x24) && len(b) > 5:
		return 6, 0, true
	case has(0xe8) && len(b) >= 5:
		return 5, 0, true
	case has(0xc3):
		return 1, 0, true
	}
	return 0, 0, false
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
	row := &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.AMD64RIP),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP), N: t.depth[at]},
		RA:  cfi.Rule{Kind: cfi.Offset, N: -wordSize}}
	for reg := range regs.AMD64RIP {
		for i, s := range t.saved {
			if s == reg && int64(i+1)*wordSize <= t.depth[at] {
				row.Regs = append(row.Regs, cfi.RegRule{Reg: uint64(reg),
					Rule: cfi.Rule{Kind: cfi.Offset, N: -int64(i+1) * wordSize}})
			}
		}
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
	sp += mem.Addr(t.depth[top.PC-t.start])
	v := view.Lasting(m, r.budget)
	threads, err := r.threads(&v)
	for _, th := range threads {
		if th.os != r.walked {
			continue
		}
		ra, err := returnBefore(&v, th.at, sp-wordSize)
		if err != nil {
			return unwind.Crossing{}, err
		}
		if r.sectionAt(ra) == nil {
			return unwind.Crossing{}, fmt.Errorf("%v has %#x as the caller, which is no managed code", r, uint64(ra))
		}
		next := *rs
		next.Set(regs.AMD64RIP, uint64(ra))
		next.Set(regs.AMD64RSP, uint64(sp))
		return unwind.Crossing{Registers: next}, nil
	}
	if err != nil {
		return unwind.Crossing{}, fmt.Errorf("%v has replaced the return address: %w", r, err)
	}
	return unwind.Crossing{}, fmt.Errorf("%v does not list this thread, whose return address it has replaced", r)
}

// maxThreadBytes is how much of a Thread is searched; it has 0x600 bytes and more.
const maxThreadBytes = 0x600

// returnBefore is the return address that the Thread at a says was at slot: it has the one and behind it the other.
// Source: m_pvHJRetAddr and m_ppvHJRetAddrPtr in src/coreclr/vm/threads.h.
func returnBefore(v *view.View, a, slot mem.Addr) (mem.Addr, error) {
	before := uint64(0)
	for at := mem.Addr(0); at < maxThreadBytes; at += wordSize {
		word, err := v.Word(a + at)
		switch {
		case err != nil:
			return 0, err
		case mem.Addr(word) == slot && at > 0:
			return mem.Addr(before), nil
		}
		before = word
	}
	return 0, fmt.Errorf("the runtime says no longer which return address it has replaced at %#x", uint64(slot))
}
