package waits

import (
	"cmp"
	"slices"
	"time"
)

// Graph is who waits for whom.
type Graph struct {
	Facts *Facts
	Waits []Wait // of each blocked thread, in the order of Facts
	// Cycles are threads that wait for each other: deadlocks first.
	Cycles []Cycle
	// Roots are what others wait for in the end, those with most waiters first.
	Roots []Root
	// Waiting is how many threads wait for somebody else, or for nobody that is known; Owned is how many of them wait
	// for somebody who is known.
	Waiting, Owned int

	byThread map[int]int // index in Waits
	alone    bool        // see newGraph
	steps    int         // that the sets of stuck threads took, for tests
}

// CycleKind says what a Cycle is.
type CycleKind uint8

// The kinds of cycles.
const (
	// Deadlock: each thread waits for the one owner of its object, and the last for the first; each edge is Proven,
	// and none ends by itself. Each thread was blocked at the second reading too.
	Deadlock CycleKind = iota
	// Passing is the same, but that a wait in it ends by itself.
	Passing
	// Supposed is the same, but that an edge is not Proven.
	Supposed
	// Stuck are threads that only threads of the same set could wake: a signal handler, or somebody who opens what
	// they wait on, could as well.
	Stuck
)

// Cycle is threads that wait for one another.
type Cycle struct {
	Kind    CycleKind
	Threads []int // in the order of the edges; of Stuck ascending
	// Stood is how long it is known to have been so: none of the threads ran meanwhile.
	Stood time.Duration
	// Behind are those that wait for a thread of the cycle, directly or through others.
	Behind []int
}

// Root is a thread, or a process where TID is 0, that others wait for and that itself waits for none of them.
type Root struct {
	Waker
	// Why is what a person calls that which its waiters wait for in the end, if that is no living thread: "thread 812,
	// which has exited". "" where it is.
	Why    string
	Behind []int // threads that wait for it, directly or through others
	// Certainty is that of the weakest edge on the ways to it.
	Certainty Certainty
}

// Of returns the wait of a thread, nil if it is not blocked.
func (g *Graph) Of(tid int) *Wait {
	if i, ok := g.byThread[tid]; ok {
		return &g.Waits[i]
	}
	return nil
}

// Join makes the graph of facts.
func Join(f *Facts) *Graph {
	w, _ := Study(f)
	return newGraph(f, w, false)
}

// newGraph makes the graph of w. alone says that nobody has the other ends of descriptors who was not looked for.
func newGraph(f *Facts, w []Wait, alone bool) *Graph {
	g := &Graph{Facts: f, Waits: w, alone: alone, byThread: make(map[int]int, len(w))}
	for i := range w {
		g.byThread[w[i].TID] = i
		switch w[i].Mode {
		case One, All:
			g.Waiting++
			if len(w[i].Wakers) > 0 {
				g.Owned++
			}
		case Any:
			g.Waiting++
			if g.isForOthers(&w[i]) {
				g.Owned++
			}
		case Unknown:
			g.Waiting++
		}
	}
	g.findCycles()
	g.findStuck()
	slices.SortStableFunc(g.Cycles, func(a, b Cycle) int { return cmp.Compare(a.Kind, b.Kind) })
	g.findRoots()
	return g
}

// isForOthers reports whether all who could end w are known, and one of them is another process.
func (g *Graph) isForOthers(w *Wait) bool {
	t := g.Facts.Thread(w.TID)
	return w.Unlisted == "" && slices.ContainsFunc(w.Wakers, func(to Waker) bool {
		return t != nil && to.PID != t.Process.PID
	})
}

// next is the one thread that w waits for, 0 if there is none or if that is not known.
func (g *Graph) next(w *Wait) int {
	if w == nil || len(w.Wakers) != 1 || w.Mode != One && w.Mode != All && w.Mode != Any {
		return 0
	}
	to := w.Wakers[0]
	if to.TID != 0 {
		return to.TID
	}
	if p := g.Facts.Process(to.PID); p != nil && len(p.Threads) == 1 && p.Threads[0].TID != w.TID {
		return p.Threads[0].TID
	}
	return 0
}

// moved reports whether w is known to have ended meanwhile: its thread ran between its readings.
func (g *Graph) moved(w *Wait) bool {
	t := g.Facts.Thread(w.TID)
	return t != nil && !w.Retries && t.First.Known && !t.Last.At.IsZero() && !t.Unmoved()
}

// findCycles follows the edges to the one owner: a thread has one at most, so that a walk that comes to a thread of
// its own has found a cycle.
func (g *Graph) findCycles() {
	const done = -1
	walk := make(map[int]int, len(g.Waits)) // the walk that came to a thread first
	var path []int
	for i := range g.Waits {
		path = path[:0]
		tid := g.Waits[i].TID
		for tid != 0 && walk[tid] == 0 {
			walk[tid] = i + 1
			path = append(path, tid)
			w := g.Of(tid)
			if w == nil || w.Mode != One || g.moved(w) {
				tid = 0
				break
			}
			tid = g.next(w)
		}
		if tid != 0 && walk[tid] == i+1 {
			g.cycle(path[slices.Index(path, tid):])
		}
		for _, tid := range path {
			walk[tid] = done
		}
	}
}

// cycle adds the cycle of threads, if it is one of those that are shown.
func (g *Graph) cycle(threads []int) {
	c := Cycle{Threads: slices.Clone(threads)}
	least := slices.Index(c.Threads, slices.Min(c.Threads))
	c.Threads = append(c.Threads[least:len(c.Threads):len(c.Threads)], c.Threads[:least]...)
	for _, tid := range threads {
		w := g.Of(tid)
		switch {
		case w.Timed:
			c.Kind = max(c.Kind, Passing)
		case w.Certainty != Proven || !g.stillBlocked(w):
			c.Kind = max(c.Kind, Supposed)
		}
	}
	c.Stood = g.stood(threads)
	g.Cycles = append(g.Cycles, c)
}

// stillBlocked reports whether the thread of w was blocked when its edge was read last.
func (g *Graph) stillBlocked(w *Wait) bool {
	t := g.Facts.Thread(w.TID)
	if w.instant {
		return t.inCall
	}
	return t.blockedAgain()
}

// stood is how long all of the threads are known not to have run.
func (g *Graph) stood(threads []int) time.Duration {
	var from, to time.Time
	for _, tid := range threads {
		t := g.Facts.Thread(tid)
		if t == nil || !t.Unmoved() {
			return 0
		}
		if t.First.At.After(from) {
			from = t.First.At
		}
		if to.IsZero() || t.Last.At.Before(to) {
			to = t.Last.At
		}
	}
	return max(0, to.Sub(from))
}

// behind lists the threads that wait for one of the set, directly or through others, as far as edges lead to one
// thread. Those of the set are not in it.
func (g *Graph) behind(set []int) []int {
	in := map[int]bool{}
	for _, tid := range set {
		in[tid] = true
	}
	var all []int
	for i := range g.Waits {
		tid, path := g.Waits[i].TID, []int(nil)
		known := map[int]bool{}
		for tid != 0 && !in[tid] && !known[tid] {
			known[tid] = true
			path = append(path, tid)
			tid = g.next(g.Of(tid))
		}
		if tid != 0 && in[tid] {
			for _, tid := range path {
				in[tid] = true
			}
			all = append(all, path...)
		}
	}
	slices.Sort(all)
	return all
}
