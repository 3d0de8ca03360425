// Package dwarf answers for code addresses which functions were inlined there, in which files
// and lines, out of the DWARF sections of one object.
//
// The caller provides the sections as bytes, the bounds of the object's code, and, where
// there are such files, the supplementary one of dwz and the split ones. Addresses are those of
// the link. Sections are read in place and never copied: they may be a mapping of a file of
// gigabytes. A section is asked for when it is first needed.
//
// Units are found by .debug_aranges, and those that it leaves out by their root entries, so
// that only units which hold a wanted address are read whole. Many addresses asked at once cost little
// more than one.
//
// It guarantees bounded work on any bytes: no panic, no endless chain of references, and a
// budget of steps in proportion to the sections ([ErrBudget]). What could be read is returned
// together with the error that cut it short. Names are those of the sections and may hold any bytes.
//
// It knows no files and no processes, no types, variables or unwind tables, and demangles
// nothing. It follows the DWARF Debugging Information Format, versions 2 to 5; the GNU
// extensions for split units (gcc.gnu.org/wiki/DebugFission, DebugFissionDWP) and for
// supplementary files (DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt).
package dwarf

import (
	"slices"

	"github.com/fpstack/fpstack/work"
)

// Object is what the DWARF of one object is read from.
type Object struct {
	// Section returns the contents of a section by its name (".debug_info"), inflated, nil if
	// there is none. It is called once for each section that is needed. The bytes must stay
	// as they are while the Data is used.
	Section func(name string) ([]byte, error)
	Big     bool // big-endian
	// Low and High bound the addresses of code, [Low, High). Whatever the sections say of
	// other addresses belongs to code that the linker dropped: it leaves 0, 1 or -1 there.
	Low, High uint64
	// Alt is the supplementary file that dwz made (.gnu_debugaltlink, .debug_sup), nil if it is
	// not at hand.
	Alt *Data
	// Split opens the file with the rest of a split unit: a .dwo or a .dwp, as Data of
	// [NewSplit]. It may be nil; it is asked once for each unit.
	Split func(Skeleton) (*Data, error)
	// Budget bounds the work of all calls together, and what is kept between them; nil: nothing does.
	Budget *work.Budget
}

// Skeleton names the split part of a unit.
type Skeleton struct {
	Name    string // DW_AT_dwo_name, often relative
	CompDir string // DW_AT_comp_dir, what Name is relative to
	ID      uint64
}

// Call is one function at an address.
type Call struct {
	// Name is the function's, with its namespaces and classes where the language has those and
	// Linkage is empty; "" if unknown.
	Name    string
	Linkage string // the mangled name, "" if there is none
	// File is joined with its directory and that of the compilation, as the compiler wrote
	// them; "" if unknown.
	File string
	Line int // 0 if unknown, or if the code belongs to no line
	// Start is the first address of the part of the function that holds the address,
	// if HasStart; not of inlined calls.
	Start    uint64
	HasStart bool
}

// Data is the DWARF of one object. It is for one goroutine at a time.
type Data struct {
	o        Object
	split    bool // sections are named ".debug_info.dwo"
	sections [sectionCount]section

	starts  []uint64 // offsets of all units in .debug_info, when scanned
	scanned bool
	units   map[place]*unit
	abbrevs map[abbrevKey]*abbrevs
	sigs    map[uint64]place // type units by signature, when scanned
	index   [2]*packageIndex // of a .dwp: compilation and type units; nil if none, when opened
	opened  bool
	claims  claims
	splits  []*Data // opened for units of this one

	left     int64 // steps of the running call
	purse    work.Purse
	problems []error
}

// place is where a unit begins.
type place struct {
	types bool // in .debug_types
	off   uint64
}

// New returns the DWARF of an object. It reads nothing yet.
func New(o Object) *Data {
	return &Data{o: o, units: map[place]*unit{}, abbrevs: map[abbrevKey]*abbrevs{}, purse: o.Budget.Purse()}
}

// NewSplit returns the DWARF of a .dwo or .dwp file, for [Object].Split.
func NewSplit(o Object) *Data {
	d := New(o)
	d.split = true
	return d
}

// Calls returns for each address the calls there, innermost first, the function itself last;
// nil for an address that no unit holds. Where a unit has lines but no function, it is one Call
// without a name.
//
// The error says why something may be missing, and comes with the results that could be had.
func (d *Data) Calls(addrs []uint64) ([][]Call, error) {
	want := slices.Clone(addrs)
	slices.Sort(want)
	want = slices.Compact(want)
	d.begin()
	found := d.find(want)
	out := make([][]Call, len(addrs))
	for i, v := range addrs {
		at, _ := slices.BinarySearch(want, v)
		out[i] = found[at]
	}
	return out, d.end()
}

// find answers for want, which is sorted and has each address once.
func (d *Data) find(want []uint64) [][]Call {
	out := make([][]Call, len(want))
	if len(want) == 0 || len(d.data(secInfo)) == 0 {
		return out
	}
	byUnit := d.locate(want)
	var searches []*search
	for _, h := range byUnit {
		u := d.unit(place{off: h.unit})
		if u == nil || !u.open() {
			continue
		}
		s := newSearch(u, want, h.wanted)
		s.run()
		searches = append(searches, s)
	}
	nameAll(searches)
	for _, s := range searches {
		s.answer(out)
	}
	return out
}
