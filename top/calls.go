package top

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// call is a caller or a callee of the chosen row, and the time that belongs to both.
type call struct {
	id    rowID  // what Enter goes to; noRow for nothing
	name  string // "(self)", "(root)", or that of a row
	waits bool
	got   amount
}

// calls are the two lists for one row, the most first. Each sums up to the row's total.
type calls struct {
	of               row
	callers, callees []call
}

// Marks in the passes of codeCalls, beside the ids of rows.
const (
	outside rowID = -2 // the row is not on the way from the root to here
	itself  rowID = -3 // the row is the innermost frame
	root    rowID = -4 // nothing calls it
)

// calls finds who called r and whom it called. By thread there are no callers; the
// callees are the functions that the thread was in.
func (d *data) calls(v *view, r row) *calls {
	if v.by == ByThread {
		return &calls{of: r, callees: d.threadFunctions(v, r)}
	}
	t := &table{}
	self, _ := d.nodeAmounts(v, t)
	return d.codeCalls(d.groups.of(v.by), self, r)
}

// codeCalls goes over the tree once from its root. A stack in which r occurs more than once
// counts once: its caller is that of the outermost occurrence, its callee that of the
// innermost one. So r is its own caller or callee never.
func (d *data) codeCalls(g *grouping, self []amount, r row) *calls {
	tree := &d.p.Tree
	caller, callee := make([]rowID, tree.Len()), make([]rowID, tree.Len())
	caller[0], callee[0] = outside, outside
	callers, callees := map[rowID]amount{}, map[rowID]amount{}
	for n := 1; n < tree.Len(); n++ {
		id := profile.NodeID(n)
		up, here := tree.Parent(id), g.rows[tree.Frame(id)]
		caller[n], callee[n] = caller[up], callee[up]
		switch {
		case here == r.id:
			callee[n] = itself
			if caller[n] == outside {
				caller[n] = root
				if up != 0 {
					caller[n] = g.rows[tree.Frame(up)]
				}
			}
		case callee[n] == itself:
			callee[n] = here
		}
		if caller[n] != outside && self[n] != (amount{}) {
			addTo(callers, caller[n], self[n])
			addTo(callees, callee[n], self[n])
		}
	}
	return &calls{of: r, callers: g.callList(callers), callees: g.callList(callees)}
}

func addTo(m map[rowID]amount, id rowID, a amount) {
	sum := m[id]
	sum.add(a)
	m[id] = sum
}

func (g *grouping) callList(m map[rowID]amount) []call {
	list := make([]call, 0, len(m))
	for id, a := range m {
		a.round()
		c := call{id: id, got: a}
		switch id {
		case itself:
			c.id, c.name = noRow, "(self)"
		case root:
			c.id, c.name = noRow, "(root)"
		default:
			c.name, c.waits = g.groups[id].String(), g.groups[id].Waits
		}
		if a.value > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b call) int {
		return cmp.Or(cmp.Compare(b.got.value, a.got.value), cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return list
}

// threadFunctions lists the functions that one thread was in, by own time.
func (d *data) threadFunctions(v *view, r row) []call {
	g := &d.groups.function
	p := d.p
	canIdle := p.Types[p.Default].Type != profile.CPUTime.Type
	m := map[rowID]amount{}
	d.each(v.sinceBegin, func(s profile.Sample, a amount) {
		if rowID(s.Task) == r.id && s.Stack != 0 && (v.idle || !canIdle || !isIdle(p, s.Stack)) {
			addTo(m, g.rows[p.Tree.Frame(s.Stack)], a)
		}
	})
	list := g.callList(m)
	for i := range list {
		list[i].id = noRow
	}
	return list
}
