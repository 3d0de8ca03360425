package flame

import (
	"fmt"
	"math"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// smallerName is the frame in place of stacks that were joined.
const smallerName = "(smaller)"

// floorCut decides which stacks of a tree stay where a file may take so much and no more: those that got less than a
// floor, with what they called, are joined in one frame "(smaller)" behind the nearest caller that got more, so that
// sums of what is shown stay right.
type floorCut struct {
	tree  *profile.Tree
	self  []int64 // by node
	total []int64 // with what it called
	// cost is what a node takes in the file, joined what one takes that stands for others below it.
	cost, joined func(profile.NodeID) int64

	greyed []bool // nodes that have stacks below the floor, by size
}

// newFloorCut returns one for a tree. Its caller sets what things cost.
func newFloorCut(tree *profile.Tree, self []int64) *floorCut {
	c := &floorCut{tree: tree, self: self, total: slices.Clone(self), greyed: make([]bool, tree.Len())}
	for n := profile.NodeID(tree.Len() - 1); n > 0; n-- {
		up, v := tree.Parent(n), c.total[n]
		c.total[up] = min(c.total[up], math.MaxInt64-max(0, v)) + v // at most what fits
	}
	return c
}

// floor finds the lowest one with which the file takes no more than limit. With the highest nothing stays but one
// stack.
func (c *floorCut) floor(limit int64) int64 {
	low, high := int64(1), max(1, min(c.total[0], math.MaxInt64-1)+1)
	for low < high {
		if middle := low + (high-low)/2; c.size(middle) <= limit {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// size is an upper bound of what the file takes above floor.
func (c *floorCut) size(floor int64) int64 {
	clear(c.greyed)
	sum := int64(0)
	if c.self[0] != 0 {
		sum += c.cost(0)
	}
	for n := profile.NodeID(1); int(n) < c.tree.Len(); n++ {
		up := c.tree.Parent(n)
		switch {
		case c.total[n] >= floor:
			if c.self[n] != 0 {
				sum += c.cost(n)
			}
		case c.total[n] > 0 && !c.greyed[up] && (up == 0 || c.total[up] >= floor):
			c.greyed[up] = true
			sum += c.joined(up)
		}
	}
	return sum
}

// prune returns the tree above floor: each frame has the id that the function gives it, what was joined has smaller.
func (c *floorCut) prune(floor int64, id func(profile.FrameID) profile.FrameID, smaller profile.FrameID) (profile.Tree,
	[]profile.NodeID) {
	return c.tree.Prune(func(n profile.NodeID) (profile.Fate, profile.FrameID) {
		if c.total[n] >= floor {
			return profile.Kept, id(c.tree.Frame(n))
		}
		return profile.Joined, smaller
	})
}

// share is floor for a person.
func (c *floorCut) share(floor int64) string {
	return fmt.Sprintf("%.2g%%", 100*float64(floor)/float64(max(1, c.total[0])))
}
