package module

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// Constants of elf.h with the meaning that this package gives them.
const (
	etRel, etExec, etDyn = 1, 2, 3 // ET_REL, ET_EXEC, ET_DYN

	ptDynamic    = 2          // PT_DYNAMIC
	ptNote       = 4          // PT_NOTE
	ptGNUEHFrame = 0x6474e550 // PT_GNU_EH_FRAME

	pnXNum = 0xffff // PN_XNUM: the number of program headers is in section 0
	xIndex = 0xffff // SHN_XINDEX: the number of .shstrtab is in section 0

	// maxSegments and maxSections bound what one object may have. Programs have some 10
	// and 40; the bound is above what 16 bits can say, because section 0 can say more.
	maxSegments = 1 << 16
	maxSections = 1 << 17
	// maxLoads bounds the segments that addresses are looked up in. The kernel itself runs
	// nothing with program headers of more than 64 KiB (load_elf_phdrs in fs/binfmt_elf.c).
	maxLoads = 1 << 10
)

// Constants of elf.h that readers of Sections and Segments need too.
const (
	PTLoad       = 1 // PT_LOAD, a [Segment]'s Type
	PFX          = 1 // PF_X, of a [Segment]'s Flags: executable
	PFW          = 2 // PF_W: it may be written
	SHTNobits    = 8 // SHT_NOBITS, a [Section]'s Type: no bytes in the file
	SHFAlloc     = 2 // SHF_ALLOC, of a [Section]'s Flags: mapped
	SHFExecInstr = 4 // SHF_EXECINSTR, of a [Section]'s Flags: code
)

// image is the headers of one object and the bytes behind them. The bytes are either a
// file (data) or, where no file can be had, pieces of memory (chunks) by link address.
type image struct {
	budget *work.Budget
	data   []byte
	forget func(part []byte) // [File.Forget]
	chunks []chunk
	bias   uint64 // of a memory image: what the loader may have added to pointers in it

	class   int // 4 or 8
	order   binary.ByteOrder
	machine uint16
	entry   Vaddr
	head    header

	segments []Segment
	loads    []*Segment // those of segments that are PT_LOAD, at most maxLoads
	sections []Section
	byName   map[string]int // the first section of a name, nil while there are few
	// unmapped allows what no process maps, as split DWARF and what dwz makes: ET_REL, and objects
	// without program headers.
	unmapped bool
	cut      error // why sections is empty though the header names a section table
	buildID  string
}

// header is the part of Elf32_Ehdr and Elf64_Ehdr that leads to the tables.
type header struct {
	phOff, shOff     uint64
	phEntSize, phNum uint64
	shEntSize, shNum uint64
	shStrIndex       uint64
}

// headerSize is sizeof(Elf64_Ehdr), the larger one.
const headerSize = 64

// parseFile reads all headers of an object that is a file.
func parseFile(f *File, b *work.Budget) (*image, error) {
	im := &image{data: f.Data, forget: f.Forget, budget: b}
	if err := im.parseAll(f.Data); err != nil {
		return nil, err
	}
	return im, nil
}

func (im *image) parseAll(data []byte) error {
	if err := im.parseHeader(data); err != nil {
		return err
	}
	if err := im.parseSegments(); err != nil {
		return err
	}
	im.finish()
	return nil
}

// finish reads what needs the segments: sections and build id.
func (im *image) finish() {
	im.parseSections()
	im.addFromSegments()
	im.buildID = im.findBuildID()
}

// parseHeader reads the ELF header at the start of b.
func (im *image) parseHeader(b []byte) error {
	if len(b) < 16 || string(b[:4]) != "\x7fELF" {
		return ErrNotELF
	}
	switch b[4] { // EI_CLASS
	case 1:
		im.class = 4
	case 2:
		im.class = 8
	default:
		return &FormatError{4, fmt.Sprintf("class %d is not known", b[4])}
	}
	switch b[5] { // EI_DATA
	case 1:
		im.order = binary.LittleEndian
	case 2:
		im.order = binary.BigEndian
	default:
		return &FormatError{5, fmt.Sprintf("byte order %d is not known", b[5])}
	}
	size := 40 + 3*im.class
	if len(b) < size {
		return &FormatError{0, fmt.Sprintf("header has %d bytes, want %d", len(b), size)}
	}
	if typ := im.order.Uint16(b[16:]); typ != etExec && typ != etDyn && (typ != etRel || !im.unmapped) {
		return &FormatError{16, fmt.Sprintf("type %d is neither a program nor a library", typ)}
	}
	im.machine = im.order.Uint16(b[18:])
	im.entry = Vaddr(im.word(b[24:]))
	at := 24 + im.class
	im.head.phOff = im.word(b[at:])
	im.head.shOff = im.word(b[at+im.class:])
	half := func(i int) uint64 { return uint64(im.order.Uint16(b[at+2*im.class+4+2*i:])) } // behind e_flags
	im.head.phEntSize, im.head.phNum = half(1), half(2)
	im.head.shEntSize, im.head.shNum = half(3), half(4)
	im.head.shStrIndex = half(5)
	return nil
}

// word reads an address or offset of the object's class.
func (im *image) word(b []byte) uint64 {
	if im.class == 4 {
		return uint64(im.order.Uint32(b))
	}
	return im.order.Uint64(b)
}

// fileBytes returns n bytes at a file offset, or false if the object does not hold them all.
func (im *image) fileBytes(off, n uint64) ([]byte, bool) {
	if im.chunks == nil {
		size := uint64(len(im.data))
		if off > size || n > size-off {
			return nil, false
		}
		return im.data[off : off+n : off+n], true
	}
	for _, p := range im.loads {
		if o := uint64(p.Offset); off >= o && off-o <= p.fileSz && n <= p.fileSz-(off-o) {
			return im.vaddrBytes(p.Addr+Vaddr(off-o), n)
		}
	}
	return nil, false
}

// vaddrBytes returns n bytes at a link address, or false.
func (im *image) vaddrBytes(v Vaddr, n uint64) ([]byte, bool) {
	b, ok := im.fromVaddr(v)
	if !ok || n > uint64(len(b)) {
		return nil, false
	}
	return b[:n:n], true
}

// fromVaddr returns the bytes from v to the end of its segment.
func (im *image) fromVaddr(v Vaddr) ([]byte, bool) {
	for _, p := range im.loads {
		if v >= p.Addr && uint64(v-p.Addr) < uint64(len(p.Data)) {
			return p.Data[v-p.Addr:], true
		}
	}
	return nil, false
}
