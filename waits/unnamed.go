package waits

import (
	"slices"

	"github.com/fpstack/fpstack/syscalls"
)

// Unnamed lists threads of p, at most most of them, of which the names on their stacks could tell more: those that wait
// for what has no owner that is known, or for the end of a thread, as what starts a runtime does. Of each object, and
// of each place in the program, some come first.
func (g *Graph) Unnamed(p *Process, most int) []int {
	type place struct {
		key Key
		pc  uint64
	}
	seen := map[place]int{}
	var first, rest []int
	for _, t := range p.Threads {
		w := g.Of(t.TID)
		owned := w != nil && w.Mode == One && w.Certainty > Possible && w.Object.Kind != kindThreadEnd
		if w == nil || owned || t.Stack != nil || !perhapsFutex(t) {
			continue
		}
		at := place{w.Object.Key, uint64(t.First.Call.PC)}
		if seen[at]++; seen[at] > 1 {
			rest = append(rest, t.TID)
			continue
		}
		first = append(first, t.TID)
	}
	all := append(first, rest...)
	all = all[:min(most, len(all))]
	slices.Sort(all)
	return all
}

// perhapsFutex reports whether t is in a call of the futex family, or in a call with a limit of time that goes on after
// a stop, which mostly is one: /proc does not show which.
func perhapsFutex(t *Thread) bool {
	return syscalls.Restarts(t.Process.Arch, t.First.Call.Number) || IsFutex(t.Process.Arch, t.First.Call.Number)
}
