package waits

import "context"

// maxRounds bounds how often Examine reads: words, then stacks and what they name, then descriptors and the processes
// that hold them, then what those wait for.
const maxRounds = 32

// Examine reads by src what the waits of f take, and makes the graph. f has the processes that were asked for, with the
// first reading of each thread.
func Examine(ctx context.Context, src Source, f *Facts) (*Graph, error) {
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
	if err := src.Again(ctx, doubtful(newGraph(f, all))); err != nil {
		return nil, err
	}
	return Join(f), nil
}

// doubtful lists the threads whose waits are only true if they did not run meanwhile: the ends of edges to an owner,
// and what may be stuck.
func doubtful(g *Graph) []*Thread {
	var list []*Thread
	seen := map[int]bool{}
	add := func(tid int) {
		if t := g.Facts.Thread(tid); t != nil && !seen[tid] {
			seen[tid] = true
			list = append(list, t)
		}
	}
	for i := range g.Waits {
		if w := &g.Waits[i]; w.Mode == One {
			add(w.TID)
			for _, to := range w.Wakers {
				add(to.TID)
				if p := g.Facts.Process(to.PID); to.TID == 0 && p != nil {
					for _, t := range p.Threads {
						add(t.TID)
					}
				}
			}
		}
	}
	for i := range g.Cycles {
		for _, tid := range g.Cycles[i].Threads {
			add(tid)
		}
	}
	return list
}
