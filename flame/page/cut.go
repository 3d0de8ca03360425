package page

// cut leaves out what has no value at all and what is too small: nodes below
// opt.MinShare, and unless opt.All is set all but the largest maxFrames. In their place each
// parent gets a grey node with the sum, so that no width lies; what waited in the kernel
// gets one of its own.
func (g *graph) cut(opt Options) {
	scores := g.scores()
	least, ties := threshold(scores, opt)
	c := cutter{g: g, to: make([]uint32, len(scores)), kept: tree{make([]uint32, 1), make([]uint32, 1)},
		smaller: []uint32{0}, grey: make([][2]uint32, 1)}
	for n := 1; n < len(scores); n++ {
		score := scores[n]
		if score > least || score == least && score > 0 && ties > 0 {
			if score == least {
				ties--
			}
			c.to[n] = c.keep(c.to[g.tree.parent[n]], g.tree.frame[n])
			continue
		}
		c.drop(uint32(n), score > 0)
	}
	for i := range g.lists {
		for k, n := range g.lists[i].nodes {
			g.lists[i].nodes[k] = c.to[n]
		}
	}
	for i := range g.runs {
		g.runs[i].Stack = nodeID(c.to[g.runs[i].Stack])
	}
	g.tree, g.smaller = c.kept, c.smaller
}

type cutter struct {
	g       *graph
	to      []uint32 // the node that stands for each one of before
	kept    tree
	smaller []uint32
	grey    [][2]uint32 // by kept node: its grey callees, 0 for none; the second one waits
}

func (c *cutter) keep(parent, frame uint32) uint32 {
	c.kept.parent = append(c.kept.parent, parent)
	c.kept.frame = append(c.kept.frame, frame)
	c.smaller = append(c.smaller, 0)
	c.grey = append(c.grey, [2]uint32{})
	return uint32(len(c.kept.frame) - 1)
}

// drop lets the grey node of the nearest caller that is kept stand for n.
func (c *cutter) drop(n uint32, counts bool) {
	above := c.to[c.g.tree.parent[n]]
	if !counts {
		c.to[n] = above
		return
	}
	if c.smaller[above] > 0 {
		above = c.kept.parent[above]
	}
	waits := 0
	if c.g.places[c.g.tree.frame[n]].waits {
		waits = 1
	}
	node := c.grey[above][waits]
	if node == 0 {
		node = c.keep(above, uint32(smallerFrame+waits))
		c.grey[above][waits] = node
	}
	c.smaller[node]++
	c.to[n] = node
	c.g.head.Smaller++
}

// scores gives each node its largest share of the whole over all values, in units of 2^-40:
// integers, so that they are compared exactly. A callee's is never above its caller's.
func (g *graph) scores() []uint64 {
	scores := make([]uint64, len(g.tree.frame))
	for typ := range g.head.Types {
		for _, old := range []bool{false, true} {
			whole := g.head.Types[typ].Total
			if old {
				whole = g.head.Types[typ].Old
			}
			if whole <= 0 {
				continue
			}
			factor := float64(1<<40) / float64(whole)
			for n, v := range g.values(typ, old) {
				if v > 0 {
					scores[n] = max(scores[n], 1+uint64(float64(v)*factor))
				}
			}
		}
	}
	return scores
}

// threshold returns the score above which nodes are kept, and how many of those that reach
// just that are.
func threshold(scores []uint64, opt Options) (least uint64, ties int) {
	floor := uint64(opt.MinShare * (1 << 40))
	if opt.All || len(scores) <= maxFrames {
		return floor, len(scores)
	}
	sorted := make([]uint64, 0, len(scores))
	for _, s := range scores[1:] {
		if s > floor {
			sorted = append(sorted, s)
		}
	}
	if len(sorted) <= maxFrames {
		return floor, len(scores)
	}
	least = largest(sorted, maxFrames)
	above := 0
	for _, s := range sorted {
		if s > least {
			above++
		}
	}
	return least, maxFrames - above
}

// largest returns the value that stands at place n, from 1, of s in falling order. Whatever s holds
// takes eight passes: each settles a byte of the value, the highest first.
func largest(s []uint64, n int) uint64 {
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
