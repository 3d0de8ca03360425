package symbol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// Kinds of compression, gABI chapter 4, "Section Compression".
const (
	compressZlib = 1 // ELFCOMPRESS_ZLIB
	compressZstd = 2 // ELFCOMPRESS_ZSTD
)

// Bounds of an inflated section.
const (
	maxInflated = min(4<<30, math.MaxInt) // bytes
	// maxZlibRatio is what deflate can make of a byte: 258 of two bits (RFC 1951, 3.2.5).
	maxZlibRatio = 1032
	// maxZstdRatio is what Zstandard can: a block of 128 KiB of one repeated byte takes four
	// (RFC 8878, 3.1.1.2).
	maxZstdRatio = 128 << 10 / 4
	// zstdWindow is what the decoder of Zstandard keeps beside the result, bytes at most: see newZstdReader.
	zstdWindow = 8 << 20
)

// packed is a compressed section before it is inflated.
type packed struct {
	name string
	kind uint32
	size uint64 // inflated
	data []byte
}

// debugSection returns the contents of a section of debug information, inflated, nil if the
// file has none.
func debugSection(file DebugFile, name string) ([]byte, error) {
	s, p, err := findDebug(file, name)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return s.Data, nil
	}
	out, err := p.inflate(file.Budget)
	if err != nil {
		return nil, fmt.Errorf("inflate %s of %q: %w", p.name, file.Path, err)
	}
	return out, nil
}

// findDebug finds a section of debug information, as packed if it is compressed. GNU tools
// before 2.26 wrote compressed ones under names that begin with ".z".
func findDebug(file DebugFile, name string) (module.Section, *packed, error) {
	s, ok := file.Section(name)
	if !ok {
		old, found := file.Section(".z" + strings.TrimPrefix(name, "."))
		if !found {
			return s, nil, nil
		}
		const head = 12 // "ZLIB" and the size, big-endian
		if len(old.Data) < head || string(old.Data[:4]) != "ZLIB" {
			return s, nil, fmt.Errorf("inflate %s of %q: header is malformed", old.Name, file.Path)
		}
		return old, &packed{old.Name, compressZlib, binary.BigEndian.Uint64(old.Data[4:]), old.Data[head:]}, nil
	}
	if uint64(len(s.Data)) < s.Size && s.Type != module.SHTNobits {
		return s, nil, fmt.Errorf("read %s of %q: %d of %d bytes are in the file", name, file.Path, len(s.Data), s.Size)
	}
	if !s.Compressed {
		return s, nil, nil
	}
	// Elf32_Chdr and Elf64_Chdr: type, in the second 4 bytes unused, size, alignment.
	head := 3 * file.Class
	if len(s.Data) < head || file.Class != 4 && file.Class != 8 {
		return s, nil, fmt.Errorf("inflate %s of %q: header is cut", name, file.Path)
	}
	size := uint64(file.Order.Uint32(s.Data[4:]))
	if file.Class == 8 {
		size = file.Order.Uint64(s.Data[8:])
	}
	return s, &packed{name, file.Order.Uint32(s.Data), size, s.Data[head:]}, nil
}

// inflateCost is the steps of a [work.Budget] that one inflated byte takes.
const inflateCost = 3

// check refuses a size that what is compressed cannot have.
func (p *packed) check() error {
	ratio := uint64(maxZlibRatio)
	switch p.kind {
	case compressZlib:
	case compressZstd:
		ratio = maxZstdRatio
	default:
		return fmt.Errorf("compression %d is not known", p.kind)
	}
	if p.size > maxInflated || p.size/ratio > uint64(len(p.data)) {
		return fmt.Errorf("%d bytes cannot become %d", len(p.data), p.size)
	}
	return nil
}

// open returns a reader of what was compressed, at most p.size bytes, and what gives back the memory that it took.
func (p *packed) open(b *work.Budget) (r io.Reader, done func(), err error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	done = func() {}
	switch {
	case p.size == 0:
		return bytes.NewReader(nil), done, nil
	case p.kind == compressZlib:
		r, err = zlib.NewReader(bytes.NewReader(p.data))
	default:
		if !b.Hold(zstdWindow) {
			return nil, nil, work.ErrMemory
		}
		done = func() { b.Release(zstdWindow) }
		r, err = newZstdReader(p.data)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return io.LimitReader(b.Reader(r, inflateCost), int64(p.size)), done, nil
}

// inflate returns the p.size bytes that were compressed, if b has room for them.
func (p *packed) inflate(b *work.Budget) ([]byte, error) {
	r, done, err := p.open(b)
	if err != nil {
		return nil, err
	}
	defer done()
	if p.size == 0 {
		return nil, nil
	}
	if !b.Hold(int64(p.size)) {
		return nil, work.ErrMemory
	}
	out := make([]byte, p.size)
	n, err := io.ReadFull(r, out)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = fmt.Errorf("%d bytes came out, the header says %d", n, p.size)
	}
	if err != nil {
		b.Release(int64(p.size))
		return nil, err
	}
	return out, nil
}

// lineSections are what lines and inlined calls are read from.
var lineSections = []string{".debug_info", ".debug_types", ".debug_abbrev", ".debug_str", ".debug_line_str",
	".debug_str_offsets",
	".debug_addr", ".debug_line", ".debug_ranges", ".debug_rnglists", ".debug_aranges", ".debug_cu_index",
	".debug_tu_index"}

// inflated is how many bytes the compressed ones of lineSections have when they are inflated, those of split
// files too, 0 if none is compressed.
func inflated(file DebugFile) uint64 {
	sum := uint64(0)
	for _, name := range lineSections {
		for _, suffix := range []string{"", ".dwo"} {
			if _, p, err := findDebug(file, name+suffix); err == nil && p != nil {
				sum += min(p.size, maxInflated)
			}
		}
	}
	return sum
}
