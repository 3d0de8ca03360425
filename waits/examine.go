package waits

import (
	"context"
	"slices"
)

// maxRounds bounds how often Examine reads: words, then stacks and what they name, then descriptors and the processes
// that hold them, then what those wait for.
const maxRounds = 32

// Examine reads by src what the waits of f take, and makes the graph. f has the processes that were asked for, with the
// first reading of each thread.
func Examine(ctx context.Context, src Source, f *Facts) (*Graph, error) {
	all, err := readAll(ctx, src, f)
	if err == nil && f.Near && stuckByNear(f, all) {
		f.Near = false
		all, err = readAll(ctx, src, f)
	}
	if err != nil {
		return nil, err
	}
	stuck, edges := doubtful(newGraph(f, all, false))
	if err := src.Again(ctx, stuck, true); err != nil {
		return nil, err
	}
	if err := src.Again(ctx, edges, false); err != nil {
		return nil, err
	}
	return Join(f), nil
}

// readAll reads in rounds what the waits of f take.
func readAll(ctx context.Context, src Source, f *Facts) ([]Wait, error) {
	var all []Wait
	for range maxRounds {
		var need Need
		if all, need = Study(f); need.Empty() {
			break
		}
		if err := src.Read(ctx, f, need); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// stuckByNear reports whether threads would be stuck if nobody who was not looked for had the other ends of
// descriptors.
func stuckByNear(f *Facts, all []Wait) bool {
	if !slices.ContainsFunc(all, func(w Wait) bool { return w.near }) {
		return false
	}
	g := newGraph(f, all, true)
	return slices.ContainsFunc(g.Cycles, func(c Cycle) bool {
		return slices.ContainsFunc(c.Threads, func(tid int) bool { w := g.Of(tid); return w != nil && w.near })
	})
}

// doubtful lists the threads whose waits are only true if they did not run meanwhile: what may be stuck, and the other
// ends of edges to an owner.
func doubtful(g *Graph) (stuck, edges []*Thread) {
	seen := make(map[int]bool, len(g.Waits))
	add := func(list []*Thread, tid int) []*Thread {
		if t := g.Facts.Thread(tid); t != nil && !seen[tid] {
			seen[tid] = true
			list = append(list, t)
		}
		return list
	}
	for i := range g.Cycles {
		for _, tid := range g.Cycles[i].Threads {
			stuck = add(stuck, tid)
		}
	}
	for i := range g.Waits {
		w := &g.Waits[i]
		if w.Mode != One || g.ownerRan(w) {
			continue
		}
		edges = add(edges, w.TID)
		for _, to := range w.Wakers {
			edges = add(edges, to.TID)
			if p := g.Facts.Process(to.PID); to.TID == 0 && p != nil {
				for _, t := range p.Threads {
					edges = add(edges, t.TID)
				}
			}
		}
	}
	return stuck, edges
}

// ownerRan reports whether the thread that w waits for was not blocked, so that no second reading proves anything.
func (g *Graph) ownerRan(w *Wait) bool {
	if len(w.Wakers) != 1 {
		return false
	}
	t := g.Facts.Thread(w.Wakers[0].TID)
	return t != nil && !t.First.Blocked
}
