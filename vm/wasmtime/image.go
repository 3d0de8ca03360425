package wasmtime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// Bounds of one image. The largest that were seen have 30,000 functions, 10 MB and 27 sections.
const (
	maxSections = 64
	maxImage    = 256 << 20 // bytes
	maxSection  = 64 << 20  // bytes of one section that is read
	maxSymbols  = 2 << 20
	maxProbe    = 64 << 10 // how far before the code the header may be
)

// What the header of an image has. Source: crates/environ/src/obj.rs (ELFOSABI_WASMTIME, EF_WASMTIME_MODULE,
// EF_WASMTIME_COMPONENT).
const (
	osABI        = 200
	flagModule   = 1
	flagCompound = 2

	headerSize  = 64 // sizeof(Elf64_Ehdr)
	sectionSize = 64 // sizeof(Elf64_Shdr)
	symbolSize  = 24 // sizeof(Elf64_Sym)
)

var order = binary.LittleEndian // wasmtime writes images for little-endian hosts so; s390x is not read

// machines are those whose images are read.
var machines = map[elf.Machine]*regs.Arch{elf.EM_X86_64: regs.AMD64, elf.EM_AARCH64: regs.ARM64,
	elf.EM_RISCV: regs.RISCV64}

// section is one of the image: bytes [offset, offset+size) from its base.
type section struct{ offset, size uint64 }

// layout is an image as its headers show it.
type layout struct {
	base     mem.Addr
	arch     *regs.Arch
	header   []byte // and the section table: what shows that the image is still the same
	table    []byte
	tableAt  mem.Addr
	size     uint64
	sections map[string]section
	path     string // of the file that it was loaded from, "" for none
}

// image is one compiled module, or several of one component.
type image struct {
	layout
	text      unwind.Region
	functions []function // by address, not overlapping
	names     []byte     // .strtab
	fullNames *fullNames // nil for none
	positions positions
	frames    *cfi.Table // nil for none
	lines     *lines     // nil for none
	held      int64      // bytes of the budget
	// stale says that other bytes were seen there since.
	stale bool
}

var (
	errHeader = errors.New("its header contradicts itself")
	errBounds = errors.New("a section lies outside of it")
	errLarge  = errors.New("it is larger than what is read of one")
)

// probe looks for the header of an image whose code begins with the mapping x. It is nil without an error where there
// is none. Of a file it is at the file's first byte; in memory it may lie in the middle of a mapping, as neighbours
// are merged.
func probe(memory mem.Reader, x, before *maps.Mapping) (*layout, error) {
	if x.IsFile() {
		base := x.Start - mem.Addr(x.Offset)
		if x.Offset <= 0 || x.Offset > maxProbe || !before.Contains(base) {
			return nil, nil
		}
		return layoutAt(memory, base, x)
	}
	const page = 4096
	for back := mem.Addr(page); back <= maxProbe && before.Contains(x.Start-back); back += page {
		if l, err := layoutAt(memory, x.Start-back, x); l != nil || err != nil {
			return l, err
		}
	}
	return nil, nil
}

// layoutAt reads the headers of the image at base, nil if there is none with its code at x.
func layoutAt(memory mem.Reader, base mem.Addr, x *maps.Mapping) (*layout, error) {
	l := &layout{base: base, header: make([]byte, headerSize), path: x.Path}
	if _, err := memory.ReadMem(l.header, base); err != nil {
		return nil, nil
	}
	h := l.header
	if string(h[:8]) != "\x7fELF\x02\x01\x01\xc8" || order.Uint16(h[16:]) != uint16(elf.ET_REL) ||
		order.Uint16(h[56:]) != 0 || order.Uint32(h[48:])&(flagModule|flagCompound) == 0 {
		return nil, nil
	}
	if l.arch = machines[elf.Machine(order.Uint16(h[18:]))]; l.arch == nil {
		return nil, nil
	}
	at, n := order.Uint64(h[40:]), uint64(order.Uint16(h[60:]))
	switch {
	case order.Uint16(h[58:]) != sectionSize || n == 0 || at > maxImage:
		return nil, errHeader
	case n > maxSections:
		return nil, fmt.Errorf("it has %d sections, at most %d are read", n, maxSections)
	}
	l.tableAt, l.table, l.size = base+mem.Addr(at), make([]byte, n*sectionSize), at+n*sectionSize
	if _, err := memory.ReadMem(l.table, l.tableAt); err != nil {
		return nil, err
	}
	if err := l.readSections(memory, order.Uint16(h[62:])); err != nil {
		return nil, err
	}
	if text := l.sections[".text"]; base+mem.Addr(text.offset) != x.Start || text.size == 0 {
		return nil, nil
	}
	return l, nil
}

// readSections reads the names of the sections, which section number strings has.
func (l *layout) readSections(memory mem.Reader, strings uint16) error {
	if int(strings) >= len(l.table)/sectionSize {
		return errHeader
	}
	const maxNames = 4 << 10
	names := l.entry(int(strings))
	if names.size > maxNames {
		return errHeader
	}
	text, err := l.bytes(memory, names)
	if err != nil {
		return err
	}
	l.sections = make(map[string]section, len(l.table)/sectionSize)
	for i := range len(l.table) / sectionSize {
		at := uint64(order.Uint32(l.table[i*sectionSize:]))
		if at >= uint64(len(text)) {
			continue
		}
		if name, _, ok := bytes.Cut(text[at:], []byte{0}); ok {
			if _, twice := l.sections[string(name)]; !twice {
				l.sections[string(name)] = l.entry(i)
			}
		}
	}
	return nil
}

// entry is where section number i lies.
func (l *layout) entry(i int) section {
	e := l.table[i*sectionSize:]
	return section{offset: order.Uint64(e[24:]), size: order.Uint64(e[32:])}
}

// bytes reads a section.
func (l *layout) bytes(memory mem.Reader, s section) ([]byte, error) {
	switch {
	case s.offset > maxImage || s.size > maxImage || s.offset+s.size > maxImage:
		return nil, errBounds
	case s.size > maxSection:
		return nil, errLarge
	}
	b := make([]byte, s.size)
	if _, err := memory.ReadMem(b, l.base+mem.Addr(s.offset)); err != nil {
		return nil, err
	}
	return b, nil
}

// read reads what names and rows need.
func (l *layout) read(memory mem.Reader, budget *work.Budget) (*image, error) {
	im := &image{layout: *l}
	text := l.sections[".text"]
	im.text = unwind.Region{Start: l.base + mem.Addr(text.offset)}
	if text.size > maxImage || text.offset > maxImage {
		return nil, errBounds
	}
	im.text.End = im.text.Start + mem.Addr(text.size)
	hold := func(name string) ([]byte, error) {
		s := l.sections[name]
		if s.size == 0 {
			return nil, nil
		}
		if s.size <= maxSection {
			if !budget.Hold(int64(s.size)) {
				return nil, work.ErrMemory
			}
			im.held += int64(s.size)
		}
		b, err := l.bytes(memory, s)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return b, nil
	}
	err := im.fill(hold, memory, budget)
	if err != nil {
		budget.Release(im.held)
		return nil, err
	}
	return im, nil
}

// fill reads the sections by hold.
func (im *image) fill(hold func(name string) ([]byte, error), memory mem.Reader, budget *work.Budget) error {
	symbols, err := hold(".symtab")
	if err != nil {
		return err
	}
	if im.names, err = hold(".strtab"); err != nil {
		return err
	}
	if !budget.Spend(int64(len(symbols) + len(im.names))) {
		return budget.Refusal()
	}
	if err := im.readFunctions(symbols); err != nil {
		return err
	}
	// What follows makes names better: without it there are still names.
	if b, err := hold(".wasmtime.addrmap"); err == nil {
		im.positions = newPositions(b)
	}
	if b, err := hold(".name.wasm"); err == nil && len(b) > 0 {
		if info, err := hold(".wasmtime.info"); err == nil {
			im.fullNames = newFullNames(b, info)
			im.nameAlone()
		}
	}
	if b, err := hold(".eh_frame"); err == nil && len(b) > 0 {
		im.frames = cfi.New(cfi.Config{EHFrame: cfi.Section{Addr: uint64(im.base) + im.sections[".eh_frame"].offset,
			Data: b}, WordSize: im.arch.WordSize, Order: im.arch.Order, AArch64: im.arch == regs.ARM64, Budget: budget})
	}
	im.lines = newLines(im, symbols, budget)
	return nil
}

// unchanged reports whether the headers in memory are those that were read.
func (im *image) unchanged(memory mem.Reader) bool {
	if im.stale {
		return false
	}
	var b [headerSize + maxSections*sectionSize]byte
	table := b[headerSize : headerSize+len(im.table)]
	if _, err := memory.ReadMem(b[:headerSize], im.base); err != nil {
		return false
	}
	_, err := memory.ReadMem(table, im.tableAt)
	return err == nil && bytes.Equal(b[:headerSize], im.header) && bytes.Equal(table, im.table)
}

// still reports whether headers and names in memory are those that were read.
func (im *image) still(memory mem.Reader) bool {
	names, err := im.bytes(memory, im.sections[".strtab"])
	return err == nil && bytes.Equal(names, im.names) && im.unchanged(memory)
}

// symbolAt is where symbol number i lies.
func (im *image) symbolAt(i uint32) mem.Addr {
	return im.base + mem.Addr(im.sections[".symtab"].offset) + mem.Addr(i)*symbolSize
}

// nameAt is where the string at offset o of .strtab lies.
func (im *image) nameAt(o uint32) mem.Addr {
	return im.base + mem.Addr(im.sections[".strtab"].offset) + mem.Addr(o)
}

// code reads up to n bytes of code at a, fewer at the end of the text.
func (im *image) code(memory mem.Reader, a mem.Addr, n int) ([]byte, error) {
	if a < im.text.Start || a >= im.text.End {
		return nil, io.EOF
	}
	b := make([]byte, min(n, int(im.text.End-a)))
	got, err := memory.ReadMem(b, a)
	return b[:got], err
}
