package unwind

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// signalKind is the form of a signal frame.
type signalKind uint8

const (
	noSignal  signalKind = iota
	rtSignal             // with siginfo and ucontext
	oldSignal            // 386 without SA_SIGINFO: sigcontext alone
)

// signalSite says that a PC is in a signal trampoline, and how far SP has moved from where
// it was on the trampoline's first instruction.
type signalSite struct {
	kind  signalKind
	moved int64 // bytes that the trampoline popped before this PC
}

// savedContext tells where the kernel saved the registers of the interrupted code.
type savedContext struct {
	pointer int64 // ≥ 0: the context's address is at SP + pointer; -1: the context is at SP + base
	base    int64 // from there to the first register
	slots   []contextSlot
}

type contextSlot struct {
	reg regs.Reg
	off int64 // bytes from base
}

// contexts are the layouts at the first instruction of the trampoline.
//
// Sources: struct ucontext and struct sigcontext in linux/arch/x86/include/uapi/asm/ucontext.h
// and sigcontext.h, struct rt_sigframe in linux/arch/x86/include/asm/sigframe.h,
// struct rt_sigframe in linux/arch/arm64/kernel/signal.c.
var contexts = map[*regs.Arch]map[signalKind]savedContext{
	regs.AMD64: {rtSignal: {pointer: -1, base: 40, slots: wordSlots(8,
		regs.AMD64R8, regs.AMD64R9, regs.AMD64R10, regs.AMD64R11, regs.AMD64R12, regs.AMD64R13,
		regs.AMD64R14, regs.AMD64R15, regs.AMD64RDI, regs.AMD64RSI, regs.AMD64RBP, regs.AMD64RBX,
		regs.AMD64RDX, regs.AMD64RAX, regs.AMD64RCX, regs.AMD64RSP, regs.AMD64RIP)}},
	regs.I386: {
		rtSignal:  {pointer: 8, base: 20 + 16, slots: i386Slots},
		oldSignal: {pointer: -1, base: 4 + 16, slots: i386Slots},
	},
	regs.ARM64: {rtSignal: {pointer: -1, base: 128 + 176 + 8, slots: arm64Slots()}},
}

// i386Slots follow the four segment registers of struct sigcontext_32.
var i386Slots = append(wordSlots(4, regs.I386EDI, regs.I386ESI, regs.I386EBP, regs.I386ESP,
	regs.I386EBX, regs.I386EDX, regs.I386ECX, regs.I386EAX),
	contextSlot{regs.I386EIP, 40})

func wordSlots(width int64, rs ...regs.Reg) []contextSlot {
	out := make([]contextSlot, len(rs))
	for i, r := range rs {
		out[i] = contextSlot{r, int64(i) * width}
	}
	return out
}

func arm64Slots() []contextSlot {
	var out []contextSlot
	for r := regs.ARM64X0; r <= regs.ARM64PC; r++ { // x0-x30, sp, pc
		out = append(out, contextSlot{r, int64(r) * 8})
	}
	return out
}

// stepSignal restarts from the registers that the kernel saved. The next frame was
// interrupted: its PC is exact.
func (c *cursor) stepSignal(s signalSite) *ending {
	layout, ok := contexts[c.arch][s.kind]
	if !ok {
		return end(NoRule, "signal frame of %s is not known", c.arch.Name)
	}
	sp, ok := c.regs.SP()
	if !ok {
		return end(NoRule, "SP is not known in the signal trampoline")
	}
	base, e := c.signalFrame(sp-mem.Addr(s.moved), layout)
	if e != nil {
		return e
	}
	if layout.pointer >= 0 {
		v, err := c.word(base + mem.Addr(layout.pointer))
		if err != nil {
			return failed(ReadFault, fmt.Errorf("read signal context: %w", err))
		}
		base = mem.Addr(v)
	}
	next := regs.New(c.arch)
	next.SetVectors(c.regs.Vectors())
	for _, slot := range layout.slots {
		v, err := c.word(mem.Addr(c.mask(uint64(base) + uint64(layout.base+slot.off))))
		if err != nil {
			return failed(ReadFault, fmt.Errorf("read signal context: %w", err))
		}
		next.Set(slot.reg, v)
	}
	c.top().Signal = true
	interrupted, _ := next.SP()
	if e := c.advance(interrupted, &next, Context); e != nil {
		return e
	}
	c.next.Interrupted = true
	c.doubt = 0
	c.enter()
	return nil
}

// stepBadPC steps out of a call through a bad pointer: nothing of the callee has run, so that
// the return address still stands where the call put it.
func (c *cursor) stepBadPC() *ending {
	pc := c.top().PC
	sp, ok := c.regs.SP()
	if !ok {
		return end(NoRule, "PC %#x is in no executable mapping and SP is not known", uint64(pc))
	}
	var ra mem.Addr
	cfa := sp
	next := c.regs
	if c.arch.LR != regs.NoReg {
		v, ok := c.regs.Get(c.arch.LR)
		if !ok {
			return end(NoRule, "PC %#x is in no executable mapping", uint64(pc))
		}
		ra = c.code(v)
	} else {
		v, err := c.word(sp)
		if err != nil {
			return failed(ReadFault, err)
		}
		ra = c.code(v)
		cfa += mem.Addr(c.arch.WordSize)
	}
	if !c.executable(ra) || hasCode(c.arch) && !c.called(ra) {
		return end(NoRule, "PC %#x is in no executable mapping", uint64(pc))
	}
	next.Set(c.arch.PC, uint64(ra))
	next.Set(c.arch.SP, uint64(cfa))
	origin := StackTop
	if c.arch.LR != regs.NoReg {
		origin = LinkRegister
	}
	return c.advance(cfa, &next, origin)
}
