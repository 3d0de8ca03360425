package symbol

import (
	"cmp"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// relocations are the types that fill a slot of the GOT with a function's address: GLOB_DAT, JUMP_SLOT, IRELATIVE.
// Source: System V ABI supplements for AMD64 and i386, "Relocation Types"; ELF for the Arm 64-bit Architecture, 5.7.
type relocations struct{ globDat, jumpSlot, relative uint32 }

func relocationsOf(machine uint16) relocations {
	switch machine {
	case em386:
		return relocations{6, 7, 42}
	case emAArch64:
		return relocations{1025, 1026, 1032}
	}
	return relocations{6, 7, 37}
}

const (
	maxGOTSlots      = 1 << 20 // kept in memory
	slotSize         = 96      // bytes that a slot takes there, about
	slotCost         = 100     // steps of a [work.Budget] that it takes to keep it
	inPlaceWordBytes = 4
)

// load reads the relocations of the GOT once.
func (s *stubs) load() {
	if s.slots != nil {
		return
	}
	s.slots = map[uint64]target{}
	s.table.open()
	for _, r := range []struct {
		section string
		addend  bool
		plt     bool
	}{
		{".rela.plt", true, true}, {".rel.plt", false, true},
		{".rela.dyn", true, false}, {".rel.dyn", false, false},
		{".rela.iplt", true, false}, {".rel.iplt", false, false},
	} {
		if sec, ok := s.m.Section(r.section); ok {
			s.read(sec.Data, r.addend, r.plt)
		}
	}
}

// read takes the entries of one section, Elf32_Rel, Elf32_Rela or Elf64_Rela; the machines
// are little-endian. Those that the budget has no room for are left out, and err is set.
func (s *stubs) read(data []byte, addend, plt bool) {
	wide := s.m.Class() == 8
	word, types := s.m.Class(), relocationsOf(s.m.Machine())
	size := 2 * word
	if addend {
		size += word
	}
	budget := s.m.Budget()
	left := budget.Purse()
	for ; len(data) >= size && len(s.slots) < maxGOTSlots && len(s.indexed) < maxGOTSlots; data = data[size:] {
		if !left.Spend(symbolCost) {
			s.err = fmt.Errorf("stubs of %q not read: %w", s.m.Path, budget.Refusal())
			return
		}
		info := number(data[word:], word)
		typ, sym := uint32(info&0xff), uint32(info>>8)
		if wide {
			typ, sym = uint32(info), uint32(info>>32)
		}
		t := target{symbol: sym}
		t.relative = typ == types.relative
		if t.relative && addend {
			t.resolver = number(data[2*word:], word)
		}
		used := t.relative || typ == types.globDat || typ == types.jumpSlot
		if used || plt {
			if !left.Spend(slotCost) || !budget.Hold(slotSize) {
				s.err = fmt.Errorf("stubs of %q not read: %w", s.m.Path, cmp.Or(budget.Err(), work.ErrMemory))
				return
			}
		}
		if plt {
			s.indexed = append(s.indexed, t)
		}
		if used {
			s.slots[number(data, word)] = t
		}
	}
}

// inPlace reads the addend that REL entries keep in the slot itself.
func (s *stubs) inPlace(slot uint64) uint64 {
	if b, ok := s.m.Loaded(module.Vaddr(slot)); ok && len(b) >= inPlaceWordBytes {
		return number(b, inPlaceWordBytes)
	}
	return 0
}

// number reads a little-endian integer of 4 or 8 bytes.
func number(b []byte, size int) uint64 {
	var v uint64
	for i := range size {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}
