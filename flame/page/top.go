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
	all := make([]function, len(g.places))
	for f := range all {
		all[f].frame = profile.FrameID(f)
	}
	open := make([]int32, len(g.places)) // how often a frame is on the way up
	var way []profile.NodeID
	for node := profile.NodeID(1); int(node) < len(selfs); node++ {
		for len(way) > 0 && way[len(way)-1] != g.tree.Parent(node) {
			open[g.tree.Frame(way[len(way)-1])]--
			way = way[:len(way)-1]
		}
		f := g.tree.Frame(node)
		all[f].self += selfs[node]
		if open[f] == 0 {
			all[f].total += totals[node]
		}
		open[f]++
		way = append(way, node)
	}
	all = slices.DeleteFunc(all, func(f function) bool {
		return f.total == 0 || f.frame < firstFrame || g.places[f.frame].kind == thread
	})
	slices.SortFunc(all, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.frame, b.frame))
	})
	return all[:min(n, len(all))]
}
