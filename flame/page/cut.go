package page

import (
	"math"

	"github.com/fpstack/fpstack/profile"
)

// cut leaves out what has no value at all and what is too small: nodes below opt.MinShare, and unless opt.All is set
// all but the largest maxFrames. In their place each caller gets a grey node with the sum, so that no width lies; what
// waited in the kernel gets one of its own. It returns the new id of each node.
func (g *graph) cut(opt Options) []profile.NodeID {
	scores, most := g.scores(), maxFrames
	if opt.All {
		most = math.MaxInt
	}
	scores[0] = 0 // the root is kept whatever is in it, and is not one of most
	keep := profile.Largest(scores, uint64(opt.MinShare*whole), most)
	fate := func(n profile.NodeID) (profile.Fate, profile.FrameID) {
		f := g.tree.Frame(n)
		switch {
		case keep[n]:
			return profile.Kept, f
		case scores[n] == 0:
			return profile.Dropped, f
		case g.places[f].waits:
			return profile.Joined, smallerWaitingFrame
		}
		return profile.Joined, smallerFrame
	}
	kept, to := g.tree.Prune(fate)
	g.smaller = make([]uint32, kept.Len())
	for n := range keep {
		if n > 0 && !keep[n] && scores[n] > 0 {
			g.smaller[to[n]]++
			g.head.Smaller++
		}
	}
	g.tree = kept
	return to
}

// whole is the score of the root.
const whole = 1 << 40

// scores gives each node its largest share over all values: of everything, and, where what waits can be folded away, of
// what does not. They are integers, so that they are compared exactly. A callee's is never above its caller's.
func (g *graph) scores() []uint64 {
	scores := make([]uint64, g.tree.Len())
	for typ, t := range g.head.Types {
		for _, s := range []side{{false, true}, {true, true}, {false, false}, {true, false}} {
			if !s.waits && t.Waiting == 0 && t.OldWaiting == 0 {
				continue
			}
			values := g.values(typ, s)
			if values[0] <= 0 {
				continue
			}
			factor := float64(whole) / float64(values[0])
			for n, v := range values {
				if v > 0 {
					scores[n] = max(scores[n], 1+uint64(float64(v)*factor))
				}
			}
		}
	}
	return scores
}
