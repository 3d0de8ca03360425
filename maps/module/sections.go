package module

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

const shfCompressed = 0x800 // SHF_COMPRESSED

const (
	// maxNames bounds the copy that is made of .shstrtab, bytes; the table of a program has
	// some 400. Names behind it are read one by one, as many bytes again.
	maxNames = 1 << 20
	// manySections are too many to look through for each name.
	manySections = 64
	// sectionSize is about what a Section takes in memory, bytes.
	sectionSize = 192
)

// section returns the index of the first section with that name, or -1.
func (im *image) section(name string) int {
	if im.byName != nil {
		if i, ok := im.byName[name]; ok {
			return i
		}
		return -1
	}
	for i := range im.sections {
		if im.sections[i].Name == name {
			return i
		}
	}
	return -1
}

// parseSections reads the section table. A table that is missing or cannot be right leaves
// the object without sections: what runs needs none of them. The second leaves word in cut.
// Source: gABI chapter 4, Sections; extended numbering by section 0.
func (im *image) parseSections() {
	h := &im.head
	if h.shOff == 0 || im.chunks != nil { // what is in memory seldom has the table
		return
	}
	im.cut = fmt.Errorf("section table at %#x with %d entries cannot be read", h.shOff, h.shNum)
	first, ok := im.sectionHeader(0)
	if !ok {
		return
	}
	n, names := h.shNum, h.shStrIndex
	if n == 0 {
		n = first.Size
	}
	if names == xIndex {
		names = uint64(first.Link)
	}
	if n == 0 || n > maxSections || names >= n {
		return
	}
	if _, ok := im.fileBytes(h.shOff, n*h.shEntSize); !ok {
		return
	}
	if cost := int64(n) * sectionSize; !im.budget.Hold(cost) || !im.budget.Spend(cost) {
		im.cut = fmt.Errorf("section table at %#x with %d entries is not read: %w", h.shOff, n,
			cmp.Or(im.budget.Err(), work.ErrMemory))
		return
	}
	strtab, _ := im.sectionHeader(names)
	nameOf := im.names(&strtab)
	im.cut = nil
	im.sections = make([]Section, n)
	for i := range im.sections {
		s, name := im.sectionAt(uint64(i))
		s.Name = nameOf(name)
		im.sections[i] = s
	}
	if n > manySections {
		im.byName = make(map[string]int, n)
		for i := range im.sections {
			if _, ok := im.byName[im.sections[i].Name]; !ok {
				im.byName[im.sections[i].Name] = i
			}
		}
	}
}

// names returns a function from sh_name to the name, "" for one outside of the table.
func (im *image) names(strtab *Section) func(uint32) string {
	b := strtab.Data
	all := string(b[:min(len(b), maxNames)]) // one copy for all names
	apart := maxNames
	return func(at uint32) string {
		if uint64(at) >= uint64(len(b)) {
			return ""
		}
		n := bytes.IndexByte(b[at:min(len(b), int(at)+maxName)], 0)
		if n < 0 {
			return ""
		}
		if int(at)+n <= len(all) {
			return all[at : int(at)+n]
		}
		if apart -= n; apart < 0 {
			return ""
		}
		return string(b[at : int(at)+n])
	}
}

// maxName bounds the name of a section, bytes.
const maxName = 4 << 10

// sectionHeader reads one section header, false where there is none.
func (im *image) sectionHeader(i uint64) (Section, bool) {
	size := uint64(40)
	if im.class == 8 {
		size = 64
	}
	h := &im.head
	if h.shOff == 0 || h.shEntSize < size || i > maxSections {
		return Section{}, false
	}
	if h.shOff+i*h.shEntSize < h.shOff {
		return Section{}, false
	}
	if _, ok := im.fileBytes(h.shOff+i*h.shEntSize, size); !ok {
		return Section{}, false
	}
	s, _ := im.sectionAt(i)
	return s, true
}

// sectionAt decodes one Elf32_Shdr or Elf64_Shdr that is known to be in the file, and sh_name.
func (im *image) sectionAt(i uint64) (s Section, name uint32) {
	size := uint64(4 * 10)
	if im.class == 8 {
		size = 64
	}
	b, ok := im.fileBytes(im.head.shOff+i*im.head.shEntSize, size)
	if !ok {
		return s, 0
	}
	o, w := im.order, im.class
	s = Section{
		Type: o.Uint32(b[4:]), Flags: im.word(b[8:]), Addr: Vaddr(im.word(b[8+w:])),
		Size: im.word(b[8+3*w:]), Link: o.Uint32(b[8+4*w:]), Info: o.Uint32(b[12+4*w:]),
		EntSize: im.word(b[16+5*w:]),
	}
	off := im.word(b[8+2*w:])
	s.Offset = clampOffset(off)
	s.Compressed = s.Flags&shfCompressed != 0
	if s.Type != SHTNobits && s.Type != 0 { // SHT_NULL
		s.Data, _ = im.fileBytes(off, s.Size)
	}
	return s, o.Uint32(b)
}
