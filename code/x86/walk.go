package x86

import "github.com/fpstack/fpstack/work"

// path is a place that is to be interpreted, with the state before it.
type path struct {
	pc    uint64
	s     *state
	calls int // calls on the way here: each might be one that never returns
}

const (
	maxSteps  = 20000   // instructions interpreted for one answer
	maxWindow = 4 << 20 // bytes of code around the start that are looked at
	maxCalls  = 15      // paths behind more calls than this share the last place
	maxOpen   = 4096    // paths waiting
)

// walk interprets code along all its paths. Each instruction is visited once: the first
// state that reaches it wins; with apart once more, by the first state in which SP was moved. Paths with the fewest
// calls behind them go first, so that code behind a call which does not return gets its state from the jumps that
// lead there.
type walk struct {
	c           *Code
	lo, hi      uint64      // only this range is followed
	seen        [2][]uint64 // the second with apart, for states in which SP was moved
	work        [maxCalls + 1][]path
	open        int
	steps       int
	switches    []path // states at indirect jumps, for the code behind them
	ends        []uint64
	pops        map[uint64]int64 // 386: what callees remove from the stack
	calleeSteps int              // instructions of callees that were read for it
	targets     []uint64         // of jumps, ascending; filled by joins
	sweep       [2]uint64        // where joins looks for jumps
	left        work.Purse
	apart       bool // code is visited both with SP at a known distance from its start and moved
	exhausted   bool // code was left out: too much of it, or the budget is spent
}

func newWalk(c *Code, lo, hi uint64) *walk {
	lo, hi = max(lo, c.Start), min(hi, c.End())
	w := &walk{c: c, lo: lo, hi: max(lo, hi), left: c.Budget.Purse()}
	w.left.Spend(int64(w.hi-w.lo) / 64)
	w.seen[0] = make([]uint64, (w.hi-lo+63)/64)
	w.sweep = [2]uint64{w.lo, w.hi}
	return w
}

func (w *walk) add(p path) {
	if p.pc < w.lo || p.pc >= w.hi {
		return
	}
	if w.open >= maxOpen {
		w.exhausted = true
		return
	}
	p.calls = min(p.calls, maxCalls)
	w.work[p.calls] = append(w.work[p.calls], p)
	w.open++
}

func (w *walk) take() (path, bool) {
	for i := range w.work {
		if n := len(w.work[i]); n > 0 {
			p := w.work[i][n-1]
			w.work[i] = w.work[i][:n-1]
			w.open--
			return p, true
		}
	}
	return path{}, false
}

// mark reports whether pc is in range and was not visited before in a state like s, and marks it.
func (w *walk) mark(pc uint64, s *state) bool {
	if !w.unseen(pc, s) {
		return false
	}
	i := pc - w.lo
	w.seenLike(s)[i/64] |= 1 << (i % 64)
	return true
}

// unseen is mark without marking.
func (w *walk) unseen(pc uint64, s *state) bool {
	i := pc - w.lo
	return pc >= w.lo && pc < w.hi && w.seenLike(s)[i/64]&(1<<(i%64)) == 0
}

// seenLike holds what was visited in states like s.
func (w *walk) seenLike(s *state) []uint64 {
	if w.apart && s.movedSP() {
		return w.seen[1]
	}
	return w.seen[0]
}

// visitor sees each instruction with the state before it, and reports whether to stop.
type visitor func(pc uint64, in *inst, s *state) bool

// run follows all open paths until visit says to stop, and reports whether it did.
func (w *walk) run(visit visitor) bool {
	for {
		p, ok := w.take()
		if !ok {
			return false
		}
		if w.follow(p, visit) {
			return true
		}
	}
}

// follow interprets one path to its end.
func (w *walk) follow(p path, visit visitor) bool {
	for w.mark(p.pc, p.s) {
		if w.steps >= maxSteps || !w.left.Spend(stepCost) {
			w.exhausted = true
			return false
		}
		w.steps++
		in, ok := w.c.decode(p.pc)
		if !ok {
			return false
		}
		w.probe(p.pc, &in, p.s)
		if visit(p.pc, &in, p.s) {
			return true
		}
		if !w.advance(&p, &in) {
			return false
		}
	}
	return false
}

// movedSP reports whether SP is at an unknown distance from where it was at the start.
func (s *state) movedSP() bool {
	return s.regs[rsp].kind != relative || s.regs[rsp].base != base(rsp)
}

// advance moves p over in, opens the other paths, and reports whether p goes on.
func (w *walk) advance(p *path, in *inst) bool {
	next := p.pc + uint64(in.n)
	switch in.flow() {
	case flowNext:
		p.s.step(in)
	case flowCond:
		if target := w.c.target(next, in.imm); w.unseen(target, p.s) {
			if !w.left.Spend(cloneCost) {
				w.exhausted = true
				return false
			}
			w.add(path{target, p.s.clone(), p.calls})
		}
		p.s.leaveProbe()
	case flowJump:
		p.pc = w.c.target(next, in.imm)
		w.ends = append(w.ends, next)
		return true
	case flowCall:
		return w.call(p, next, w.c.target(next, in.imm))
	case flowCallAny:
		if in.thread && !w.c.Mode64 { // call *%gs:0x10 enters the kernel, which keeps all but eax
			p.s.set(rax, value{})
			break
		}
		p.s.afterCall(w.c.Mode64)
		w.behindCall(p, next)
		return false
	case flowIndirect:
		w.switches = append(w.switches, path{next, p.s, p.calls})
		w.ends = append(w.ends, next)
		return false
	default:
		w.ends = append(w.ends, next)
		return false
	}
	p.pc = next
	return true
}

// probe recognises the loop that touches each page of a large frame, `sub $4096, SP; or $0,
// (SP); cmp reg, SP; jne`: inside it SP is another one in each round.
func (w *walk) probe(pc uint64, in *inst, s *state) {
	if in.space != mapOne || in.op != 0x81 || in.reg&7 != opSub || in.isMem || in.rm != rsp || in.imm < 4096 {
		return
	}
	touch, ok := w.c.decode(pc + uint64(in.n))
	if !ok || touch.op != 0x83 || !touch.isMem || touch.base != rsp || touch.imm != 0 {
		return
	}
	compare, ok := w.c.decode(pc + uint64(in.n+touch.n))
	if ok && compare.op&^2 == 0x39 && !compare.isMem && (compare.reg == rsp || compare.rm == rsp) {
		s.set(rsp, value{})
	}
}

// leaveProbe applies "not taken" of a conditional jump behind a comparison with SP.
func (s *state) leaveProbe() {
	if s.compared != noReg && s.regs[s.compared].kind == relative && s.regs[rsp].base >= firstAligned {
		s.regs[rsp] = s.regs[s.compared]
	}
	s.compared = noReg
}
