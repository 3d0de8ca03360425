package wasmtime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/view"
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
	flagModule   = 1
	flagCompound = 2

	headerSize  = 64 // sizeof(Elf64_Ehdr)
	sectionSize = 64 // sizeof(Elf64_Shdr)
	symbolSize  = 24 // sizeof(Elf64_Sym)
)

var order = binary.LittleEndian // wasmtime writes images for little-endian hosts so; s390x is not read

// section is one of the image: bytes [offset, offset+size) from its base.
type section struct{ offset, size uint64 }

// layout is an image as its headers show it.
type layout struct {
	*port
	base     mem.Addr
	header   []byte // and the section table: what shows that the image is still the same
	table    []byte
	tableAt  mem.Addr
	sections map[string]section
	path     string // of the file that it was loaded from, "" for none
}

// image is one compiled module, or several of one component.
type image struct {
	layout
	text      unwind.Region
	functions []function // by address, not overlapping
	symbols   []byte     // .symtab
	names     []byte     // .strtab
	fullNames *fullNames // nil for none
	exports   *fullNames // nil for none
	positions positions
	frames    *cfi.Table   // nil for none
	lines     *lines       // nil for none
	missing   error        // why names and places are less than they could be
	budget    *work.Budget // its share: what is held of it is given back when it is dropped
	content   uint64       // the same for images whose frames are named alike
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
func probe(v *view.View, x, before *maps.Mapping) (*layout, error) {
	if x.IsFile() {
		base := x.Start - mem.Addr(x.Offset)
		if x.Offset <= 0 || x.Offset > maxProbe || !before.Contains(base) {
			return nil, nil
		}
		return layoutAt(v, base, x)
	}
	const page = 4096
	for back := mem.Addr(page); back <= maxProbe && before.Contains(x.Start-back); back += page {
		if l, err := layoutAt(v, x.Start-back, x); l != nil || err != nil {
			return l, err
		}
	}
	return nil, nil
}

// layoutAt reads the headers of the image at base, nil if there is none with its code at x.
func layoutAt(v *view.View, base mem.Addr, x *maps.Mapping) (*layout, error) {
	l := &layout{base: base, header: make([]byte, headerSize), path: x.Path}
	if _, err := v.ReadMem(l.header, base); errors.Is(err, mem.ErrUnmapped) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := l.header
	if string(h[:8]) != "\x7fELF\x02\x01\x01\xc8" || order.Uint16(h[16:]) != uint16(elf.ET_REL) ||
		order.Uint16(h[56:]) != 0 || order.Uint32(h[48:])&(flagModule|flagCompound) == 0 {
		return nil, nil
	}
	if l.port = ports[elf.Machine(order.Uint16(h[18:]))]; l.port == nil {
		return nil, nil
	}
	at, n := order.Uint64(h[40:]), uint64(order.Uint16(h[60:]))
	switch {
	case order.Uint16(h[58:]) != sectionSize || n == 0 || at > maxImage:
		return nil, errHeader
	case n > maxSections:
		return nil, fmt.Errorf("it has %d sections, at most %d are read", n, maxSections)
	}
	l.tableAt, l.table = base+mem.Addr(at), make([]byte, n*sectionSize)
	if _, err := v.ReadMem(l.table, l.tableAt); err != nil {
		return nil, err
	}
	if err := l.readSections(v, order.Uint16(h[62:])); err != nil {
		return nil, err
	}
	switch text := l.sections[".text"]; {
	case base+mem.Addr(text.offset) != x.Start || text.size == 0:
		return nil, nil
	case text.size > uint64(x.End-x.Start):
		return nil, errBounds
	}
	return l, nil
}

// readSections reads the names of the sections, which section number strings has.
func (l *layout) readSections(v *view.View, strings uint16) error {
	if int(strings) >= len(l.table)/sectionSize {
		return errHeader
	}
	const maxNames = 4 << 10
	names := l.entry(int(strings))
	if names.size > maxNames {
		return errHeader
	}
	text, err := l.bytes(v, names)
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
func (l *layout) bytes(v *view.View, s section) ([]byte, error) {
	switch {
	case s.offset > maxImage || s.size > maxImage || s.offset+s.size > maxImage:
		return nil, errBounds
	case s.size > maxSection:
		return nil, errLarge
	}
	b := make([]byte, s.size)
	if _, err := v.ReadMem(b, l.base+mem.Addr(s.offset)); err != nil {
		return nil, err
	}
	return b, nil
}

// read reads what names and rows need of the image l.
func (r *Runtime) read(v *view.View, l *layout) (*image, error) {
	im := &image{layout: *l, budget: r.budget.Share()}
	text := l.sections[".text"]
	im.text = unwind.Region{Start: l.base + mem.Addr(text.offset), Generation: r.generation}
	im.text.End = im.text.Start + mem.Addr(text.size)
	err := im.fill(v)
	if err != nil {
		im.budget.ReleaseAll()
		return nil, err
	}
	im.content = r.contentOf(im)
	if im.lines == nil { // who else wants them
		im.symbols = nil
	}
	return im, nil
}

// contentOf is a number of what the names and places of an image rest on. Lines are read later: images that have any
// are all different.
func (r *Runtime) contentOf(im *image) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, b := range [][]byte{[]byte(im.path), im.header, im.table, im.symbols, im.names, im.fullNames.all(),
		im.exports.all(), im.positions.code, im.positions.file} {
		maphash.WriteComparable(&h, len(b))
		h.Write(b)
	}
	if im.lines != nil {
		maphash.WriteComparable(&h, im.text.Generation)
	}
	return h.Sum64()
}

// hold reads a section that is kept.
func (im *image) hold(v *view.View, name string) ([]byte, error) {
	s := im.sections[name]
	if s.size == 0 {
		return nil, nil
	}
	if s.size <= maxSection && !im.budget.Hold(int64(s.size)) {
		return nil, work.ErrMemory
	}
	b, err := im.bytes(v, s)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// fill reads the sections.
func (im *image) fill(v *view.View) (err error) {
	if im.symbols, err = im.hold(v, ".symtab"); err != nil {
		return err
	}
	if im.names, err = im.hold(v, ".strtab"); err != nil {
		return err
	}
	if !v.Spend(int64(len(im.symbols) + len(im.names))) {
		return v.Refused()
	}
	if err := im.readFunctions(); err != nil {
		return err
	}
	// What follows makes names better: without it there are still names.
	var errs [4]error
	var places, names, info, frames []byte
	places, errs[0] = im.hold(v, ".wasmtime.addrmap")
	names, errs[1] = im.hold(v, ".name.wasm")
	info, errs[2] = im.hold(v, ".wasmtime.info")
	frames, errs[3] = im.hold(v, ".eh_frame")
	im.missing = errors.Join(errs[:]...)
	im.positions = newPositions(places)
	if im.isModule() {
		if len(names) > 0 {
			im.fullNames = newFullNames(im.addr(".name.wasm"), names, info)
		}
		im.exports = newExports(im.addr(".wasmtime.info"), info, im.entered())
		im.nameFully()
	}
	if len(frames) > 0 {
		im.frames = cfi.New(cfi.Config{EHFrame: cfi.Section{Addr: uint64(im.addr(".eh_frame")),
			Data: frames}, WordSize: im.arch.WordSize, Order: im.arch.Order, AArch64: im.arch == regs.ARM64,
			Budget: im.budget})
	}
	im.lines = newLines(im)
	return nil
}

// unchanged reports whether the headers in memory are those that were read.
func (im *image) unchanged(v *view.View) bool {
	return !im.stale && holds(v, im.base, im.header) && holds(v, im.tableAt, im.table)
}

// holds reports whether want is at a.
func holds(v *view.View, a mem.Addr, want []byte) bool {
	b, ok := v.Bytes(a, len(want))
	return ok && bytes.Equal(b, want)
}

// still reports whether headers and names in memory are those that were read.
func (im *image) still(v *view.View) bool {
	return holds(v, im.nameAt(0), im.names) && im.unchanged(v)
}

// addr is where a section lies.
func (im *image) addr(name string) mem.Addr { return im.base + mem.Addr(im.sections[name].offset) }

// symbolAt is where symbol number i lies.
func (im *image) symbolAt(i uint32) mem.Addr {
	return im.addr(".symtab") + mem.Addr(i)*symbolSize
}

// nameAt is where the string at offset o of .strtab lies.
func (im *image) nameAt(o uint32) mem.Addr {
	return im.addr(".strtab") + mem.Addr(o)
}

// code reads the first bytes of a function, at most n.
func (im *image) code(v *view.View, f *function, n int) ([]byte, bool) {
	return v.Bytes(im.text.Start+mem.Addr(f.start), min(n, int(f.end-f.start)))
}
