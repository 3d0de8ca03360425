package cfi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/work"
)

// index finds the FDEs of a section that has no search table.
type index struct {
	ranges []indexed // ascending by start, then end
	// problem is the first entry that was left out, or where the walk ended early; nil if
	// the index is whole.
	problem error
	none    error // wraps ErrNoFDE, and problem if there is one
}

type indexed struct {
	start, end, offset uint64
}

// walked returns the index, made on first use.
func (s *frames) walked() *index {
	if s.index == nil {
		s.index = s.walk()
	}
	return s.index
}

// Steps of a [work.Budget] that one entry takes, and bytes that one FDE takes in memory, twice while the list grows.
const (
	entryCost = 40
	rangeSize = 48
)

// walk goes through all entries by their lengths and never back, so the section's length
// bounds it, and the budget: a section may be a hole of any length. Entries that cannot be read are left out. A
// terminator inside of the section is passed: entries of objects linked later may follow it.
//
// FDEs that start at 0 belong to functions that the linker removed, empty ones to none.
func (s *frames) walk() *index {
	x := &index{none: ErrNoFDE}
	left := s.budget.Purse()
	for offset := uint64(0); offset < uint64(len(s.data)); {
		if !left.Spend(entryCost) {
			x.note(s.budget.Refusal())
			break
		}
		e, err := s.entry(offset)
		if err != nil {
			x.note(err)
			break
		}
		if !e.terminator && !e.isCIE {
			f, err := s.readFDE(&e)
			if err != nil {
				x.note(err)
			} else if f.Start != 0 && f.End > f.Start {
				if !s.budget.Hold(rangeSize) {
					x.note(work.ErrMemory)
					break
				}
				x.ranges = append(x.ranges, indexed{f.Start, f.End, offset})
			}
		}
		offset = e.end
	}
	slices.SortFunc(x.ranges, func(a, b indexed) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	if x.problem != nil {
		x.none = fmt.Errorf("%w: %s has entries that were left out: %w", ErrNoFDE, s.name, x.problem)
	}
	return x
}

func (x *index) note(err error) {
	if x.problem == nil {
		x.problem = err
	}
}

// search returns the offset of the FDE that covers pc. Of FDEs that overlap, the one that
// starts last wins.
func (x *index) search(pc uint64) (offset uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(x.ranges, pc, func(r indexed, pc uint64) int {
		if r.start <= pc {
			return -1
		}
		return 1
	})
	if i == 0 || pc >= x.ranges[i-1].end {
		return 0, false
	}
	return x.ranges[i-1].offset, true
}
