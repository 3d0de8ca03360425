package arm64

import (
	"slices"

	"github.com/fpstack/fpstack/work"
)

// path is a place that is to be interpreted, with the state before it.
type path struct {
	pc    uint64
	s     *state
	calls int // calls on the way here: each might be one that never returns
}

// Bounds of one answer.
const (
	maxSteps    = 20000    // instructions interpreted
	maxCalls    = 15       // paths behind more calls than this share the last place
	maxOpen     = 4096     // paths waiting
	maxFunction = 64 << 10 // bytes of a function whose end is not known
	maxKnown    = 1 << 20  // bytes of one that a symbol or a table gives
	maxSweep    = 2 << 10  // bytes behind the PC that are searched for jumps where the end is not known
	maxResumed  = 64       // unreached places opened
)

// walk interprets code along all its paths. Each instruction is visited once: the first state that reaches it wins;
// with apart once more, by the first state in which SP was moved. Paths with the fewest calls behind them go first, so
// that code behind a call which does not return gets its state from the jumps that lead there.
type walk struct {
	c         *Code
	lo, hi    uint64    // only this range is followed
	seen      [2][]bool // by instruction; the second with apart
	work      [maxCalls + 1][]path
	open      int
	steps     int
	switches  []path // states at indirect jumps, for the code behind them
	ends      []uint64
	targets   []uint64  // of jumps, ascending; filled by joins
	sweep     [2]uint64 // where joins looks for jumps
	left      work.Purse
	apart     bool
	exhausted bool // code was left out: too much of it, or the budget is spent
}

func newWalk(c *Code, lo, hi uint64) *walk {
	lo, hi = max(lo, c.Start)&^(size-1), min(hi, c.End())
	w := &walk{c: c, lo: lo, hi: max(lo, hi), left: c.Budget.Purse()}
	w.left.Spend(int64(w.hi-w.lo) / 16)
	w.seen[0] = make([]bool, (w.hi-lo+size-1)/size)
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

// unseen reports whether pc is in range and was not visited before in a state like s.
func (w *walk) unseen(pc uint64, s *state) bool {
	return pc >= w.lo && pc < w.hi && !w.seenLike(s)[(pc-w.lo)/size]
}

// seenLike holds what was visited in states like s.
func (w *walk) seenLike(s *state) []bool {
	if w.apart && s.movedSP() {
		return w.seen[1]
	}
	return w.seen[0]
}

// visitor sees each instruction with the state before it, and reports whether to stop.
type visitor func(pc uint64, i inst, s *state) bool

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
	for w.unseen(p.pc, p.s) {
		w.seenLike(p.s)[(p.pc-w.lo)/size] = true
		if w.steps >= maxSteps || !w.left.Spend(stepCost) {
			w.exhausted = true
			return false
		}
		w.steps++
		i, ok := w.c.at(p.pc)
		if !ok {
			return false
		}
		w.probe(p.pc, i, p.s)
		if visit(p.pc, i, p.s) {
			return true
		}
		if !w.advance(&p, i) {
			return false
		}
	}
	return false
}

// advance moves p over i, opens the other paths, and reports whether p goes on.
func (w *walk) advance(p *path, i inst) bool {
	next := p.pc + size
	switch i.flow() {
	case flowNext:
		p.s.step(i)
	case flowCond:
		if target := i.target(p.pc); w.unseen(target, p.s) {
			if !w.left.Spend(cloneCost) {
				w.exhausted = true
				return false
			}
			w.add(path{target, p.s.clone(), p.calls})
		}
		p.s.leaveProbe()
	case flowJump:
		w.ends = append(w.ends, next)
		p.pc = i.target(p.pc)
		return true
	case flowCall, flowCallAny:
		p.s.afterCall()
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

// suspicion is what a call weighs, in calls, if a jump leads to the place behind it.
const suspicion = 8

// behindCall opens the code behind a call. A jump that leads there too comes first: the call may be one that never
// returns.
func (w *walk) behindCall(p *path, next uint64) {
	calls := p.calls + 1
	if w.joins(next) {
		calls += suspicion
	}
	w.add(path{next, p.s, calls})
}

// joins reports whether a direct jump leads to pc. It sweeps over the function once.
func (w *walk) joins(pc uint64) bool {
	if w.targets == nil {
		w.targets = []uint64{}
		for at := w.sweep[0] &^ (size - 1); at < w.sweep[1] && w.left.Spend(decodeCost); at += size {
			i, ok := w.c.at(at)
			if f := i.flow(); ok && (f == flowJump || f == flowCond) {
				w.targets = append(w.targets, i.target(at))
			}
		}
		slices.Sort(w.targets)
	}
	_, found := slices.BinarySearch(w.targets, pc)
	return found
}

// resume opens code that no path reached, behind an indirect jump: the cases of a switch begin with the state of that
// jump. It takes the nearest unreached place before pc that follows the end of a path, and reports false when there
// is none.
func (w *walk) resume(pc uint64) bool {
	if w.exhausted {
		return false
	}
	slices.Sort(w.ends)
	for _, start := range slices.Backward(w.ends) {
		if start > pc {
			continue
		}
		if from := w.switchBefore(start); from != nil {
			w.add(path{start, from.s.clone(), from.calls})
			return w.open > 0
		}
	}
	return false
}

// switchBefore returns the last indirect jump before start, by address, from which start was not visited.
func (w *walk) switchBefore(start uint64) *path {
	var best *path
	for n := range w.switches {
		p := &w.switches[n]
		if p.pc <= start && (best == nil || p.pc > best.pc) && w.unseen(start, p.s) {
			best = p
		}
	}
	return best
}

// probeLoop is how many instructions the loop has that touches each page of a large frame: sub sp, sp, #n; str xzr,
// [sp, #n]; cmp sp, xM; b.ne.
const probeLoop = 4

// probe recognises that loop at its begin: inside it SP is another one in each round.
func (w *walk) probe(pc uint64, i inst, s *state) {
	if !i.is(0xff8003ff, 0xd10003ff) { // sub sp, sp, #n
		return
	}
	compares := false
	for at := pc + size; at <= pc+probeLoop*size; at += size {
		i, ok := w.c.at(at)
		switch {
		case !ok:
			return
		case i.is(0xffe0ffff, 0xeb2063ff): // cmp sp, xM
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
