// Package pdb reads portable PDBs: the files and lines of .NET methods by their offset into the IL.
//
// A PDB lies in the image of its assembly, packed ([Embedded]), or in a file beside it, whose name and id the image has
// ([Beside]). The caller opens files and compares the ids; what is in a PDB is read for the methods that are asked for.
//
// It knows no process. All bytes may be somebody's: what is unpacked is bounded, and taken from a work budget.
//
// Source: dotnet/runtime, docs/design/specs/PortablePdb-Metadata.md and PE-COFF.md.
package pdb

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// ErrFormat says that bytes are no portable PDB.
var ErrFormat = errors.New("malformed portable PDB")

// MaxSize bounds a PDB, bytes. That of a program of a million lines takes some 30 MB.
const MaxSize = 64 << 20

// Bounds of what one PDB says.
const (
	maxPoints    = 1 << 20 // of one method
	maxParts     = 1 << 8  // of the name of a file
	maxFile      = 4 << 10 // bytes of that name
	maxDocuments = 1 << 16 // whose names are kept
	unpackCost   = 4       // steps for a byte
	pointCost    = 8       // steps for a sequence point
)

// ID is the id of a PDB, which its image has too.
type ID [20]byte

// File is a portable PDB. It is for one goroutine at a time.
type File struct {
	tables *metadata.Tables
	whole  view.View
	view   view.View         // whole, as it was left: what one question is refused the next may have
	names  map[uint32]string // of source files, by row
}

// Parse reads the headers of the PDB in data, and keeps it.
//
// It fails with ErrFormat, metadata.ErrFormat, or with the refusal of b.
func Parse(data []byte, b *work.Budget) (*File, error) {
	const at = 1 << 12 // any address: 0 would be that of nothing
	f := &File{whole: view.Copied(b, mem.Range{Start: at, Data: data}), names: map[uint32]string{}}
	f.view = f.whole
	var err error
	if f.tables, err = metadata.Open(&f.view, at); err != nil {
		return nil, err
	}
	if f.tables.PdbID() == nil {
		return nil, ErrFormat
	}
	return f, nil
}

// ID is the id of f.
func (f *File) ID() ID { return ID(f.tables.PdbID()) }

// Point is where in a source the IL from an offset on comes from.
type Point struct {
	Offset   uint32
	Document uint32 // row
	Line     int    // from 1; 0 for code that no source has
}

// Line is the place of the IL at an offset in the method with that row; line is 0 if the PDB does not say. It is that
// of the last statement which begins there or before, as in the stack traces of .NET: code that no source has belongs
// to the statement before it.
func (f *File) Line(method, offset uint32) (file string, line int, err error) {
	var best Point
	err = f.Points(method, func(p Point) bool {
		if p.Offset > offset {
			return false
		}
		if p.Line > 0 {
			best = p
		}
		return true
	})
	if err != nil || best.Line == 0 {
		return "", 0, err
	}
	file, err = f.Document(best.Document)
	return file, best.Line, err
}

// Points gives yield the sequence points of the method with that row, in the order of offsets, until it returns false.
func (f *File) Points(method uint32, yield func(Point) bool) error {
	f.view = f.whole
	document, at, err := f.tables.MethodLines(method)
	if err != nil || at == 0 {
		return err
	}
	b, err := f.tables.Blob(at)
	if err != nil {
		return err
	}
	r := reader{rest: b}
	r.unsigned() // signature of the local variables
	if document == 0 {
		document = r.unsigned()
	}
	p := Point{Document: document}
	line, lined := 0, false
	for n := 0; len(r.rest) > 0 && !r.bad && n < maxPoints; n++ {
		if !f.view.Spend(pointCost) {
			return f.view.Refused()
		}
		step := r.unsigned()
		if step == 0 && n > 0 {
			p.Document = r.unsigned()
			continue
		}
		p.Offset += step
		lines := r.unsigned()
		columns := int32(0)
		if lines == 0 {
			columns = int32(r.unsigned())
		} else {
			columns = r.signed()
		}
		p.Line = 0
		if lines != 0 || columns != 0 {
			if lined {
				line += int(r.signed())
				r.signed()
			} else {
				line, lined = int(r.unsigned()), true
				r.unsigned()
			}
			p.Line = max(line, 0)
		}
		if r.bad {
			break
		}
		if !yield(p) {
			return nil
		}
	}
	if r.bad || len(r.rest) > 0 {
		return fmt.Errorf("%w: the lines of method %d have no end", ErrFormat, method)
	}
	return nil
}

// Document is the name of the source file with that row.
func (f *File) Document(rid uint32) (string, error) {
	if name, ok := f.names[rid]; ok {
		return name, nil
	}
	f.view = f.whole
	at, err := f.tables.Document(rid)
	if err != nil {
		return "", err
	}
	b, err := f.tables.Blob(at)
	if err != nil || len(b) == 0 {
		return "", err
	}
	var name strings.Builder
	r := reader{rest: b[1:]}
	for n := 0; len(r.rest) > 0; n++ {
		if n == maxParts || name.Len() > maxFile {
			return "", fmt.Errorf("%w: the name of file %d is too long", ErrFormat, rid)
		}
		if n > 0 && b[0] != 0 {
			name.WriteByte(b[0])
		}
		part := r.unsigned()
		if r.bad {
			return "", fmt.Errorf("%w: the name of file %d has no end", ErrFormat, rid)
		}
		text, err := f.tables.Blob(part)
		if err != nil {
			return "", err
		}
		name.Write(text[:min(len(text), maxFile+1)])
	}
	if len(f.names) >= maxDocuments {
		clear(f.names)
	}
	f.names[rid] = name.String()
	return name.String(), nil
}

// reader takes compressed integers off a blob. Once one is cut it is bad, and gives 0.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) unsigned() uint32 {
	v, rest, ok := metadata.Compressed(r.rest)
	r.rest, r.bad = rest, r.bad || !ok
	return v
}

func (r *reader) signed() int32 {
	v, rest, ok := metadata.CompressedSigned(r.rest)
	r.rest, r.bad = rest, r.bad || !ok
	return v
}

// The types of entries of the debug directory, and the version that says that a CodeView entry is of a portable PDB.
const (
	codeView        = 2
	embedded        = 17
	portableVersion = 0x504d // "PM"
)

// Embedded unpacks the PDB that the image has, nil if it has none. It holds its size of b, which the caller releases.
func Embedded(im *metadata.Image, b *work.Budget) ([]byte, error) {
	entries, err := im.Debug()
	for _, e := range entries {
		if e.Type != embedded {
			continue
		}
		packed, err := im.Data(e, MaxSize)
		if err != nil {
			return nil, err
		}
		return unpack(packed, b)
	}
	return nil, err
}

// unpack unpacks an embedded PDB: "MPDB", its size, and the bytes as RFC 1951 packs them.
func unpack(packed []byte, b *work.Budget) ([]byte, error) {
	if len(packed) < 8 || string(packed[:4]) != "MPDB" {
		return nil, fmt.Errorf("%w: it does not begin with MPDB", ErrFormat)
	}
	size := binary.LittleEndian.Uint32(packed[4:])
	if size > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, size)
	}
	if !b.Hold(int64(size)) {
		return nil, work.ErrMemory
	}
	var out bytes.Buffer // grows with what there is, and not with what a header says
	r := b.Reader(flate.NewReader(bytes.NewReader(packed[8:])), unpackCost)
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)))
	if err == nil && n < int64(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		b.Release(int64(size))
		return nil, fmt.Errorf("unpack embedded PDB: %w", err)
	}
	return out.Bytes(), nil
}

// Reference is what an image says of the PDB in a file of its own.
type Reference struct {
	Name string // of the file, without folders: it lies beside the assembly
	ID   ID
}

// maxReference bounds the CodeView entry: a path, of Windows too.
const maxReference = 4 << 10

// Beside is the file of the PDB of the image; false if the image names no portable one.
func Beside(im *metadata.Image) (Reference, bool, error) {
	entries, err := im.Debug()
	for _, e := range entries {
		const fixed = 24 // "RSDS", GUID, age
		if e.Type != codeView || e.Minor != portableVersion || e.Size <= fixed || e.Size > maxReference {
			continue
		}
		d, err := im.Data(e, maxReference)
		if err != nil {
			return Reference{}, false, err
		}
		if string(d[:4]) != "RSDS" {
			continue
		}
		name, _, _ := bytes.Cut(d[fixed:], []byte{0})
		if i := bytes.LastIndexAny(name, `/\`); i >= 0 {
			name = name[i+1:]
		}
		ref := Reference{Name: string(name)}
		copy(ref.ID[:], d[4:20])
		binary.LittleEndian.PutUint32(ref.ID[16:], e.Stamp)
		return ref, true, nil
	}
	return Reference{}, false, err
}
