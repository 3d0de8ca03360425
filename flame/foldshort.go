package flame

import (
	"fmt"

	"github.com/fpstack/fpstack/profile"
)

// shorten joins the smallest stacks where the text would be longer than limit, and calls warn with what it did.
func (t *foldTree) shorten(limit int64, warn func(string)) {
	lengths := t.lengths()
	self := t.values
	whole := int64(0)
	for n := range self {
		if self[n] != 0 {
			whole += lengths[n] + number(self[n])
		}
	}
	if whole <= limit {
		return
	}
	c := newFloorCut(&t.tree, self)
	c.cost = func(n profile.NodeID) int64 { return lengths[n] + number(self[n]) }
	c.joined = func(up profile.NodeID) int64 {
		return lengths[up] + int64(len(smallerName)+1) + number(c.total[up])
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

// number is what follows the names of a line.
func number(v int64) int64 { return digits(v) + 1 }

// prune joins what got less than floor. Places of samples are not kept.
func (t *foldTree) prune(c *floorCut, floor int64) {
	tree, to := c.prune(floor, func(f profile.FrameID) profile.FrameID { return f }, t.frame(smallerName))
	values := make([]int64, tree.Len())
	for n, at := range to {
		values[at] += t.values[n]
	}
	t.tree, t.values, t.place = tree, values, nil
}

// digits counts the decimal digits of v, which is not below 0.
func digits(v int64) int64 {
	n := int64(1)
	for ; v > 9; v /= 10 {
		n++
	}
	return n
}
