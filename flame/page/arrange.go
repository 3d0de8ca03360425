package page

import (
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// arrange puts the nodes into preorder, callees by name, and returns the new id of each.
func (g *graph) arrange() []profile.NodeID {
	first, children := callees(&g.tree, len(g.places))
	to := make([]profile.NodeID, g.tree.Len())
	var ordered profile.Tree
	ordered.Grow(g.tree.Len())
	stack := slices.Clone(children[first[0]:first[1]])
	slices.Reverse(stack)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		to[n] = ordered.Push(to[g.tree.Parent(n)], g.tree.Frame(n))
		for _, child := range slices.Backward(children[first[n]:first[n+1]]) {
			stack = append(stack, child)
		}
	}
	g.tree = ordered
	return to
}

// callees returns the callees of node n of t at [first[n]:first[n+1]], ordered by frame: two
// passes of counting, by frame and by parent.
func callees(t *profile.Tree, frames int) (first []uint32, nodes []profile.NodeID) {
	size := t.Len()
	byFrame := make([]profile.NodeID, size-1)
	at := make([]uint32, frames+1)
	for n := 1; n < size; n++ {
		at[t.Frame(profile.NodeID(n))+1]++
	}
	for f := range frames {
		at[f+1] += at[f]
	}
	for n := profile.NodeID(1); int(n) < size; n++ {
		f := t.Frame(n)
		byFrame[at[f]] = n
		at[f]++
	}
	first, nodes = make([]uint32, size+2), make([]profile.NodeID, size-1)
	for n := 1; n < size; n++ {
		first[t.Parent(profile.NodeID(n))+2]++
	}
	for n := range size {
		first[n+2] += first[n+1]
	}
	for _, n := range byFrame {
		p := t.Parent(n)
		nodes[first[p+1]] = n
		first[p+1]++
	}
	return first[:size+1], nodes
}

// move renames the nodes of all lists and runs, and leaves out lists without values.
func (g *graph) move(to []profile.NodeID, size int) {
	for i := range g.lists {
		g.lists[i].move(to, size, len(g.head.Types))
	}
	g.lists = slices.DeleteFunc(g.lists, func(l list) bool { return len(l.nodes) == 0 })
	for i := range g.runs {
		g.runs[i].Stack = to[g.runs[i].Stack]
	}
}

// move renames the nodes of l to some of size, orders them and adds up those that became one. What has no
// value is left out.
func (l *list) move(to []profile.NodeID, size, types int) {
	sums := make(map[profile.NodeID]int) // where a node's values are in the order of coming
	order := make([]uint64, 0, len(l.nodes))
	dense := []uint32(nil)
	if len(l.nodes) > size/8 {
		dense, sums = make([]uint32, size), nil
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
			l.nodes, values = append(l.nodes, profile.NodeID(key>>32)), append(values, v...)
		}
	}
	l.values = values
}
