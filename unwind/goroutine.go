package unwind

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// When a goroutine's stack is full, runtime.morestack keeps in its g where it stood, clears the
// frame pointer and calls runtime.newstack on the system stack, which never returns: it resumes the
// goroutine out of the g, or gives the thread to another one. So no word of the system stack
// leads back, and the way is that of the runtime's own traceback: from the register that holds
// the current g to its m, to the goroutine of that, to what was saved there.

// goRegister holds the current g in Go code.
// Source: cmd/compile/abi-internal.md of the Go distribution.
var goRegister = map[*regs.Arch]regs.Reg{regs.AMD64: regs.AMD64R14, regs.ARM64: regs.ARM64X0 + 28}

// Words of struct g, struct gobuf and struct m in runtime/runtime2.go of Go 1.26. In older releases
// an unused word (ret), always 0, stands before lr. Where m.curg stands changes from release to
// release, so that it is looked for; what is found is checked.
const (
	gStackLo, gStackHi, gM, gSched = 0, 1, 6, 7
	bufSP, bufPC, bufLR            = 0, 1, 4
	gWords                         = gSched + 7

	mG0    = 0
	mWords = 40 // curg is number 23
)

const growth = "runtime.morestack"

// stepGrowth goes from runtime.morestack on the system stack to the goroutine that called it.
func (c *cursor) stepGrowth() *ending {
	if c.gaveUp() {
		return atRoot
	}
	reg, ok := goRegister[c.arch]
	if !ok {
		return end(NoRule, "%s left the stack of a goroutine; how to find it on %s is not known", growth, c.arch.Name)
	}
	v, ok := c.regs.Get(reg)
	if !ok {
		return end(NoRule, "%s left the stack of a goroutine, and %s, which leads to it, is not known", growth, c.arch.RegName(reg))
	}
	late := c.readLate(mem.Addr(v))
	m, system, err := c.machineOf(v)
	if err != nil {
		return failed(ReadFault, fmt.Errorf("%s left the stack of a goroutine: %w", growth, err))
	}
	g := c.grown(m, system)
	if g == nil {
		return end(NoRule, "%s left the stack of a goroutine, which is no longer to be found", growth)
	}
	next := c.resumed(g)
	sp, _ := next.SP()
	if e := c.advance(sp, &next, Context); e != nil {
		return e
	}
	c.next.Interrupted = true // it goes on at PC itself
	c.noteLate(late)
	c.doubt = 0
	c.enter()
	return nil
}

// yields are the functions by which runtime.newstack gives the thread away: what follows runs for
// no goroutine.
var yields = []string{"runtime.gopreempt_m", "runtime.goschedImpl", "runtime.preemptPark", "runtime.schedule"}

// gaveUp tells whether the frames below runtime.morestack, the top frame, have given the thread away.
func (c *cursor) gaveUp() bool {
	const near = 4 // newstack, gopreempt_m, goschedImpl, schedule
	for i := len(c.frames) - 2; i >= max(0, len(c.frames)-1-near); i-- {
		if slices.Contains(yields, c.goName(c.frames[i].LookupPC())) {
			return true
		}
	}
	return false
}

// goName is the name of the Go function that holds a, "" if none does.
func (c *cursor) goName(a mem.Addr) string {
	m := c.w.modules.Find(a)
	if m == nil {
		return ""
	}
	f, _ := c.w.table(m).pcln.Func(uint64(m.Vaddr(a)))
	return f.Name()
}

// machineOf returns the words of the m that g belongs to, if its system stack is the one walked
// now, and the address of the g of that.
func (c *cursor) machineOf(g uint64) (m []uint64, system uint64, err error) {
	words, err := c.words(mem.Addr(g), gWords)
	if err != nil {
		return nil, 0, fmt.Errorf("read g: %w", err)
	}
	at := words[gM]
	if m, err = c.words(mem.Addr(at), mWords); err != nil {
		return nil, 0, fmt.Errorf("read m: %w", err)
	}
	system = m[mG0]
	if words, err = c.words(mem.Addr(system), gWords); err != nil {
		return nil, 0, fmt.Errorf("read g0: %w", err)
	}
	sp, _ := c.regs.SP()
	if words[gM] != at || uint64(sp) < words[gStackLo] || uint64(sp) > words[gStackHi] {
		return nil, 0, fmt.Errorf("g %#x is not of this thread", g)
	}
	m[mG0] = at // so that all words of m but this one may be its goroutine
	return m, system, nil
}

// grown looks among the words of m for the goroutine that called runtime.morestack, and returns the
// words of its g; nil if there is none (any more).
func (c *cursor) grown(m []uint64, system uint64) []uint64 {
	for _, v := range m[1:] {
		if v == 0 || v == system || v%uint64(c.arch.WordSize) != 0 {
			continue
		}
		g, err := c.words(mem.Addr(v), gWords)
		if err != nil || g[gM] != m[mG0] {
			continue
		}
		// While the stack is copied SP may stand in the old one and the bounds be the new one's.
		if g[gSched+bufSP] != 0 && c.calledGrowth(mem.Addr(g[gSched+bufPC])) {
			return g
		}
	}
	return nil
}

// calledGrowth tells whether Go code goes on at pc behind a call of runtime.morestack.
func (c *cursor) calledGrowth(pc mem.Addr) bool {
	if !c.executable(pc) || c.goName(pc) == "" {
		return false
	}
	if !hasCode(c.arch) {
		return true
	}
	s := c.returnSite(pc)
	to, fixed := c.target(s)
	if !s.call || !fixed {
		return false
	}
	name := c.goName(c.throughPLT(to))
	return name == growth || name == growth+"_noctxt" || c.goName(to) == growth+"_noctxt"
}

// resumed returns the registers with which the goroutine goes on.
func (c *cursor) resumed(g []uint64) regs.Registers {
	buf := g[gSched:]
	saved := buf[bufLR:]
	// Both layouts are told apart by a word that is 0 only in the old one.
	link := c.arch.LR != regs.NoReg
	if link && saved[0] == 0 || !link && saved[1] == 0 {
		saved = saved[1:]
	}
	next := regs.New(c.arch)
	next.Set(c.arch.SP, buf[bufSP])
	next.Set(c.arch.PC, buf[bufPC])
	if link {
		next.Set(c.arch.LR, saved[0])
	}
	if fp := saved[1]; fp >= buf[bufSP] && fp-buf[bufSP] < maxFrameLength {
		next.Set(c.arch.FP, fp)
	}
	return next
}

// stepResume goes from gogo, which has loaded the stack pointer of a goroutine, to that: PC stands in
// the gobuf that rbx points to until it is loaded too, for the jump that comes last. Nobody waits for
// gogo to return, so that it is the outermost frame where this is not known.
// Source: runtime/asm_amd64.s.
func (c *cursor) stepResume() *ending {
	const jump = "\xff\xe3" // jmp rbx
	buf, ok := c.regs.Get(regs.AMD64RBX)
	if c.arch != regs.AMD64 || !ok {
		return atRoot
	}
	pc, code := mem.Addr(buf), make([]byte, len(jump))
	if _, err := c.memory.ReadMem(code, c.top().PC); err != nil {
		return atRoot
	}
	if string(code) != jump {
		v, err := c.word(mem.Addr(buf) + bufPC*8)
		if err != nil {
			return atRoot
		}
		pc = mem.Addr(v)
	}
	if !c.executable(pc) || c.goName(pc) == "" {
		return atRoot
	}
	next := c.regs
	next.Set(c.arch.PC, uint64(pc))
	sp, _ := next.SP()
	if e := c.advance(sp, &next, Context); e != nil {
		return e
	}
	c.next.Interrupted = true
	c.noteLate(string(code) != jump && c.readLate(mem.Addr(buf)))
	return nil
}

// words reads n words at a.
func (c *cursor) words(a mem.Addr, n int) ([]uint64, error) {
	b := make([]byte, n*c.arch.WordSize)
	if _, err := c.memory.ReadMem(b, a); err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = c.wordOf(b[i*c.arch.WordSize:])
	}
	return out, nil
}
