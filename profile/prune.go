package profile

// Fate is what [Tree.Prune] does with a node.
type Fate uint8

// The fates of a node.
const (
	Kept    Fate = iota
	Joined       // with others into a node that stands for small ones
	Dropped      // it holds nothing: its caller takes its place
)

// Prune returns t without what is too small. fate says of each node what happens to it, and the frame that it has in
// the result: its own, or that of the node which stands for it. Such a node is below the nearest caller that is kept,
// one for each frame. to is the place of each node of t in the result.
//
// Precondition: fate keeps the callers of what it keeps, and gives what is kept below one caller different frames.
func (t *Tree) Prune(fate func(NodeID) (Fate, FrameID)) (kept Tree, to []NodeID) {
	type joined struct {
		caller NodeID
		frame  FrameID
	}
	greys := map[joined]NodeID{}
	grey := make([]bool, t.Len()) // nodes of t that others stand for
	to = make([]NodeID, t.Len())
	kept.Grow(0)
	for n := NodeID(1); int(n) < t.Len(); n++ {
		up := t.parent[n]
		above := to[up]
		what, f := fate(n)
		if what == Dropped {
			to[n], grey[n] = above, grey[up]
			continue
		}
		if what == Kept {
			to[n] = kept.Push(above, f)
			continue
		}
		if grey[up] {
			above = kept.Parent(above)
		}
		key := joined{above, f}
		if greys[key] == 0 {
			greys[key] = kept.Push(above, f)
		}
		to[n], grey[n] = greys[key], true
	}
	return kept, to
}

// Largest chooses nodes by score: those that have least or more, and if these are more than most, the largest of them;
// of equal ones those that come first. What has no score is never chosen. Where no score is above that of the caller,
// callers are chosen before what they call.
func Largest(scores []uint64, least uint64, most int) []bool {
	least = max(least, 1)
	enough := 0
	for _, s := range scores {
		if s >= least {
			enough++
		}
	}
	ties := enough
	if enough > most {
		least = ranked(scores, most)
		ties = most
		for _, s := range scores {
			if s > least {
				ties--
			}
		}
	}
	chosen := make([]bool, len(scores))
	for n, s := range scores {
		if s == least {
			ties--
		}
		chosen[n] = s > least || s == least && ties >= 0
	}
	return chosen
}

// ranked returns the value at place n, from 1, of s in falling order. Whatever s holds takes eight passes: each
// settles a byte of the value, the highest first.
func ranked(s []uint64, n int) uint64 {
	var value uint64 // its bytes above shift
	for shift := 56; shift >= 0; shift -= 8 {
		var counts [256]int
		for _, v := range s {
			if v>>shift>>8 == value {
				counts[byte(v>>shift)]++
			}
		}
		digit := 255
		for ; n > counts[digit]; digit-- {
			n -= counts[digit]
		}
		value = value<<8 | uint64(digit)
	}
	return value
}
