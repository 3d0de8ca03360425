// Package paths keeps the ways through a function that are still to be followed, for what follows what its instructions
// do to the stack. It knows no instruction: a decoder has its own state S, and says where the ways lead.
package paths

import (
	"iter"
	"slices"
)

// Bounds of one answer.
const (
	MaxResumed  = 64       // unreached places that are opened
	MaxFunction = 64 << 10 // bytes of a function whose end is not known

	maxCalls  = 15      // paths behind more calls than this share the last place
	maxOpen   = 4096    // paths waiting
	maxKnown  = 1 << 20 // bytes of a function that a symbol or a table gives
	maxSweep  = 2 << 10 // bytes behind the PC that are searched for jumps where the end is not known
	maxWindow = 4 << 20 // bytes between a function and its cold part
)

// Path is a place that is to be followed, with the state before it.
type Path[S any] struct {
	PC    uint64
	State S
	Calls int // calls on the way here: each might be one that never returns
}

// Range is the code [Lo, Hi) that is followed, and the part of it in which jumps are looked for.
type Range struct {
	Lo, Hi uint64
	Sweep  [2]uint64
}

// Whole is all from lo to hi.
func Whole(lo, hi uint64) Range { return Range{lo, hi, [2]uint64{lo, hi}} }

// Within is r as far as it lies in [lo, hi).
func (r Range) Within(lo, hi uint64) Range {
	r.Lo = max(r.Lo, lo)
	r.Hi = max(r.Lo, min(r.Hi, hi))
	r.Sweep = [2]uint64{max(r.Sweep[0], r.Lo), min(r.Sweep[1], r.Hi)}
	return r
}

// Set is the paths of one walk through a Range. Those with the fewest calls behind them go first, so that code behind
// a call which does not return gets its state from the jumps that lead there.
type Set[S any] struct {
	Range
	// Ends are the addresses behind what ends a path, Switches the states at indirect jumps, for the code behind them.
	Ends     []uint64
	Switches []Path[S]
	// Exhausted says that code was left out: too much of it, or its budget is spent.
	Exhausted bool

	waiting [maxCalls + 1][]Path[S]
	open    int
	targets []uint64 // of direct jumps, ascending; nil before they were looked for
}

// Add opens a path, unless it lies outside.
func (s *Set[S]) Add(p Path[S]) {
	if p.PC < s.Lo || p.PC >= s.Hi {
		return
	}
	if s.open >= maxOpen {
		s.Exhausted = true
		return
	}
	p.Calls = min(p.Calls, maxCalls)
	s.waiting[p.Calls] = append(s.waiting[p.Calls], p)
	s.open++
}

// Take returns the path that comes next, false if there is none.
func (s *Set[S]) Take() (p Path[S], ok bool) {
	for i := range s.waiting {
		if n := len(s.waiting[i]); n > 0 {
			p = s.waiting[i][n-1]
			s.waiting[i] = s.waiting[i][:n-1]
			s.open--
			return p, true
		}
	}
	return p, false
}

// suspicion is what a call weighs, in calls, if a jump leads to the place behind it.
const suspicion = 8

// BehindCall opens the code at next, behind a call of p. A jump that leads there too comes first: the call may be one
// that never returns. Jumps lists where direct jumps of Sweep lead; it is called once.
func (s *Set[S]) BehindCall(p *Path[S], next uint64, jumps func() []uint64) {
	if s.targets == nil {
		if s.targets = jumps(); s.targets == nil {
			s.targets = []uint64{}
		}
		slices.Sort(s.targets)
	}
	calls := p.Calls + 1
	if _, joins := slices.BinarySearch(s.targets, next); joins {
		calls += suspicion
	}
	s.Add(Path[S]{next, p.State, calls})
}

// Resume opens code that no path reached, behind an indirect jump: the cases of a switch begin with the state of that
// jump, of which clone makes one of its own. It takes the nearest place before pc that follows the end of a path and
// that is unseen in that state, and reports false when there is none.
func (s *Set[S]) Resume(pc uint64, unseen func(pc uint64, state S) bool, clone func(S) S) bool {
	slices.Sort(s.Ends)
	n, _ := slices.BinarySearch(s.Ends, pc+1)
	return s.ResumeAt(slices.Backward(s.Ends[:n]), unseen, clone)
}

// ResumeAt is [Set.Resume] for the first of such places, wherever they are.
func (s *Set[S]) ResumeAt(places iter.Seq2[int, uint64], unseen func(uint64, S) bool, clone func(S) S) bool {
	if s.Exhausted {
		return false
	}
	for _, start := range places {
		if from := s.switchBefore(start, unseen); from != nil {
			s.Add(Path[S]{start, clone(from.State), from.Calls})
			return s.open > 0
		}
	}
	return false
}

// switchBefore returns the last indirect jump before start, by address, from which start was not visited.
func (s *Set[S]) switchBefore(start uint64, unseen func(uint64, S) bool) *Path[S] {
	var best *Path[S]
	for i := range s.Switches {
		p := &s.Switches[i]
		if p.PC <= start && (best == nil || p.PC > best.PC) && unseen(start, p.State) {
			best = p
		}
	}
	return best
}

// Window chooses the code to follow to pc: the function that begins at entry, and where pc is outside of it (a cold
// part), all that lies between and around. The function ends at end, which is not known if it is not behind entry. It
// is false where pc is too far away.
func Window(entry, end, pc uint64) (Range, bool) {
	known := end > entry
	if known {
		end = min(end, max(pc, entry)+MaxFunction, entry+maxKnown)
	} else {
		end = entry + MaxFunction
	}
	if pc >= entry && pc < end {
		r := Whole(entry, end)
		if !known {
			r.Sweep[1] = min(end, pc+maxSweep)
		}
		return r, true
	}
	lo, hi := min(entry, pc), max(end, pc)
	return Range{lo - min(lo, MaxFunction), hi + MaxFunction, [2]uint64{entry, end}}, hi-lo <= maxWindow
}

// Around is the code to follow from pc to an end of its function, of which nothing is known.
func Around(pc uint64) Range {
	return Range{pc - min(pc, MaxFunction), pc + MaxFunction, [2]uint64{pc, pc + maxSweep}}
}
