package top

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// Grouping says what a row of the table shows.
type Grouping int

// The groupings.
const (
	ByFunction Grouping = iota // one function, whatever modules it lies in
	ByLine                     // one line of source; an address where none is known
	ByThread
)

var groupingNames = [...]string{"function", "line", "thread"}

func (g Grouping) String() string { return groupingNames[g] }

// ParseGrouping is the inverse of String.
func ParseGrouping(s string) (Grouping, error) {
	for i, name := range groupingNames {
		if s == name {
			return Grouping(i), nil
		}
	}
	return 0, fmt.Errorf("want function, line or thread")
}

// rowKey is what frames of one row have in common. Two rows never have the same.
type rowKey struct {
	profile.Function
	file string // of a row that is a line
	line int
}

// group is what a row shows.
type group struct {
	rowKey
	kind    profile.Kind // of its first frame
	modules []string     // paths of the modules that its frames lie in, as met, at most maxModules
}

// maxModules bounds the modules that are remembered of one row.
const maxModules = 8

// rowID is an index in grouping.groups.
type rowID int32

const noRow rowID = -1

// grouping assigns the frames of a store to rows.
type grouping struct {
	ids    map[rowKey]rowID
	groups []group
	rows   []rowID // by frame

	// outermost says of a node that none of its callers is of the same row. A
	// function's total is the sum over its outermost nodes, so that recursion counts once.
	outermost []bool
	// above has for a node one bit for each row on the way to the root, itself included:
	// bit row%64. Where the bit is not set, no search upward is needed.
	above []uint64
}

// groups holds the assignments that do not change when frames and nodes are added.
type groups struct {
	function, line grouping
}

func (g *groups) of(by Grouping) *grouping {
	if by == ByLine {
		return &g.line
	}
	return &g.function
}

// extend takes in the frames and nodes that p got since the last call.
func (g *groups) extend(p *profile.Profile) {
	g.function.extend(p, functionKey)
	g.line.extend(p, lineKey)
}

// onTree returns the assignments of g for another tree of the same frames.
func (g *groups) onTree(tree *profile.Tree) *groups {
	return &groups{function: g.function.onTree(tree), line: g.line.onTree(tree)}
}

func (g *grouping) onTree(tree *profile.Tree) grouping {
	out := *g
	out.outermost, out.above = []bool{false}, []uint64{0}
	for n := 1; n < tree.Len(); n++ {
		out.addNode(tree, profile.NodeID(n))
	}
	return out
}

func (g *grouping) extend(p *profile.Profile, key func(*profile.Profile, profile.FrameID) rowKey) {
	if g.ids == nil {
		g.ids = map[rowKey]rowID{}
		g.outermost, g.above = []bool{false}, []uint64{0}
	}
	for f := len(g.rows); f < len(p.Frames); f++ {
		k := key(p, profile.FrameID(f))
		id, ok := g.ids[k]
		if !ok {
			id = rowID(len(g.groups))
			g.ids[k], g.groups = id, append(g.groups, group{rowKey: k, kind: p.Frames[f].Kind})
		}
		g.groups[id].met(p, &p.Frames[f])
		g.rows = append(g.rows, id)
	}
	for n := len(g.outermost); n < p.Tree.Len(); n++ {
		g.addNode(&p.Tree, profile.NodeID(n))
	}
}

func (g *grouping) addNode(tree *profile.Tree, n profile.NodeID) {
	row, up := g.rows[tree.Frame(n)], tree.Parent(n)
	bit := uint64(1) << (uint(row) % 64)
	g.outermost = append(g.outermost, g.above[up]&bit == 0 || !g.callsItself(tree, up, row))
	g.above = append(g.above, g.above[up]|bit)
}

// callsItself reports whether row is on the way from n to the root.
func (g *grouping) callsItself(tree *profile.Tree, n profile.NodeID, row rowID) bool {
	for ; n != 0; n = tree.Parent(n) {
		if g.rows[tree.Frame(n)] == row {
			return true
		}
	}
	return false
}

// functionKey makes one row of all of a function.
func functionKey(p *profile.Profile, f profile.FrameID) rowKey {
	return rowKey{Function: p.Function(f)}
}

func lineKey(p *profile.Profile, f profile.FrameID) rowKey {
	return rowKey{p.Function(f), p.Frames[f].File, p.Frames[f].Line}
}

// met adds where f lies.
func (g *group) met(p *profile.Profile, f *profile.Frame) {
	if f.Module < 0 || len(g.modules) == maxModules {
		return
	}
	if path := p.Modules[f.Module].Path; !slices.Contains(g.modules, path) {
		g.modules = append(g.modules, path)
	}
}

// module is the path of the first module, "" for none.
func (g *group) module() string {
	if len(g.modules) == 0 {
		return ""
	}
	return g.modules[0]
}
