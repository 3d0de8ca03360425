package flame

import (
	"fmt"
	"math"

	"github.com/fpstack/fpstack/profile"
)

// shorten joins the smallest stacks where the text would be longer than limit, and calls warn with what it did.
func (t *foldTree) shorten(limit int64, warn func(string)) {
	lengths := t.lengths()
	self := make([]int64, t.tree.Len())
	whole := int64(0)
	for n := range self {
		for _, v := range t.row(profile.NodeID(n)) {
			self[n] = min(self[n], math.MaxInt64-v) + v
		}
		if self[n] != 0 {
			whole += lengths[n] + t.numbers(self[n])
		}
	}
	if whole <= limit {
		return
	}
	c := newFloorCut(&t.tree, self, len(t.names))
	c.cost = func(n profile.NodeID) int64 { return lengths[n] + t.numbers(self[n]) }
	c.joined = func(up profile.NodeID) int64 {
		return lengths[up] + int64(len(smallerName)+1) + t.numbers(c.total[up])
	}
	floor := c.floor(limit)
	t.prune(c, floor)
	if warn != nil {
		warn(fmt.Sprintf("folded text repeats each name: it would be %.1f GB, and to stay below %.1f GB stacks below "+
			"%s of all are joined as %s", float64(whole)/1e9, float64(limit)/1e9, c.share(floor), smallerName))
	}
}

// lengths returns how long the names of each stack are in a line, with what is between them.
func (t *foldTree) lengths() []int64 {
	lengths := make([]int64, t.tree.Len())
	for n := profile.NodeID(1); int(n) < len(lengths); n++ {
		lengths[n] = lengths[t.tree.Parent(n)] + int64(len(t.names[t.tree.Frame(n)])) + 1
	}
	return lengths
}

// numbers is an upper bound of what follows the names of a line whose values add up to v.
func (t *foldTree) numbers(v int64) int64 { return int64(t.columns) * (digits(v) + 1) }

// prune joins what got less than floor. Places of samples are not kept.
func (t *foldTree) prune(c *floorCut, floor int64) {
	tree, to := c.prune(floor, func(f profile.FrameID) profile.FrameID { return f }, t.frame(smallerName))
	values := make([]int64, t.columns*tree.Len())
	for n, at := range to {
		for k, v := range t.row(profile.NodeID(n)) {
			values[int(at)*t.columns+k] += v
		}
	}
	t.tree, t.values, t.place = tree, values, nil
}
