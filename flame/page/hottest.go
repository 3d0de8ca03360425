package page

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// function is a row of the table of the hottest.
type function struct {
	frame       profile.FrameID
	self, total int64
}

// hottest returns the n functions with the most value of their own. A function that calls
// itself is counted once in its total.
func (g *graph) hottest(typ, n int) []function {
	selfs, totals := g.selfs(typ, side{false, g.head.Waits}), g.values(typ, side{false, g.head.Waits})
	all, same := make([]function, len(g.places)), make([]uint32, len(g.places)) // each frame is a function
	for f := range all {
		all[f].frame, same[f] = profile.FrameID(f), uint32(f)
	}
	for n := 1; n < len(selfs); n++ {
		all[g.tree.Frame(profile.NodeID(n))].self += selfs[n]
	}
	g.tree.Outermost(same, len(all), func(n profile.NodeID) { all[g.tree.Frame(n)].total += totals[n] })
	all = slices.DeleteFunc(all, func(f function) bool {
		return f.total == 0 || f.frame < firstFrame || g.places[f.frame].kind == thread
	})
	slices.SortFunc(all, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.frame, b.frame))
	})
	return all[:min(n, len(all))]
}
