package corefile

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/maps"
)

// Numbers of elf.h.
const (
	etCore = 4      // ET_CORE
	ptLoad = 1      // PT_LOAD
	ptNote = 4      // PT_NOTE
	pnXNum = 0xffff // PN_XNUM: the number of program headers is sh_info of section 0
	pfX    = 1      // PF_X
	pfW    = 2      // PF_W
	pfR    = 4      // PF_R
)

// Sizes of the ELF header, of a program header and of a section header, bytes.
func (w *writer) sizes() (head, program, section uint64) {
	if w.p.Arch.WordSize == 4 {
		return 52, 32, 40
	}
	return 64, 56, 64
}

// programs is the number of program headers.
func (w *writer) programs() uint64 { return uint64(1 + len(w.segments)) }

// headerSize is that of all headers.
func (w *writer) headerSize() uint64 {
	head, program, section := w.sizes()
	n := head + w.programs()*program
	if w.programs() >= pnXNum {
		n += section
	}
	return n
}

// finish writes notes and headers, and gives the file its size. Headers come last: they say what is there.
func (w *writer) finish() error {
	if _, err := w.f.WriteAt(w.notes, int64(w.notesAt)); err != nil {
		return err
	}
	w.result.Size = int64(w.notesAt) + int64(len(w.notes))
	for i := range w.segments {
		if s := &w.segments[i]; s.held > 0 {
			w.result.Size = max(w.result.Size, int64(s.off+s.held))
		}
	}
	if _, err := w.f.WriteAt(w.headers(), 0); err != nil {
		return err
	}
	return w.f.Truncate(w.result.Size)
}

// headers are the ELF header, the program headers and, where there are many, the section header that counts them.
// Source: elf(5).
func (w *writer) headers() []byte {
	head, program, section := w.sizes()
	a := newAppender(w.p.Arch)
	class, data := byte(2), byte(1)
	if a.word == 4 {
		class = 1
	}
	if w.p.Arch.Order == binary.ByteOrder(binary.BigEndian) {
		data = 2
	}
	a.b = append(a.b, 0x7f, 'E', 'L', 'F', class, data, 1)
	a.zeros(16 - len(a.b))
	a.u16(etCore)
	a.u16(w.p.Arch.Machine)
	a.u32(1)
	count, sectionsAt, sections := w.programs(), uint64(0), uint16(0)
	if count >= pnXNum {
		count, sectionsAt, sections = pnXNum, head+w.programs()*program, 1
	}
	a.words(0, head, sectionsAt) // e_entry, e_phoff, e_shoff
	a.u32(0)                     // e_flags
	for _, v := range []uint16{uint16(head), uint16(program), uint16(count), uint16(section), sections, 0} {
		a.u16(v)
	}
	a.program(ptNote, 0, w.notesAt, 0, uint64(len(w.notes)), 0, 4)
	for i := range w.segments {
		s := &w.segments[i]
		off := s.off
		if s.held == 0 {
			off = 0
		}
		a.program(ptLoad, flagsOf(s.Perm), off, uint64(s.Start), s.held, uint64(s.End-s.Start), w.p.PageSize)
	}
	if sections > 0 { // sh_size is the number of sections, sh_info that of program headers
		a.u32(0)
		a.u32(0)
		a.words(0, 0, 0, 1)
		a.u32(0)
		a.u32(uint32(w.programs()))
		a.words(0, 0)
	}
	return a.b
}

// program appends a program header: the flags are at different places.
func (a *appender) program(typ, flags uint32, off, addr, held, size, align uint64) {
	a.u32(typ)
	if a.word == 8 {
		a.u32(flags)
	}
	a.words(off, addr, 0, held, size)
	if a.word == 4 {
		a.u32(flags)
	}
	a.words(align)
}

// flagsOf are the rights as p_flags has them.
func flagsOf(p maps.Perm) (flags uint32) {
	for _, f := range []struct {
		perm maps.Perm
		bit  uint32
	}{{maps.Read, pfR}, {maps.Write, pfW}, {maps.Exec, pfX}} {
		if p&f.perm != 0 {
			flags |= f.bit
		}
	}
	return flags
}
