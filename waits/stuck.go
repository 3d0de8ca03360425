package waits

import "slices"

// findStuck finds the greatest set of threads that only threads of the set could wake: it takes from all that wait for
// others those that somebody else could wake, until nobody is left to take.
func (g *Graph) findStuck() {
	in := make(map[int]bool, len(g.Waits))
	outside := map[int]int{} // by process, how many of its threads are not in the set
	for _, p := range g.Facts.Processes {
		outside[p.PID] = len(p.Threads)
	}
	for i := range g.Waits {
		if w := &g.Waits[i]; g.mayBeStuck(w) {
			in[w.TID] = true
			outside[g.Facts.Thread(w.TID).Process.PID]--
		}
	}
	for again := true; again; { // each round but the last takes one at least
		again = false
		for i := range g.Waits {
			w := &g.Waits[i]
			if in[w.TID] && g.canBeWoken(w, in, outside) {
				delete(in, w.TID)
				outside[g.Facts.Thread(w.TID).Process.PID]++
				again = true
			}
		}
	}
	g.stuckSets(in)
}

// mayBeStuck reports whether w waits for others alone, who are all known.
func (g *Graph) mayBeStuck(w *Wait) bool {
	switch w.Mode {
	case One, All, Any:
		return !w.Timed && !w.Retries && !w.Alarm && w.Unlisted == "" && (!w.near || g.alone) &&
			!g.moved(w) && g.Facts.Thread(w.TID) != nil
	}
	return false
}

// canBeWoken reports whether somebody outside of the set could wake w.
func (g *Graph) canBeWoken(w *Wait, in map[int]bool, outside map[int]int) bool {
	free := func(to Waker) bool {
		if to.TID != 0 {
			return !in[to.TID]
		}
		p := g.Facts.Process(to.PID)
		return p == nil || p.Err != nil || outside[to.PID] > 0
	}
	if slices.ContainsFunc(w.Children, func(pid int) bool { return free(Waker{PID: pid}) }) {
		return true
	}
	if w.Mode == All {
		return !slices.ContainsFunc(w.Wakers, func(to Waker) bool { return !free(to) })
	}
	return slices.ContainsFunc(w.Wakers, free)
}

// enders are all who can end w: its Wakers, and children by their end.
func (w *Wait) enders() []Waker {
	all := slices.Clip(w.Wakers)
	for _, pid := range w.Children {
		all = append(all, Waker{PID: pid})
	}
	return all
}

// stuckSets adds the parts of the set that hang together, but those in which a deadlock keeps the others.
func (g *Graph) stuckSets(in map[int]bool) {
	parts := newParts()
	joined := map[int]bool{} // processes whose threads hang together already: many may wait for one
	for i := range g.Waits {
		w := &g.Waits[i]
		if !in[w.TID] {
			continue
		}
		parts.add(w.TID)
		for _, to := range w.enders() {
			if to.TID != 0 {
				parts.join(w.TID, to.TID)
				continue
			}
			p := g.Facts.Process(to.PID)
			if p == nil || len(p.Threads) == 0 { // of several who must all act one may not be known
				continue
			}
			parts.join(w.TID, p.Threads[0].TID)
			for _, t := range p.Threads {
				if joined[to.PID] {
					break
				}
				parts.join(p.Threads[0].TID, t.TID)
			}
			joined[to.PID] = true
		}
	}
	g.steps = parts.steps
	known := map[int]bool{} // parts that have a cycle that was found before
	for i := range g.Cycles {
		c := &g.Cycles[i]
		c.Behind = g.behind(c.Threads)
		known[parts.of(c.Threads[0])] = true
	}
	for _, set := range parts.sets() {
		if !known[parts.of(set[0])] && !g.hopeless(set) {
			g.Cycles = append(g.Cycles, Cycle{Kind: Stuck, Threads: set, Stood: g.stood(set)})
		}
	}
}

// hopeless reports whether the set is threads that nobody could wake in any case, as the owner of their lock is gone:
// these are shown as such.
func (g *Graph) hopeless(set []int) bool {
	for _, tid := range set {
		if w := g.Of(tid); w != nil && len(w.Wakers) == 0 {
			return true
		}
	}
	return false
}

// parts is a partition of threads (union-find).
type parts struct {
	parent map[int]int
	steps  int // joins, for tests
}

func newParts() *parts { return &parts{parent: map[int]int{}} }

func (p *parts) add(tid int) {
	if _, ok := p.parent[tid]; !ok {
		p.parent[tid] = tid
	}
}

// of is the thread that stands for the part of tid, 0 for one that is in none.
func (p *parts) of(tid int) int {
	for p.parent[tid] != tid {
		if p.parent[tid] == 0 {
			return 0
		}
		p.parent[tid] = p.parent[p.parent[tid]]
		tid = p.parent[tid]
	}
	return tid
}

func (p *parts) join(a, b int) {
	p.steps++
	p.add(a)
	p.add(b)
	p.parent[p.of(b)] = p.of(a)
}

// sets lists the parts, each ascending, that with the least thread first.
func (p *parts) sets() [][]int {
	byRoot := map[int][]int{}
	for tid := range p.parent {
		byRoot[p.of(tid)] = append(byRoot[p.of(tid)], tid)
	}
	var all [][]int
	for _, set := range byRoot {
		slices.Sort(set)
		all = append(all, set)
	}
	slices.SortFunc(all, func(a, b []int) int { return a[0] - b[0] })
	return all
}
