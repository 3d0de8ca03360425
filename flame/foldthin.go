package flame

import "github.com/fpstack/fpstack/profile"

// thin joins the rarest stacks as "(smaller)" behind what they have in common with others, so that half of the nodes
// that may be there are left. What comes later of a stack that was joined begins anew.
//
// Precondition: no block is half added, as places in the tree change.
func (f *folder) thin() {
	old := f.stacks
	keep := profile.Largest(f.scores(), 1, f.bounds.nodes/2)
	number, _ := f.names.number([]byte(smallerName))
	smaller := profile.FrameID(number)
	joined := make([]bool, len(keep))
	tree, to := old.tree.Prune(func(n profile.NodeID) (profile.Fate, profile.FrameID) {
		frame := old.tree.Frame(n)
		if joined[n] = joined[old.tree.Parent(n)] || !keep[n] || frame == smaller; joined[n] {
			return profile.Joined, smaller
		}
		return profile.Kept, frame
	})
	hash := make([]stackHash, tree.Len())
	for n, at := range to {
		switch {
		case !joined[n]:
			hash[at] = old.hash[n]
		case hash[at] == stackHash{}:
			hash[at] = f.hasher.call(hash[tree.Parent(at)], []byte(smallerName))
		}
		if joined[n] && f.has(n) && old.tree.Frame(profile.NodeID(n)) != smaller {
			f.report.Joined++
		}
	}
	f.stacks = stackSetOf(tree, hash)
	f.self, f.micro = movedTo(f.self, to, tree.Len()), movedTo(f.micro, to, tree.Len())
}

// has reports whether a line was of node n.
func (f *folder) has(n int) bool {
	return n < len(f.self) && f.self[n] != 0 || n < len(f.micro) && f.micro[n] != 0
}

// scores gives each node what it and its callees got.
func (f *folder) scores() []uint64 {
	tree := &f.stacks.tree
	scores := make([]uint64, tree.Len())
	for n, v := range f.self {
		scores[n] = uint64(v)
	}
	for n, v := range f.micro {
		scores[n] += uint64(v+million-1) / million
	}
	for n := profile.NodeID(len(scores) - 1); n > 0; n-- {
		scores[tree.Parent(n)] += scores[n]
	}
	return scores
}

// movedTo adds up values in the new places of their nodes. nil stays nil.
func movedTo(values []int64, to []profile.NodeID, nodes int) []int64 {
	if values == nil {
		return nil
	}
	out := make([]int64, nodes)
	for n, v := range values {
		out[to[n]] += v
	}
	return out
}
