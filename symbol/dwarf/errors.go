package dwarf

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// ErrBudget says that the sections ask for more work than their size justifies.
var ErrBudget = errors.New("debug information takes too much work to read")

// errNoAlt says that names are in a file that is not at hand.
var errNoAlt = errors.New("names are in the supplementary file of dwz (.gnu_debugaltlink), which was not found")

// FormatError says which part of a section cannot be right.
type FormatError struct {
	Section string
	Offset  uint64
	What    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("parse %s+%#x: %s", e.Section, e.Offset, e.What)
}

// Bounds. A program stays far below each of them.
const (
	maxProblems = 8        // errors kept of one call
	maxUnits    = 1 << 22  // units of one section
	maxDepth    = 1 << 12  // entries inside of each other
	maxInline   = 256      // inlined calls inside of each other
	maxHops     = 16       // references from an entry to the one with its name
	maxString   = 16 << 10 // bytes of a name or path
	maxFiles    = 1 << 20  // files or directories of one line table
	maxAttrs    = 1 << 16  // attributes of an abbreviation
	maxClaims   = 1 << 22  // ranges kept for later calls
	maxScopes   = 64       // namespaces and classes around a function

	// keptFactor is how often the bytes of a section may be made a table: abbreviations once more for units
	// with other sizes of addresses and offsets.
	keptFactor = 2

	// What is kept, bytes in memory about: of each byte of an abbreviation, of a file or directory of a line
	// table, of a unit that .debug_aranges lists, of a type unit, of a range.
	tableSize, fileSize, listedSize, signatureSize, claimSize = 16, 40, 48, 64, 24

	// often is how many bytes are read at most before the budget is asked.
	often = 64 << 10

	// rangeCost is the steps that are counted for a range that is remembered.
	rangeCost = 32

	// A call may take baseBudget steps, and budgetFactor for each byte of the sections that it
	// goes through. A step is about one byte read or copied, or one address compared.
	baseBudget   = 16 << 20
	budgetFactor = 8
)

func (d *Data) problem(err error) {
	if err == nil || len(d.problems) >= maxProblems && err != ErrBudget && err != work.ErrSpent &&
		err != work.ErrMemory {
		return
	}
	for _, p := range d.problems {
		if p.Error() == err.Error() {
			return
		}
	}
	d.problems = append(d.problems, err)
}

// problemCost is the steps that it takes to word a problem: a section may consist of them.
const problemCost = 500

func (d *Data) malformed(id sectionID, off uint64, format string, args ...any) {
	if len(d.problems) >= maxProblems || !d.spend(problemCost) {
		return
	}
	d.problem(&FormatError{Section: d.sectionName(id), Offset: off, What: fmt.Sprintf(format, args...)})
}

// begin makes d and the files that belong to it ready for one call.
func (d *Data) begin() {
	d.problems = nil
	d.left = baseBudget
	for id := range d.sections {
		d.left += budgetFactor * int64(len(d.sections[id].data))
	}
	for _, other := range d.files() {
		other.begin()
	}
}

// end returns the problems of one call.
func (d *Data) end() error {
	errs := d.problems
	for _, other := range d.files() {
		errs = append(errs, other.end())
	}
	return errors.Join(errs...)
}

// files are the further files that d has asked, at most maxUnits.
func (d *Data) files() []*Data {
	if d.o.Alt == nil {
		return d.splits
	}
	return append(d.splits[:len(d.splits):len(d.splits)], d.o.Alt)
}

// hold reports whether there is room for n bytes that are kept. Without it the call ends.
func (d *Data) hold(n int) bool {
	if !d.o.Budget.Hold(int64(n)) {
		d.left = 0
		d.problem(work.ErrMemory)
		return false
	}
	return true
}

// spend takes n steps from the budgets of the call and of the run, false if they are not left.
func (d *Data) spend(n int) bool {
	if !d.purse.Spend(int64(n)) {
		d.left = 0
		d.problem(d.o.Budget.Refusal())
		return false
	}
	if int64(n) > d.left {
		d.left = 0
		d.problem(ErrBudget)
		return false
	}
	d.left -= int64(n)
	return true
}
