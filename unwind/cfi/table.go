package cfi

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// Section is the bytes of a section and the address it is linked at. No Data: the module
// has no such section. Data may be a mapped file; it is not copied, and must stay readable
// while the Table or a Row made from it is in use.
type Section struct {
	Addr uint64
	Data []byte
}

// Config is what a Table is made from.
type Config struct {
	EHFrame    Section
	EHFrameHdr Section
	DebugFrame Section // not compressed
	WordSize   int     // bytes of an address: 4 or 8
	Order      binary.ByteOrder
	// TextBase and DataBase are what textrel and datarel pointers of .eh_frame add to, link
	// addresses (of .text and the global offset table on 386); 0 if not known.
	TextBase, DataBase uint64
	// AArch64 says that the opcodes 0x2c and 0x2d change whether the return address is
	// signed. Elsewhere they are refused.
	AArch64 bool
	// Budget bounds the work of all questions together; nil: nothing does.
	Budget *work.Budget
}

// Table finds the rows of one module. It is for one goroutine at a time; rows may be read
// by any.
type Table struct {
	header    *header
	headerErr error
	eh, debug *frames
	program   program
	spareRows []Row
	spareRegs []RegRule
	chunk     int // rows to allocate next
	budget    *work.Budget
}

// New returns the Table of a module. It reads a few bytes; sections without a search table
// are walked when an address is first looked up.
//
// Precondition: cfg.WordSize is 4 or 8 and cfg.Order is not nil.
func New(cfg Config) *Table {
	big := bigEndian(cfg.Order)
	section := func(name string, s Section) *frames {
		return &frames{
			name: name, data: s.Data, eh: name == ".eh_frame", wordSize: cfg.WordSize, big: big, budget: cfg.Budget,
			bases: bases{section: s.Addr, text: cfg.TextBase, data: cfg.DataBase},
		}
	}
	t := &Table{
		eh: section(".eh_frame", cfg.EHFrame), debug: section(".debug_frame", cfg.DebugFrame),
		chunk: 8, budget: cfg.Budget,
	}
	t.program.aarch64 = cfg.AArch64
	if len(cfg.EHFrameHdr.Data) != 0 {
		t.header, t.headerErr = newHeader(&cfg, big)
	}
	return t
}

// Row returns the rules for pc, a link address: an interrupted PC as it is, a return
// address minus one. It keeps no rows: who asks for the same pc again and again keeps them.
//
// It fails with ErrNoFDE if no entry covers pc and with a *FormatError if the entry is
// malformed, if its row is bogus, or if the budget does not suffice for it.
func (t *Table) Row(pc uint64) (*Row, error) {
	s, f, err := t.find(pc)
	if err != nil {
		return nil, err
	}
	return t.interpret(s, &f, pc)
}

// FDE returns the entry that covers pc, a link address. It fails as Row does.
func (t *Table) FDE(pc uint64) (FDE, error) {
	_, f, err := t.find(pc)
	return f, err
}

// find looks in .eh_frame, by its header if there is one, then in .debug_frame.
func (t *Table) find(pc uint64) (*frames, FDE, error) {
	f, err := t.findEH(pc)
	if err == nil {
		return t.eh, f, nil
	}
	f, debugErr := t.debug.find(pc)
	if debugErr == nil {
		return t.debug, f, nil
	}
	if err == ErrNoFDE { // says less than any other
		err = debugErr
	}
	return nil, FDE{}, err
}

// findEH searches .eh_frame. A header that proves wrong is not used again.
func (t *Table) findEH(pc uint64) (FDE, error) {
	if t.header != nil {
		f, err := t.findByHeader(pc)
		if t.headerErr == nil {
			return f, err
		}
		t.header = nil
	}
	f, err := t.eh.find(pc)
	if t.headerErr != nil && len(t.eh.data) == 0 {
		return FDE{}, t.headerErr
	}
	return f, err
}

// findByHeader sets headerErr if the header contradicts itself or the FDE.
func (t *Table) findByHeader(pc uint64) (FDE, error) {
	p, ok, err := t.header.search(pc)
	if err != nil {
		t.headerErr = err
		return FDE{}, err
	}
	if !ok {
		return FDE{}, ErrNoFDE
	}
	f, err := t.eh.fde(p.fde - t.eh.bases.section)
	if err != nil {
		return FDE{}, err
	}
	if f.Start != p.start {
		t.headerErr = headerError(p.at, fmt.Errorf("pair says %#x, its FDE starts at %#x", p.start, f.Start))
		return FDE{}, t.headerErr
	}
	if !f.covers(pc) {
		return FDE{}, ErrNoFDE
	}
	return f, nil
}

// find searches a section without a table.
func (s *frames) find(pc uint64) (FDE, error) {
	x := s.walked()
	offset, ok := x.search(pc)
	if !ok {
		return FDE{}, x.none
	}
	return s.fde(offset)
}
