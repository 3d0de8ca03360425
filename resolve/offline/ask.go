package offline

import (
	"errors"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// sources are the files of one object.
type sources struct {
	resolvers []*symbol.Resolver
	paths     []string
	unchecked bool
	err       error // until it is reported
}

// of returns the files of m. They are looked for once, for all dumps.
func (n *Namer) of(m *profile.Module) *sources {
	key := "id " + m.BuildID
	if m.BuildID == "" {
		key = "path " + m.Path
	}
	if s, ok := n.known[key]; ok {
		return s
	}
	found := n.finder.Find(m)
	s := &sources{unchecked: found.Unchecked, err: found.Err}
	files := n.files
	if slices.ContainsFunc(found.Objects, isWhole) {
		files = nil // whoever lacks something has it from a brother
	}
	for _, o := range found.Objects {
		s.resolvers = append(s.resolvers, symbol.NewResolver(o, files))
		s.paths = append(s.paths, o.Path)
	}
	n.known[key] = s
	return s
}

// isWhole reports whether m has both symbols and lines.
func isWhole(m *module.Module) bool {
	symtab, ok := m.Section(".symtab")
	return ok && len(symtab.Data) > 0 && symbol.NewDWARF(m, symbol.DebugFileOf(m), symbol.DebugLinks{}).Has()
}

// answer is what was said of one place.
type answer struct {
	frames []profile.Frame // innermost first, the function itself last
	full   bool            // more than exports were asked
}

// ask asks the files of m about places, and notes in m and out what they are.
func (n *Namer) ask(m *profile.Module, places []place, out *Outcome) map[place]answer {
	s := n.of(m)
	queries := make([]symbol.Query, len(places))
	for i, p := range places {
		queries[i] = symbol.Query(p)
	}
	best := map[place]answer{}
	out.Unchecked, out.Err = s.unchecked, s.err
	s.err = nil
	if len(s.resolvers) > 0 {
		m.DebugFile, m.Unread = "", ""
	}
	for i, r := range s.resolvers {
		found, err := r.Resolve(queries, n.opt)
		out.Err = errors.Join(out.Err, err)
		out.Files = append(out.Files, s.paths[i])
		if s.paths[i] != m.Path {
			m.DebugFile = s.paths[i]
		}
		tables := r.Tables()
		if file := r.DebugFile(); file != "" {
			out.Files = append(out.Files, file)
			m.DebugFile = file
		}
		if m.Unread == "" {
			m.Unread = r.Unread()
		}
		for k, p := range places {
			if a := (answer{found[k], isFull(tables)}); a.knowsMoreThan(best[p]) {
				best[p] = a
			}
		}
		m.Symbols = union(m.Symbols, tables)
	}
	return best
}

// isFull reports whether the tables name more than what an object exports.
func isFull(tables []string) bool {
	return slices.Contains(tables, ".symtab") || slices.Contains(tables, "pclntab")
}

// union adds to a what only b has. a is not changed.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// knowsMoreThan is the rule of [Namer.Dump].
func (a answer) knowsMoreThan(b answer) bool {
	if x, y := a.rank(), b.rank(); x != y {
		return x > y
	}
	return len(a.frames) > len(b.frames) && a.rank() > 0
}

func (a answer) rank() int {
	if len(a.frames) == 0 {
		return 0
	}
	self := &a.frames[len(a.frames)-1]
	switch {
	case self.File != "":
		return 3
	case self.Func == "":
		return 0
	case a.full:
		return 2
	}
	return 1
}
