package symbol

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// execRanges are the places of code in an object, by section number and as address ranges.
type execRanges struct {
	sections []span            // index is the section's number; empty if not executable
	tabled   bool              // the object has a section table that knows code
	segments mem.Spans[uint64] // a file may have 65,000, and ask for each of a million symbols
}

// span is a range of link addresses.
type span = mem.Span[uint64]

func executable(m *module.Module) execRanges {
	var x execRanges
	sections := m.Sections()
	x.sections = make([]span, len(sections))
	for i, s := range sections {
		if end := uint64(s.Addr) + s.Size; s.Flags&module.SHFExecInstr != 0 && end > uint64(s.Addr) {
			x.sections[i] = span{Start: uint64(s.Addr), End: end}
			x.tabled = true
		}
	}
	x.segments = loaded(m, module.PFX)
	return x
}

// loaded is where m is in memory with any of some permissions.
func loaded(m *module.Module, flags uint32) (all mem.Spans[uint64]) {
	for _, p := range m.Segments() {
		if end := uint64(p.Addr) + p.MemSz; p.Type == module.PTLoad && p.Flags&flags != 0 && end > uint64(p.Addr) {
			all = append(all, span{Start: uint64(p.Addr), End: end})
		}
	}
	return mem.Joined(all)
}

// end returns the end of the executable section that a symbol of section shndx at v lies in.
// Where there is no section table, or no room for the number in st_shndx, it is the
// executable segment.
func (x *execRanges) end(shndx uint16, v uint64) (uint64, bool) {
	if x.tabled && shndx != shnXIndex {
		if int(shndx) >= len(x.sections) || !x.sections[shndx].Holds(v) {
			return 0, false
		}
		return x.sections[shndx].End, true
	}
	if shndx >= shnLoReserve && shndx != shnXIndex {
		return 0, false
	}
	in, ok := x.segments.Find(v)
	return in.End, ok
}
