package flame

import (
	"fmt"
	"math"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// shorten returns p, or where its samples would have more than limit frames in all one whose smallest stacks are
// joined, and calls warn with what it did. Runs are left out then.
func shorten(p *profile.Profile, limit int64, warn func(string)) *profile.Profile {
	depth, samples := make([]int64, p.Tree.Len()), make([]int64, p.Tree.Len())
	for n := profile.NodeID(1); int(n) < len(depth); n++ {
		depth[n] = depth[p.Tree.Parent(n)] + 1
	}
	whole := int64(0)
	for _, s := range p.Samples {
		samples[s.Stack]++
		whole += depth[s.Stack]
	}
	if whole <= limit {
		return p
	}
	values := []int{p.Default}
	if p.IsDiff() {
		values = append(values, p.Default-1)
	}
	c := newFloorCut(&p.Tree, weights(p, values...))
	below := slices.Clone(samples)
	for n := profile.NodeID(len(below) - 1); n > 0; n-- {
		below[p.Tree.Parent(n)] += below[n]
	}
	c.cost = func(n profile.NodeID) int64 { return depth[n] * samples[n] }
	c.joined = func(up profile.NodeID) int64 { return (depth[up] + 1) * min(below[up], int64(len(p.Tasks)+1)) }
	floor := c.floor(limit)
	if warn != nil {
		warn(fmt.Sprintf("each sample of pprof lists its frames: to have no more than %d million of those, stacks "+
			"below %s of all are joined as %s", limit>>20, c.share(floor), smallerName))
	}
	return cutProfile(p, c, floor)
}

// weights gives each stack of p how much its samples have of some values: never 0 where there is a sample.
func weights(p *profile.Profile, types ...int) []int64 {
	self := make([]int64, p.Tree.Len())
	add := func(n profile.NodeID, v int64) { self[n] = min(self[n], math.MaxInt64-v) + v }
	for i, s := range p.Samples {
		add(s.Stack, 1)
		for _, k := range types {
			v := max(p.Value(i)[k], -math.MaxInt64)
			add(s.Stack, max(v, -v))
		}
	}
	return self
}

// cutProfile returns p without the stacks below floor.
func cutProfile(p *profile.Profile, c *floorCut, floor int64) *profile.Profile {
	out := *p
	out.Frames = append(slices.Clip(p.Frames), profile.Frame{Func: smallerName, Module: -1})
	tree, to := c.prune(floor, func(f profile.FrameID) profile.FrameID { return f }, profile.FrameID(len(p.Frames)))
	out.Tree, out.Samples, out.Values, out.Runs = tree, nil, nil, nil
	index := map[profile.Sample]int{}
	for i, s := range p.Samples {
		s.Stack = to[s.Stack]
		at, ok := index[s]
		if !ok {
			at = len(out.Samples)
			index[s] = at
			out.Samples, out.Values = append(out.Samples, s), append(out.Values, make([]int64, len(p.Types))...)
		}
		for k, v := range p.Value(i) {
			out.Values[at*len(p.Types)+k] += v
		}
	}
	return &out
}
