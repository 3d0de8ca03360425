package metadata

import (
	"bytes"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Image is a module in the form PE, as the runtime has it in memory: with its sections where they belong, or as its
// file is.
type Image struct {
	Base mem.Addr
	// Flat says that it lies in memory as its file is: relative virtual addresses (RVAs) go through its sections.
	Flat bool

	view     *view.View
	sections []section
	cli      mem.Addr // the CLI header
	metadata mem.Addr
	debug    directory
}

type section struct{ rva, size, offset, bytes uint32 }

type directory struct{ rva, size uint32 }

// Bounds of an image: the headers and the entries that are looked at.
const (
	maxSections = 96 // what the Windows loader takes
	maxHeader   = 1 << 16
	maxDebug    = 32
)

// OpenImage reads the headers of the image at base.
//
// It fails with ErrFormat if there is no image of .NET, or with the error of v.
// Source: ECMA-335 II.25, "PE Format" of Microsoft.
func OpenImage(v *view.View, base mem.Addr) (*Image, error) {
	im := &Image{Base: base, view: v}
	cli, err := im.readHeaders()
	if err == nil {
		err = im.findMetadata(cli)
	}
	if err != nil {
		return nil, fmt.Errorf("read .NET image at %#x: %w", uint64(base), err)
	}
	return im, nil
}

// Metadata is where the metadata is.
func (im *Image) Metadata() mem.Addr { return im.metadata }

// Native is where the header of precompiled code is, as the CLI header says (ManagedNativeHeader, ECMA-335 II.25.3.3);
// false if there is none.
func (im *Image) Native() (mem.Addr, bool, error) {
	const managedNative = 64
	var b [4]byte
	if err := im.read(b[:], im.cli+managedNative); err != nil {
		return 0, false, fmt.Errorf("read CLI header of .NET image at %#x: %w", uint64(im.Base), err)
	}
	rva := order.Uint32(b[:])
	at, ok := im.Addr(rva)
	return at, ok && rva != 0, nil
}

// readHeaders reads the headers, and returns the directory of the CLI header.
func (im *Image) readHeaders() (cli directory, err error) {
	dos := make([]byte, 64)
	if err := im.read(dos, im.Base); err != nil {
		return cli, err
	}
	at := order.Uint32(dos[60:])
	if dos[0] != 'M' || dos[1] != 'Z' || at > maxHeader {
		return cli, fmt.Errorf("%w: no PE image", ErrFormat)
	}
	const coff = 24 // with the signature
	head := make([]byte, coff+2)
	if err := im.read(head, im.Base+mem.Addr(at)); err != nil {
		return cli, err
	}
	if !bytes.Equal(head[:4], []byte("PE\x00\x00")) {
		return cli, fmt.Errorf("%w: no PE image", ErrFormat)
	}
	sections, optional := order.Uint16(head[6:]), order.Uint16(head[20:])
	directories := uint32(96) // PE32
	if order.Uint16(head[coff:]) == 0x20b {
		directories = 112 // PE32+
	}
	const debugEntry, cliEntry = 6, 14
	if sections > maxSections || uint32(optional) < directories+8*(cliEntry+1) {
		return cli, fmt.Errorf("%w: no PE image of .NET", ErrFormat)
	}
	rest := make([]byte, uint32(optional)+40*uint32(sections))
	if err := im.read(rest, im.Base+mem.Addr(at)+coff); err != nil {
		return cli, err
	}
	entry := func(n uint32) directory {
		b := rest[directories+8*n:]
		return directory{order.Uint32(b), order.Uint32(b[4:])}
	}
	im.debug = entry(debugEntry)
	for b := rest[optional:]; len(b) >= 40; b = b[40:] {
		im.sections = append(im.sections, section{rva: order.Uint32(b[12:]), size: order.Uint32(b[8:]),
			offset: order.Uint32(b[20:]), bytes: order.Uint32(b[16:])})
	}
	return entry(cliEntry), nil
}

const cliSize = 72

// findMetadata reads the CLI header (ECMA-335 II.25.3.3) and decides which form the image has: where that header and
// the metadata are.
func (im *Image) findMetadata(cli directory) error {
	if cli.rva == 0 || cli.size < cliSize {
		return fmt.Errorf("%w: no PE image of .NET", ErrFormat)
	}
	var failed error
	b := make([]byte, 16)
	for _, im.Flat = range []bool{false, true} {
		cliAt, ok := im.Addr(cli.rva)
		if !ok {
			continue
		}
		if failed = im.read(b, cliAt); failed != nil || order.Uint32(b) != cliSize {
			continue
		}
		at, ok := im.Addr(order.Uint32(b[8:]))
		if !ok {
			continue
		}
		if failed = im.read(b[:4], at); failed == nil && order.Uint32(b) == signature {
			im.cli, im.metadata = cliAt, at
			return nil
		}
	}
	return orFormat(failed, "it has no metadata")
}

// Addr is where the byte at an RVA is; false if no section has it.
func (im *Image) Addr(rva uint32) (mem.Addr, bool) {
	if !im.Flat {
		return im.Base + mem.Addr(rva), true
	}
	for _, s := range im.sections {
		if off := rva - s.rva; rva >= s.rva && off < s.bytes {
			return im.Base + mem.Addr(s.offset) + mem.Addr(off), true
		}
	}
	return 0, false
}

// DebugEntry is an entry of the debug directory.
type DebugEntry struct {
	Type   uint32 // 2 CodeView, 17 embedded portable PDB
	Major  uint16 // of the version of its form
	Minor  uint16
	Stamp  uint32
	Size   uint32 // of its data, bytes
	rva    uint32
	offset uint32
}

// Debug reads the debug directory.
func (im *Image) Debug() ([]DebugEntry, error) {
	const size = 28
	n := min(im.debug.size/size, maxDebug)
	if im.debug.rva == 0 || n == 0 {
		return nil, nil
	}
	at, ok := im.Addr(im.debug.rva)
	if !ok {
		return nil, fmt.Errorf("%w: the debug directory is in no section", ErrFormat)
	}
	b := make([]byte, n*size)
	if err := im.read(b, at); err != nil {
		return nil, fmt.Errorf("read debug directory of .NET image at %#x: %w", uint64(im.Base), err)
	}
	var out []DebugEntry
	for ; len(b) >= size; b = b[size:] {
		out = append(out, DebugEntry{Stamp: order.Uint32(b[4:]), Major: order.Uint16(b[8:]),
			Minor: order.Uint16(b[10:]), Type: order.Uint32(b[12:]), Size: order.Uint32(b[16:]),
			rva: order.Uint32(b[20:]), offset: order.Uint32(b[24:])})
	}
	return out, nil
}

// Data reads the data of an entry, which has at most most bytes. It fails with ErrFormat where they are in the file
// alone.
func (im *Image) Data(e DebugEntry, most uint32) ([]byte, error) {
	at, ok := im.Addr(e.rva)
	switch {
	case im.Flat && e.offset != 0:
		at, ok = im.Base+mem.Addr(e.offset), true
	case e.rva == 0:
		ok = false
	}
	if !ok || e.Size > most {
		return nil, fmt.Errorf("%w: %d bytes of debug data", ErrFormat, e.Size)
	}
	b := make([]byte, e.Size)
	if err := im.read(b, at); err != nil {
		return nil, fmt.Errorf("read debug data of .NET image at %#x: %w", uint64(im.Base), err)
	}
	return b, nil
}

func (im *Image) read(b []byte, a mem.Addr) error {
	_, err := im.view.ReadMem(b, a)
	return err
}

// Bounds of the search for an image: how far it may begin before its metadata, and how it is aligned. The bundle of a
// single-file program aligns assemblies of IL to 16 bytes and others to pages.
const (
	maxBefore  = 64 << 20
	alignImage = 16
	piece      = 4 << 10 // a page: what lies before may not be there
)

// ImageAround finds the image whose metadata are at root, which must lie in memory without a gap: the nearest one
// before it whose headers lead there.
//
// It fails with ErrFormat if there is none, or with the error of v.
func ImageAround(v *view.View, root mem.Addr) (*Image, error) {
	buf := make([]byte, piece)
	for end := root; end > piece && root-end < maxBefore; {
		start := (end - 1) &^ (piece - 1)
		part := buf[:end-start]
		if _, err := v.ReadMem(part, start); v.Refused() != nil {
			return nil, err
		} else if err != nil {
			break
		}
		for at := (len(part) - 1) &^ (alignImage - 1); at >= 0; at -= alignImage {
			if part[at] != 'M' || at+1 >= len(part) || part[at+1] != 'Z' {
				continue
			}
			if im, err := OpenImage(v, start+mem.Addr(at)); err == nil && im.metadata == root {
				return im, nil
			}
		}
		end = start
	}
	return nil, fmt.Errorf("%w: no image has the metadata at %#x", ErrFormat, uint64(root))
}
