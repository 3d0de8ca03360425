package waits

import (
	"cmp"
	"slices"
)

// findRoots follows each wait to what it waits for in the end. Threads of cycles, and those behind them, have none.
func (g *Graph) findRoots() {
	skip := map[int]bool{}
	for i := range g.Cycles {
		for _, tid := range slices.Concat(g.Cycles[i].Threads, g.Cycles[i].Behind) {
			skip[tid] = true
		}
	}
	type key struct {
		Waker
		why string
	}
	found := map[key]int{} // index in g.Roots
	for i := range g.Waits {
		w := &g.Waits[i]
		if skip[w.TID] {
			continue
		}
		root, sure, ok := g.rootOf(w)
		if !ok {
			continue
		}
		at, known := found[key{root.Waker, root.Why}]
		if !known {
			at = len(g.Roots)
			found[key{root.Waker, root.Why}] = at
			root.Certainty = sure
			g.Roots = append(g.Roots, root)
		}
		r := &g.Roots[at]
		r.Behind, r.Certainty = append(r.Behind, w.TID), min(r.Certainty, sure)
	}
	slices.SortStableFunc(g.Roots, func(a, b Root) int { return cmp.Compare(len(b.Behind), len(a.Behind)) })
}

// rootOf follows w to its root. It is false if w waits for nobody that is known.
func (g *Graph) rootOf(w *Wait) (root Root, sure Certainty, ok bool) {
	sure = Proven
	seen := map[int]bool{}
	for at := w; ; {
		seen[at.TID] = true
		to := g.next(at)
		switch {
		case to == 0 && at.Mode == One && len(at.Wakers) == 0 && at.Note != "":
			return Root{Waker: Waker{TID: at.TID}, Why: at.Note}, min(sure, at.Certainty), true
		case to == 0 && g.another(at):
			return Root{Waker: at.Wakers[0]}, min(sure, at.Certainty), true
		case to == 0:
			return Root{Waker: g.waker(at.TID)}, sure, at != w
		}
		sure = min(sure, at.Certainty)
		following := g.Of(to)
		if following == nil || seen[to] {
			return Root{Waker: g.waker(to)}, sure, to != w.TID
		}
		at = following
	}
}

// another reports whether w waits for one other process as a whole.
func (g *Graph) another(w *Wait) bool {
	if len(w.Wakers) != 1 || w.Wakers[0].TID != 0 {
		return false
	}
	t := g.Facts.Thread(w.TID)
	return t != nil && t.Process.PID != w.Wakers[0].PID
}

func (g *Graph) waker(tid int) Waker {
	if t := g.Facts.Thread(tid); t != nil {
		return Waker{t.Process.PID, tid}
	}
	return Waker{TID: tid}
}
