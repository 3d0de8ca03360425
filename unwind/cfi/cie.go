package cfi

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	maxCIEs         = 1024 // bound of the cache; modules have 1 to 14
	maxAugmentation = 32   // bytes
)

// CIE is a common information entry: what FDEs share. DWARF 5 section 6.4.1.
type CIE struct {
	Offset       uint64 // in its section
	Version      uint8  // 1, 3 or 4
	Augmentation string // as stored: "", "zR", "zPLR", "zRS", "eh", …
	CodeAlign    uint64
	DataAlign    int64
	RAReg        uint64 // column of the return address, a DWARF number
	Signal       bool   // 'S': a signal trampoline, its caller was interrupted
	BKey         bool   // 'B': arm64, return addresses are signed with key B
	MTE          bool   // 'G': arm64, the stack is tagged

	sized    bool // 'z': FDEs have augmentation data, with a length before it
	fdeEnc   byte
	lsdaEnc  byte
	addrSize int
	segSize  int
	program  span

	initial    state // after the initial instructions, once ran
	initialErr error
	ran        bool
}

// span is the bytes [start, end) of a section.
type span struct {
	start int
	end   uint64
}

// parsedCIE keeps failures too: many FDEs may name the same bad CIE.
type parsedCIE struct {
	cie *CIE
	err error
}

// cie returns the CIE at offset, from the cache if it was met before.
func (s *frames) cie(offset uint64) (*CIE, error) {
	if p, ok := s.cies[offset]; ok {
		return p.cie, p.err
	}
	var p parsedCIE
	p.cie, p.err = s.parseCIE(offset)
	if s.cies == nil || len(s.cies) >= maxCIEs {
		s.cies = make(map[uint64]parsedCIE)
	}
	s.cies[offset] = p
	return p.cie, p.err
}

func (s *frames) parseCIE(offset uint64) (*CIE, error) {
	e, err := s.entry(offset)
	if err != nil {
		return nil, err
	}
	if e.terminator || !e.isCIE {
		return nil, s.formatError("CIE", offset, errors.New("no CIE is here"))
	}
	c := s.cursor(e.fields, e.end)
	cie := &CIE{Offset: offset, fdeEnc: peAbsPtr, lsdaEnc: peOmit, addrSize: s.wordSize}
	s.readCIE(&c, cie)
	if c.err != nil {
		return nil, s.formatError("CIE", offset, c.err)
	}
	cie.program = span{c.pos, e.end}
	return cie, nil
}

// readCIE reads the fields from the version to the initial instructions.
func (s *frames) readCIE(c *cursor, cie *CIE) {
	cie.Version = c.u8()
	if v := cie.Version; c.err == nil && v != 1 && v != 3 && v != 4 {
		c.fail(fmt.Errorf("version %d not supported", v))
		return
	}
	cie.Augmentation = c.augmentation()
	if cie.Version == 4 {
		cie.addrSize, cie.segSize = int(c.u8()), int(c.u8())
		if c.err == nil && (!fixedSize(cie.addrSize) || cie.segSize != 0 && !fixedSize(cie.segSize)) {
			c.fail(fmt.Errorf("address size %d with segment size %d not supported", cie.addrSize, cie.segSize))
			return
		}
	}
	if cie.Augmentation == "eh" {
		c.bytes(uint64(cie.addrSize)) // EH data of gcc 2
	}
	cie.CodeAlign = c.uleb()
	cie.DataAlign = c.sleb()
	if cie.Version == 1 {
		cie.RAReg = uint64(c.u8())
	} else {
		cie.RAReg = c.uleb()
	}
	s.readAugmentation(c, cie)
}

// fixedSize says whether numbers of n bytes are read as addresses or segments.
func fixedSize(n int) bool { return n == 2 || n == 4 || n == 8 }

// augmentation returns the string up to its 0 byte.
func (c *cursor) augmentation() string {
	if c.err != nil {
		return ""
	}
	window := c.data[c.pos:min(len(c.data), c.pos+maxAugmentation)]
	n := bytes.IndexByte(window, 0)
	if n < 0 {
		c.fail(errors.New("augmentation has no end"))
		return ""
	}
	c.pos += n + 1
	return string(window[:n])
}

// readAugmentation reads the augmentation data. Letters are those of the Linux Standard
// Base Core 5.0, section 10.6.1.1.1, and of AADWARF64 ('B', 'G').
//
// An unknown letter is refused: it may change what the FDEs hold.
func (s *frames) readAugmentation(c *cursor, cie *CIE) {
	aug := cie.Augmentation
	if aug == "" || aug == "eh" || c.err != nil {
		return
	}
	end := c.pos
	for i, letter := range []byte(aug) {
		switch {
		case letter == 'z' && i == 0:
			end = c.block()
			cie.sized = true
		case letter == 'L' && cie.sized:
			cie.lsdaEnc = c.u8()
		case letter == 'R' && cie.sized:
			cie.fdeEnc = c.u8()
		case letter == 'P' && cie.sized:
			c.present(c.u8(), cie.addrSize, s.bases)
		case letter == 'S':
			cie.Signal = true
		case letter == 'B':
			cie.BKey = true
		case letter == 'G':
			cie.MTE = true
		default:
			c.fail(fmt.Errorf("augmentation %q not supported", aug))
		}
		if c.err != nil {
			return
		}
	}
	if !cie.sized {
		return
	}
	if c.pos > end {
		c.fail(fmt.Errorf("augmentation data exceeds its length by %d bytes", c.pos-end))
		return
	}
	c.pos = end
}
