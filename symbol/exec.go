package symbol

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
)

// execRanges are the places of code in an object, by section number and as address ranges.
type execRanges struct {
	sections []span // index is the section's number; empty if not executable
	tabled   bool   // the object has a section table that knows code
	segments []span // ascending, apart from each other
}

type span struct{ start, end uint64 }

func (s span) holds(v uint64) bool { return v >= s.start && v < s.end }

func executable(m *module.Module) execRanges {
	var x execRanges
	sections := m.Sections()
	x.sections = make([]span, len(sections))
	for i, s := range sections {
		if end := uint64(s.Addr) + s.Size; s.Flags&module.SHFExecInstr != 0 && end > uint64(s.Addr) {
			x.sections[i] = span{uint64(s.Addr), end}
			x.tabled = true
		}
	}
	for _, p := range m.Segments() {
		if end := uint64(p.Addr) + p.MemSz; p.Type == module.PTLoad && p.Flags&module.PFX != 0 && end > uint64(p.Addr) {
			x.segments = append(x.segments, span{uint64(p.Addr), end})
		}
	}
	x.segments = apart(x.segments)
	return x
}

// apart sorts spans, and takes from each what one that begins before it has, so that the one of an
// address is found by halves: a file may have 65,000, and ask for each of a million symbols.
func apart(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	out, end := spans[:0], uint64(0)
	for _, s := range spans {
		if s.start = max(s.start, end); s.start < s.end {
			out, end = append(out, s), s.end
		}
	}
	return out
}

// end returns the end of the executable section that a symbol of section shndx at v lies in.
// Where there is no section table, or no room for the number in st_shndx, it is the
// executable segment.
func (x *execRanges) end(shndx uint16, v uint64) (uint64, bool) {
	if x.tabled && shndx != shnXIndex {
		if int(shndx) >= len(x.sections) || !x.sections[shndx].holds(v) {
			return 0, false
		}
		return x.sections[shndx].end, true
	}
	if shndx >= shnLoReserve && shndx != shnXIndex {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(x.segments, v, func(s span, v uint64) int { return cmp.Compare(s.start, v) })
	if !found {
		i--
	}
	if i < 0 || !x.segments[i].holds(v) {
		return 0, false
	}
	return x.segments[i].end, true
}
