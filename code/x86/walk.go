package x86

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/work"
)

// path is a place that is to be interpreted, with the state before it.
type path = paths.Path[*state]

// maxSteps bounds the instructions interpreted for one answer.
const maxSteps = 20000

// walk interprets code along all its paths. Each instruction is visited once: the first state that reaches it wins;
// with apart once more, by the first state in which SP was moved.
type walk struct {
	paths.Set[*state]
	c           *Code
	seen        [2][]uint64 // the second with apart, for states in which SP was moved
	steps       int
	pops        map[uint64]int64 // 386: what callees remove from the stack
	calleeSteps int              // instructions of callees that were read for it
	left        work.Purse
	apart       bool // code is visited both with SP at a known distance from its start and moved
}

// newWalk returns a walk through r, as far as there is code.
func newWalk(c *Code, r paths.Range) *walk {
	w := &walk{c: c, left: c.Budget.Purse()}
	w.Range = r.Within(c.Start, c.End())
	w.left.Spend(int64(w.Hi-w.Lo) / 64)
	w.seen[0] = make([]uint64, (w.Hi-w.Lo+63)/64)
	return w
}

// mark reports whether pc is in range and was not visited before in a state like s, and marks it.
func (w *walk) mark(pc uint64, s *state) bool {
	if !w.unseen(pc, s) {
		return false
	}
	i := pc - w.Lo
	w.seenLike(s)[i/64] |= 1 << (i % 64)
	return true
}

// unseen is mark without marking.
func (w *walk) unseen(pc uint64, s *state) bool {
	i := pc - w.Lo
	return pc >= w.Lo && pc < w.Hi && w.seenLike(s)[i/64]&(1<<(i%64)) == 0
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
		p, ok := w.Take()
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
	for w.mark(p.PC, p.State) {
		if w.steps >= maxSteps || !w.left.Spend(stepCost) {
			w.Exhausted = true
			return false
		}
		w.steps++
		in, ok := w.c.decode(p.PC)
		if !ok {
			return false
		}
		w.probe(p.PC, &in, p.State)
		if visit(p.PC, &in, p.State) {
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
	next := p.PC + uint64(in.n)
	switch in.flow() {
	case flowNext:
		p.State.step(in)
	case flowCond:
		if target := w.c.target(next, in.imm); w.unseen(target, p.State) {
			if !w.left.Spend(cloneCost) {
				w.Exhausted = true
				return false
			}
			w.Add(path{PC: target, State: p.State.clone(), Calls: p.Calls})
		}
		p.State.leaveProbe()
	case flowJump:
		p.PC = w.c.target(next, in.imm)
		w.Ends = append(w.Ends, next)
		return true
	case flowCall:
		return w.call(p, next, w.c.target(next, in.imm))
	case flowCallAny:
		if in.thread && !w.c.Mode64 { // call *%gs:0x10 enters the kernel, which keeps all but eax
			p.State.set(rax, value{})
			break
		}
		p.State.afterCall(w.c.Mode64)
		w.behindCall(p, next)
		return false
	case flowIndirect:
		w.Switches = append(w.Switches, path{PC: next, State: p.State, Calls: p.Calls})
		w.Ends = append(w.Ends, next)
		return false
	default:
		w.Ends = append(w.Ends, next)
		return false
	}
	p.PC = next
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
