package resolve

import (
	"path"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// Nameless returns the logical frame of f where it lies in code that the process made and that nobody names: its
// mapping is its function, "[jit anon:name]" by the name of the mapping or "[jit 0x7f0123456000]" by its start, Offset
// is from there, and Kind is Unknown. So all code of a mapping is one function to tables and pictures. It is false for
// other code, and without a table.
func Nameless(table *maps.Table, f *unwind.Frame) (profile.Frame, bool) {
	at := table.Find(placeOf(f).lookup)
	if at == nil || !at.MayBeMade() || f.Module != nil && !f.Module.Made() {
		return profile.Frame{}, false
	}
	name := strings.TrimSuffix(strings.TrimPrefix(at.Path, "["), "]")
	if at.IsFile() {
		name = path.Base(at.Path)
	}
	return profile.Frame{Kind: profile.Unknown, Func: profile.JITName(name, uint64(at.Start)),
		Offset: uint64(f.PC-at.Start) + uint64(at.Offset)}, true
}

// enter gives the frames of m that have no name their Offset in the function which the unwind table says they are in:
// so all addresses of it are one function.
func (n *Names) enter(m *module.Module, queries []symbol.Query, frames [][]profile.Frame) {
	err := module.Guard(m.Path, func() error {
		for i, q := range queries {
			last := &frames[i][len(frames[i])-1]
			if last.Func != "" {
				continue
			}
			if start, ok := n.entriesOf(m).Start(q.Lookup); ok {
				last.Offset = uint64(q.PC - start)
			}
		}
		return nil
	})
	n.problem(err)
}

func (n *Names) entriesOf(m *module.Module) *unwind.Entries {
	e, ok := n.entries[m.Object()]
	if !ok {
		if len(n.entries) >= maxShared {
			clear(n.entries)
		}
		e = unwind.NewEntries(m)
		n.entries[m.Object()] = e
	}
	return e
}
