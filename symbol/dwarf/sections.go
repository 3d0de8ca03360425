package dwarf

import (
	"fmt"
	"math"
)

// sectionID is the number of a section in Data.sections.
type sectionID int

const (
	secInfo sectionID = iota
	secTypes
	secAbbrev
	secStr
	secLineStr
	secStrOffsets
	secAddr
	secLine
	secRanges
	secRngLists
	secAranges
	secCUIndex
	secTUIndex
	sectionCount
)

var sectionNames = [sectionCount]string{".debug_info", ".debug_types", ".debug_abbrev", ".debug_str",
	".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_line", ".debug_ranges",
	".debug_rnglists", ".debug_aranges", ".debug_cu_index", ".debug_tu_index"}

// section is one section, asked for once.
type section struct {
	loaded bool
	data   []byte
	err    error
	kept   int // bytes that tables which stay were made of
}

func (d *Data) sectionName(id sectionID) string {
	if d.split && id != secCUIndex && id != secTUIndex {
		return sectionNames[id] + ".dwo"
	}
	return sectionNames[id]
}

// data returns a section, nil if there is none or it cannot be had.
func (d *Data) data(id sectionID) []byte {
	s := &d.sections[id]
	if !s.loaded {
		s.loaded = true
		s.data, s.err = d.o.Section(d.sectionName(id))
		if len(s.data) > math.MaxInt32 && math.MaxInt == math.MaxInt32 {
			s.data, s.err = nil, fmt.Errorf("%s has %d bytes: too many", d.sectionName(id), len(s.data))
		}
		d.left += budgetFactor * int64(len(s.data))
	}
	if s.err != nil {
		d.problem(s.err)
	}
	return s.data
}

// keep reports whether a table made of n bytes of a section may stay. All of them are in bounds unless
// they overlap, as only those of a hostile file do: kept call after call, these would add up.
func (d *Data) keep(id sectionID, n int) bool {
	s := &d.sections[id]
	if n > keptFactor*len(s.data)-s.kept {
		d.problem(ErrBudget)
		return false
	}
	s.kept += n
	return true
}

// reader returns a reader of a section from off on.
func (d *Data) reader(id sectionID, off uint64) reader {
	return readerAt(d.data(id), off, d.o.Big)
}
