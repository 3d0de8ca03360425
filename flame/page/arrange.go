package page

import (
	"slices"

	"github.com/fpstack/fpstack/profile"
)

func nodeID(n uint32) profile.NodeID { return profile.NodeID(n) }

// arrange puts the nodes into preorder, callees by name, and the lists into the order of
// nodes, each node once.
func (g *graph) arrange() {
	first, children := g.tree.children(len(g.places))
	size := len(g.tree.frame)
	to := make([]uint32, size)
	ordered := tree{make([]uint32, size), make([]uint32, size)}
	smaller := make([]uint32, size)
	stack, next := []uint32{0}, uint32(0)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		to[n] = next
		ordered.frame[next], ordered.parent[next] = g.tree.frame[n], to[g.tree.parent[n]]
		smaller[next] = g.smaller[n]
		next++
		for _, child := range slices.Backward(children[first[n]:first[n+1]]) {
			stack = append(stack, child)
		}
	}
	g.tree, g.smaller = ordered, smaller
	for i := range g.lists {
		g.lists[i].move(to, len(g.head.Types))
	}
	for i := range g.runs {
		g.runs[i].Stack = nodeID(to[g.runs[i].Stack])
	}
	g.joinLists()
}

// children returns the callees of node n at [first[n]:first[n+1]], ordered by frame: two
// passes of counting, by frame and by parent.
func (t *tree) children(frames int) (first, nodes []uint32) {
	byFrame := make([]uint32, len(t.frame)-1)
	at := make([]uint32, frames+1)
	for _, f := range t.frame[1:] {
		at[f+1]++
	}
	for f := range frames {
		at[f+1] += at[f]
	}
	for n := 1; n < len(t.frame); n++ {
		f := t.frame[n]
		byFrame[at[f]] = uint32(n)
		at[f]++
	}
	first, nodes = make([]uint32, len(t.frame)+2), make([]uint32, len(byFrame))
	for _, p := range t.parent[1:] {
		first[p+2]++
	}
	for n := range t.frame {
		first[n+2] += first[n+1]
	}
	for _, n := range byFrame {
		p := t.parent[n]
		nodes[first[p+1]] = n
		first[p+1]++
	}
	return first[:len(t.frame)+1], nodes
}

// move renames the nodes of l, orders them and adds up those that became one. What has no
// value is left out.
func (l *list) move(to []uint32, types int) {
	sums := make(map[uint32]int) // where a node's values are in the order of coming
	order := make([]uint64, 0, len(l.nodes))
	dense := []uint32(nil)
	if len(l.nodes) > len(to)/8 {
		dense, sums = make([]uint32, len(to)), nil
	}
	for i, n := range l.nodes {
		n = to[n]
		at, ok := i, false
		if dense != nil {
			if ok = dense[n] > 0; ok {
				at = int(dense[n]) - 1
			}
			dense[n] = uint32(at) + 1
		} else if before, found := sums[n]; found {
			at, ok = before, true
		} else {
			sums[n] = i
		}
		if !ok {
			order = append(order, uint64(n)<<32|uint64(i))
			continue
		}
		for k := range types {
			l.values[at*types+k] += l.values[i*types+k]
		}
	}
	slices.Sort(order)
	values := make([]int64, 0, len(order)*types)
	l.nodes = l.nodes[:0]
	for _, key := range order {
		v := l.values[int(uint32(key))*types:][:types]
		if slices.ContainsFunc(v, func(v int64) bool { return v != 0 }) {
			l.nodes, values = append(l.nodes, uint32(key>>32)), append(values, v...)
		}
	}
	l.values = values
}

// joinLists leaves out lists without values.
func (g *graph) joinLists() {
	g.lists = slices.DeleteFunc(g.lists, func(l list) bool { return len(l.nodes) == 0 })
}
