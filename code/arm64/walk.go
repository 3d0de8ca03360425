package arm64

import (
	"slices"

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
	c     *Code
	seen  [2][]bool // by instruction; the second with apart
	cases []uint64  // marked as what indirect jumps lead to, ascending; nil before they were looked for
	steps int
	left  work.Purse
	apart bool
}

// newWalk returns a walk through r, as far as there is code.
func newWalk(c *Code, r paths.Range) *walk {
	w := &walk{c: c, left: c.Budget.Purse()}
	w.Range = r.Within(c.Start, c.End())
	w.Lo &^= size - 1
	w.left.Spend(int64(w.Hi-w.Lo) / 16)
	w.seen[0] = make([]bool, (w.Hi-w.Lo+size-1)/size)
	return w
}

// unseen reports whether pc is in range and was not visited before in a state like s.
func (w *walk) unseen(pc uint64, s *state) bool {
	return pc >= w.Lo && pc < w.Hi && !w.seenLike(s)[(pc-w.Lo)/size]
}

// seenLike holds what was visited in states like s.
func (w *walk) seenLike(s *state) []bool {
	if w.apart && s.movedSP() {
		return w.seen[1]
	}
	return w.seen[0]
}

// visitor sees each instruction with the state before it, and reports whether to stop.
type visitor func(pc uint64, i Inst, s *state) bool

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
	for w.unseen(p.PC, p.State) {
		w.seenLike(p.State)[(p.PC-w.Lo)/size] = true
		if w.steps >= maxSteps || !w.left.Spend(stepCost) {
			w.Exhausted = true
			return false
		}
		w.steps++
		i, ok := w.c.at(p.PC)
		if !ok {
			return false
		}
		w.probe(p.PC, i, p.State)
		if visit(p.PC, i, p.State) {
			return true
		}
		if !w.advance(&p, i) {
			return false
		}
	}
	return false
}

// advance moves p over i, opens the other paths, and reports whether p goes on.
func (w *walk) advance(p *path, i Inst) bool {
	next := p.PC + size
	switch i.flow() {
	case flowNext:
		p.State.step(i)
	case flowCond:
		if target := i.target(p.PC); w.unseen(target, p.State) {
			if !w.left.Spend(cloneCost) {
				w.Exhausted = true
				return false
			}
			w.Add(path{PC: target, State: p.State.clone(), Calls: p.Calls})
		}
		p.State.leaveProbe()
	case flowJump:
		target := i.target(p.PC)
		if i, ok := w.moved(target, next); ok {
			p.State.step(i)
			break
		}
		w.Ends = append(w.Ends, next)
		p.PC = target
		return true
	case flowCall, flowCallAny:
		p.State.afterCall()
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

// moved returns the instruction at target if that is outside and a jump to next follows: linkers move one away so for
// an erratum of Cortex-A53 (843419).
func (w *walk) moved(target, next uint64) (Inst, bool) {
	if target >= w.Lo && target < w.Hi {
		return 0, false
	}
	i, _ := w.c.at(target)
	back, ok := w.c.at(target + size)
	return i, ok && i.flow() == flowNext && back.flow() == flowJump && back.target(target+size) == next
}

// behindCall opens the code behind a call.
func (w *walk) behindCall(p *path, next uint64) { w.BehindCall(p, next, w.jumps) }

// jumps lists where direct jumps of the function lead.
func (w *walk) jumps() (targets []uint64) {
	for at := w.Sweep[0] &^ (size - 1); at < w.Sweep[1] && w.left.Spend(decodeCost); at += size {
		i, ok := w.c.at(at)
		if f := i.flow(); ok && (f == flowJump || f == flowCond) {
			targets = append(targets, i.target(at))
		}
	}
	return targets
}

// resume opens code that no path reached, behind an indirect jump before pc: first a case that is marked as one, after
// pc too, as another begins in a state that it leads to.
func (w *walk) resume(pc uint64) bool {
	if len(w.Switches) == 0 {
		return false
	}
	if w.cases == nil {
		w.cases = w.marked()
	}
	if places := len(w.cases) + len(w.Ends); !w.left.Spend(int64(places) * int64(len(w.Switches)) / comparesPerStep) {
		w.Exhausted = true
		return false
	}
	return w.ResumeAt(slices.All(w.cases), w.unseen, (*state).clone) || w.Resume(pc, w.unseen, (*state).clone)
}

// marked lists the places of the function that an indirect jump may lead to where it is checked: those with bti j or
// jc.
func (w *walk) marked() []uint64 {
	places := []uint64{}
	for at := w.Sweep[0] &^ (size - 1); at < w.Sweep[1] && w.left.Spend(decodeCost); at += size {
		if i, ok := w.c.at(at); ok && i.Is(0xffffffbf, 0xd503249f) {
			places = append(places, at)
		}
	}
	return places
}

// probeLoop is how many instructions the loop has that touches each page of a large frame: sub sp, sp, #n; str xzr,
// [sp, #n]; cmp sp, xM; b.ne.
const probeLoop = 4

// probe recognises that loop at its begin: inside it SP is another one in each round.
func (w *walk) probe(pc uint64, i Inst, s *state) {
	if !i.Is(0xff8003ff, 0xd10003ff) { // sub sp, sp, #n
		return
	}
	compares := false
	for at := pc + size; at <= pc+probeLoop*size; at += size {
		i, ok := w.c.at(at)
		switch {
		case !ok:
			return
		case i.Is(0xffe0ffff, 0xeb2063ff): // cmp sp, xM
			compares = true
		case i.flow() == flowCond && compares && i.target(at) == pc:
			s.regs[sp] = value{}
			return
		case i.flow() != flowNext:
			return
		}
	}
}

// leaveProbe applies "not taken" of a conditional jump behind a comparison with SP.
func (s *state) leaveProbe() {
	if s.compared != sp && s.regs[s.compared].kind == relative && s.regs[sp].kind == unknown {
		s.regs[sp] = s.regs[s.compared]
	}
	s.compared = sp
}
