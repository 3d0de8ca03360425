package resolve

import (
	"path"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/profile"
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
