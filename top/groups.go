package top

import (
	"fmt"
	"path"

	"github.com/fpstack/fpstack/profile"
)

// Grouping says what a row of the table stands for.
type Grouping int

// The groupings.
const (
	ByFunction Grouping = iota // one function of one module
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
	name   string // function; "" if unknown
	module string // path; "" for none
	file   string // of a row that is a line
	line   int
	addr   uint64 // of a row by line without a name or a line, as linked in its module
	kind   profile.Kind
}

// rowID is an index in grouping.keys.
type rowID int32

const noRow rowID = -1

// grouping assigns the frames of a store to rows.
type grouping struct {
	ids  map[rowKey]rowID
	keys []rowKey
	rows []rowID // by frame

	// outermost tells of a node that none of its callers is of the same row. A
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

func (g *grouping) extend(p *profile.Profile, key func(*profile.Profile, *profile.Frame) rowKey) {
	if g.ids == nil {
		g.ids = map[rowKey]rowID{}
		g.outermost, g.above = []bool{false}, []uint64{0}
	}
	for f := len(g.rows); f < len(p.Frames); f++ {
		k := key(p, &p.Frames[f])
		id, ok := g.ids[k]
		if !ok {
			id = rowID(len(g.keys))
			g.ids[k], g.keys = id, append(g.keys, k)
		}
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

// callsItself tells whether row is on the way from n to the root.
func (g *grouping) callsItself(tree *profile.Tree, n profile.NodeID, row rowID) bool {
	for ; n != 0; n = tree.Parent(n) {
		if g.rows[tree.Frame(n)] == row {
			return true
		}
	}
	return false
}

// functionKey makes one row of all of a function, and one of all that has no name in a module.
func functionKey(p *profile.Profile, f *profile.Frame) rowKey {
	return rowKey{name: f.Func, module: modulePath(p, f), kind: f.Kind}
}

func lineKey(p *profile.Profile, f *profile.Frame) rowKey {
	k := rowKey{name: f.Func, module: modulePath(p, f), file: f.File, line: f.Line, kind: f.Kind}
	if f.Func == "" && f.Line == 0 {
		k.addr = f.ModuleAddr
		if f.Module < 0 {
			k.addr = f.Addr
		}
	}
	return k
}

func modulePath(p *profile.Profile, f *profile.Frame) string {
	if f.Module < 0 {
		return ""
	}
	return p.Modules[f.Module].Path
}

// label names the row; what is unknown reads as in a dump.
func (k *rowKey) label() string {
	switch {
	case k.name != "":
		return k.name
	case k.addr != 0:
		return fmt.Sprintf("?? +%#x", k.addr)
	}
	return "??"
}

// moduleName is the module's file name.
func (k *rowKey) moduleName() string {
	if k.module == "" {
		return ""
	}
	return path.Base(k.module)
}
