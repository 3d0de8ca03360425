package profile

import (
	"cmp"
	"slices"
)

// Hot is what one function got of a value.
type Hot struct {
	Function
	Frame FrameID // the first frame of it: for module, kind and file
	Self  int64   // where it was the innermost frame
	Total int64   // where it was anywhere in the stack, counted once
}

// Self sums value typ (an index of p.Types) over the samples of each stack: one number for
// each node of p.Tree.
//
// Precondition: p passes [Profile.CheckValid].
func (p *Profile) Self(typ int) []int64 {
	self := make([]int64, p.Tree.Len())
	for i, s := range p.Samples {
		self[s.Stack] += p.Value(i)[typ]
	}
	return self
}

// Hottest says what every function got of value typ, an index of p.Types: most of Self
// first, then most of Total, then by name. Functions that got nothing are left out.
//
// Precondition: p passes [Profile.CheckValid].
func Hottest(p *Profile, typ int) []Hot {
	of, first := p.Functions()
	hot := make([]Hot, len(first))
	for i, f := range first {
		hot[i] = Hot{Function: p.Function(f), Frame: f}
	}
	for i, s := range p.Samples {
		if s.Stack != 0 {
			hot[of[p.Tree.frame[s.Stack]]].Self += p.Value(i)[typ]
		}
	}
	if p.walkable() {
		p.totalsBySample(typ, of, hot)
	} else {
		p.totalsByNode(typ, of, hot)
	}
	hot = slices.DeleteFunc(hot, func(h Hot) bool { return h.Self == 0 && h.Total == 0 })
	slices.SortFunc(hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.String(), b.String()))
	})
	return hot
}

// walkable reports whether the way up from every sample takes few steps for a tree of this size: then
// nothing need be kept for each node. Few samples in very deep stacks take more.
func (p *Profile) walkable() bool {
	const stepsForNode = 8
	steps, most := 0, stepsForNode*(p.Tree.Len()+len(p.Samples))
	for _, s := range p.Samples {
		for n := s.Stack; n != 0; n = p.Tree.parent[n] {
			if steps++; steps > most {
				return false
			}
		}
	}
	return true
}

// totalsBySample adds every sample to each function of its stack, once. of gives the function of
// each frame, an index of hot.
func (p *Profile) totalsBySample(typ int, of []uint32, hot []Hot) {
	met := make([]int, len(hot)) // one more than the sample that a function was met in last
	for i, s := range p.Samples {
		for n := s.Stack; n != 0; n = p.Tree.parent[n] {
			if fn := of[p.Tree.frame[n]]; met[fn] != i+1 {
				met[fn] = i + 1
				hot[fn].Total += p.Value(i)[typ]
			}
		}
	}
}

// totalsByNode does the same in one pass over the tree, whatever the number of samples.
func (p *Profile) totalsByNode(typ int, of []uint32, hot []Hot) {
	total := p.Self(typ)
	for n := p.Tree.Len() - 1; n > 0; n-- {
		total[p.Tree.parent[n]] += total[n]
	}
	p.Tree.Outermost(of, len(hot), func(n NodeID) { hot[of[p.Tree.frame[n]]].Total += total[n] })
}

// Outermost calls visit for each node whose function is not among its callers. of gives the
// function of each frame, below count.
func (t *Tree) Outermost(of []uint32, count int, visit func(NodeID)) {
	child, sibling := t.Links()
	open := make([]bool, count)        // functions of the way down to n
	opened := make([]bool, len(child)) // nodes that opened theirs
	for n := child[0]; n != 0; {
		if fn := of[t.frame[n]]; !open[fn] {
			open[fn], opened[n] = true, true
			visit(n)
		}
		if child[n] != 0 {
			n = child[n]
			continue
		}
		for {
			if opened[n] {
				open[of[t.frame[n]]] = false
			}
			if sibling[n] != 0 {
				n = sibling[n]
				break
			}
			if n = t.parent[n]; n == 0 {
				return
			}
		}
	}
}

// Links gives each node its first child and its next sibling, 0 for none: children in
// the order of their ids.
func (t *Tree) Links() (child, sibling []NodeID) {
	child, sibling = make([]NodeID, t.Len()), make([]NodeID, t.Len())
	for n := len(t.parent) - 1; n > 0; n-- {
		up := t.parent[n]
		child[up], sibling[n] = NodeID(n), child[up]
	}
	return child, sibling
}
