package symbol

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol/dwarf"
	"github.com/fpstack/fpstack/work"
)

// DebugFile is a file that holds DWARF: the object with the code, its separate debug file, the
// supplementary file of dwz, a .dwo or a .dwp. Its sections must stay readable while the [DWARF]
// made of it is used.
type DebugFile struct {
	Path string // for errors
	// Section finds a section as it is in the file, compressed ones with Compressed set.
	Section func(name string) (module.Section, bool)
	Order   binary.ByteOrder
	Class   int // size of addresses in the file's headers, 4 or 8 bytes
	// Budget bounds what is inflated and read of it; nil: nothing does.
	Budget *work.Budget
}

// DebugFileOf returns m as a file with its own DWARF.
func DebugFileOf(m *module.Module) DebugFile {
	return DebugFile{Path: m.Path, Section: m.Section, Order: m.Order(), Class: m.Class(), Budget: m.Budget()}
}

// DebugLinks is where further parts of the DWARF are.
type DebugLinks struct {
	// Alt is the supplementary file that .gnu_debugaltlink or .debug_sup names, nil if it is
	// not at hand.
	Alt *DebugFile
	// Split opens the .dwo or .dwp that holds a unit; it may be nil. For a file that holds
	// several units it returns the same pointer each time.
	Split func(dwarf.Skeleton) (*DebugFile, error)
}

// DWARF is a [DebugInfo] of lines and inlined calls. It reads and inflates nothing until it is asked. It
// is for one goroutine at a time.
type DWARF struct {
	path  string
	has   bool
	data  *dwarf.Data
	links DebugLinks
	low   uint64
	high  uint64
	split map[*DebugFile]*dwarf.Data

	budget *work.Budget
}

// NewDWARF returns what file says of the code in m. The file may be the module itself.
func NewDWARF(m *module.Module, file DebugFile, links DebugLinks) *DWARF {
	s := &DWARF{path: file.Path, links: links, split: map[*DebugFile]*dwarf.Data{}}
	if m.Err != nil || !hasInfo(file) {
		return s
	}
	s.has, s.budget = true, file.Budget
	s.low, s.high = codeBounds(m)
	o := s.object(file)
	if links.Alt != nil {
		o.Alt = dwarf.New(s.object(*links.Alt))
	}
	if links.Split != nil {
		o.Split = s.open
	}
	s.data = dwarf.New(o)
	return s
}

func hasInfo(file DebugFile) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s, ok := file.Section(name); ok && len(s.Data) > 0 {
			return true
		}
	}
	return false
}

func (s *DWARF) object(file DebugFile) dwarf.Object {
	return dwarf.Object{
		Section: func(name string) ([]byte, error) { return debugSection(file, name) },
		Big:     file.Order == binary.ByteOrder(binary.BigEndian),
		Low:     s.low, High: s.high,
		Budget: file.Budget,
	}
}

// open opens the split part of a unit.
func (s *DWARF) open(k dwarf.Skeleton) (*dwarf.Data, error) {
	file, err := s.links.Split(k)
	if err != nil || file == nil {
		return nil, err
	}
	d, ok := s.split[file]
	if !ok {
		d = dwarf.NewSplit(s.object(*file))
		s.split[file] = d
	}
	return d, nil
}

// codeBounds returns the addresses between which m has code, as its sections say. Segments serve where they say
// nothing: one with code may begin at 0, where lines and ranges of functions that the linker dropped lie.
func codeBounds(m *module.Module) (low, high uint64) {
	low = ^uint64(0)
	x := executable(m)
	spans := x.sections
	if !x.tabled {
		spans = x.segments
	}
	for _, s := range spans {
		if s.End > s.Start {
			low, high = min(low, s.Start), max(high, s.End)
		}
	}
	return low, high
}

// Has reports whether there is any DWARF.
func (s *DWARF) Has() bool { return s.has }

// Calls implements [DebugInfo]. The last of the calls at an address has a Start, that of the part of the
// function which holds the address.
func (s *DWARF) Calls(addrs []module.Vaddr) ([][]Call, error) {
	out := make([][]Call, len(addrs))
	if !s.has {
		return out, nil
	}
	err := module.Guard(s.path, func() error {
		plain := make([]uint64, len(addrs))
		for i, v := range addrs {
			plain[i] = uint64(v)
		}
		found, err := s.data.Calls(plain)
		names := map[string]string{}
		for i, calls := range found {
			out[i] = fromDWARF(calls, names, s.budget)
		}
		if err != nil && !errors.Is(err, module.ErrShrunk) {
			err = fmt.Errorf("read lines of %q: %w", s.path, err)
		}
		return err
	})
	return out, err
}

// fromDWARF returns calls with readable names. names holds those that were demangled so far: many addresses
// are in few functions.
func fromDWARF(calls []dwarf.Call, names map[string]string, b *work.Budget) []Call {
	if calls == nil {
		return nil
	}
	out := make([]Call, len(calls))
	for i, c := range calls {
		out[i] = Call{Func: c.Name, Linkage: c.Linkage, File: c.File, Line: c.Line,
			Start: module.Vaddr(c.Start), HasStart: c.HasStart}
		if c.Linkage != "" {
			name, ok := names[c.Linkage]
			if !ok {
				name = demangleWithin(b, c.Linkage)
				names[c.Linkage] = name
			}
			out[i].Func = name
		}
	}
	return out
}
