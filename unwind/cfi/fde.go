package cfi

import (
	"errors"
	"fmt"
)

// FDE is a frame description entry: the range of code it covers and where its rules are.
type FDE struct {
	// [Start, End) are the link addresses covered. Start is the entry of a function, or of
	// a part of one that the compiler placed apart (.cold), or an address a byte before it
	// (glibc's signal trampolines).
	Start, End uint64
	Section    string // ".eh_frame" or ".debug_frame"
	Offset     uint64 // in Section
	CIE        *CIE   // shared, not to be changed
	HasLSDA    bool   // the range has landing pads or clean-ups

	program span
}

func (f *FDE) covers(pc uint64) bool { return f.Start <= pc && pc < f.End }

// fde reads the FDE at offset.
func (s *frames) fde(offset uint64) (FDE, error) {
	e, err := s.entry(offset)
	if err != nil {
		return FDE{}, err
	}
	if e.terminator || e.isCIE {
		return FDE{}, s.formatError("FDE", offset, errors.New("no FDE is here"))
	}
	return s.readFDE(&e)
}

func (s *frames) readFDE(e *entry) (FDE, error) {
	cie, err := s.cie(e.cie)
	if err != nil {
		return FDE{}, err
	}
	c := s.cursor(e.fields, e.end)
	if cie.segSize != 0 {
		if selector := c.unsigned(cie.segSize); selector != 0 {
			c.fail(fmt.Errorf("segment selector %#x not supported", selector))
		}
	}
	f := FDE{Section: s.name, Offset: e.offset, CIE: cie}
	f.Start = c.pointer(cie.fdeEnc, cie.addrSize, s.bases)
	size := c.raw(cie.fdeEnc, cie.addrSize)
	f.End = f.Start + size
	if c.err == nil && (f.End < f.Start || truncate(f.End, cie.addrSize) != f.End) {
		c.fail(fmt.Errorf("range %#x+%#x exceeds the address space", f.Start, size))
	}
	if cie.sized {
		end := c.block()
		if end > c.pos {
			f.HasLSDA = c.present(cie.lsdaEnc, cie.addrSize, s.bases)
		}
		if c.pos > end {
			c.fail(errors.New("LSDA pointer exceeds the augmentation data"))
		}
		c.pos = end
	}
	if c.err != nil {
		return FDE{}, s.formatError("FDE", e.offset, c.err)
	}
	f.program = span{c.pos, e.end}
	return f, nil
}
