package cfi

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// frames is .eh_frame or .debug_frame: CIEs and FDEs one after the other.
type frames struct {
	name     string
	data     []byte
	bases    bases
	eh       bool // .eh_frame: Linux Standard Base Core 5.0, section 10.6
	wordSize int
	big      bool
	cies     map[uint64]parsedCIE
	index    *index // nil until the section was walked
	budget   *work.Budget
}

// entry is the head that CIEs and FDEs share.
type entry struct {
	offset, end uint64 // in the section
	fields      int    // offset of what follows the head
	cie         uint64 // FDE: offset of its CIE
	isCIE       bool
	terminator  bool // a length of 0
}

func (s *frames) formatError(kind string, offset uint64, err error) error {
	return &FormatError{Section: s.name, Entry: kind, Offset: offset, Err: err}
}

// cursor returns a cursor over [pos, end) of the section.
// Precondition: 0 <= pos <= end <= len(s.data).
func (s *frames) cursor(pos int, end uint64) cursor {
	return cursor{data: s.data[:end], pos: pos, big: s.big}
}

// entry reads the head of the entry at offset.
//
// With a 64-bit length the CIE pointer has 8 bytes in .debug_frame (DWARF 5, section 7.4)
// and 4 in .eh_frame (Linux Standard Base Core 5.0, section 10.6.1.1).
func (s *frames) entry(offset uint64) (entry, error) {
	if offset >= uint64(len(s.data)) {
		return entry{}, s.formatError("entry", offset, errors.New("outside of the section"))
	}
	c := s.cursor(int(offset), uint64(len(s.data)))
	length, idSize := c.unsigned(4), 4
	if length == 0xffffffff {
		length = c.unsigned(8)
		if !s.eh {
			idSize = 8
		}
	} else if length >= 0xfffffff0 {
		c.fail(fmt.Errorf("length %#x is reserved", length))
	}
	if c.err == nil && length == 0 {
		return entry{offset: offset, end: uint64(c.pos), terminator: true}, nil
	}
	if c.err == nil && length > uint64(len(s.data)-c.pos) {
		c.fail(fmt.Errorf("length %#x exceeds the section's %#x bytes", length, len(s.data)))
	}
	if c.err != nil {
		return entry{}, s.formatError("entry", offset, c.err)
	}
	e := entry{offset: offset, end: uint64(c.pos) + length}
	c.data = s.data[:e.end]
	place := uint64(c.pos)
	id := c.unsigned(idSize)
	if c.err == nil && !e.identify(s.eh, id, idSize, place) {
		c.fail(fmt.Errorf("CIE pointer %#x leads out of the section", id))
	}
	if c.err != nil {
		return entry{}, s.formatError("entry", offset, c.err)
	}
	e.fields = c.pos
	return e, nil
}

// identify tells CIE from FDE by the id at place and finds the FDE's CIE. It returns false
// if the id points before the section.
func (e *entry) identify(eh bool, id uint64, idSize int, place uint64) bool {
	if eh {
		e.isCIE = id == 0
		e.cie = place - id
		return id <= place
	}
	e.isCIE = id == truncate(^uint64(0), idSize)
	e.cie = id
	return true
}
