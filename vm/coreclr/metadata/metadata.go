// Package metadata reads what a .NET module says about its types and methods: the tables and heaps of its metadata,
// and where they lie in an image (PE) that the runtime has in memory, or in a file.
//
// The caller gives a view of the memory and the address of an image ([OpenImage]) or of the metadata itself ([Open]).
// Rows are read when they are asked for, some twenty bytes at once, so that a name costs some tens of small reads and
// nothing of a module of many megabytes is copied. What was read does not change while the module is loaded. A portable
// PDB has the same form, so package pdb reads it by this one.
//
// All bytes may be somebody's: each loop is bounded by the rows of a table or by a constant, and each read is taken
// from the budget of the view. It knows no process, no runtime and no language.
//
// Source: ECMA-335, 6th edition, partition II, 22 (tables), 23.2 (blobs), 24 (layout) and 25 (PE); the tables of
// portable PDBs are of dotnet/runtime, docs/design/specs/PortablePdb-Metadata.md.
package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// ErrFormat says that bytes are no metadata, or contradict themselves.
var ErrFormat = errors.New("malformed .NET metadata")

var order = binary.LittleEndian

// Bounds of one module. The runtime's own core library has 5 streams and 60,000 rows in its largest table.
const (
	maxStreams = 16
	maxVersion = 256
	maxRows    = 1 << 24 // what a token can say
	maxName    = 2 << 10 // bytes of a name; longer ones are cut
	maxBlob    = 4 << 20
)

// span is a part of the memory.
type span struct {
	at   mem.Addr
	size uint32
}

// Tables are the tables and heaps of one module. They are for one goroutine at a time.
type Tables struct {
	view *view.View
	root mem.Addr

	strings, blobs, guids, pdb span
	tables                     [tableCount]table
	pdbID                      []byte
	id                         ID
}

// ID is the id of a module (MVID): its compiler gave it one of its own. It is zero for a module that has none.
type ID [16]byte

// Open reads the headers of the metadata at root. All that is read later is read of v too, which the caller may begin
// anew: a view that was refused stays so.
//
// It fails with ErrFormat, or with the error of v.
func Open(v *view.View, root mem.Addr) (*Tables, error) {
	t := &Tables{view: v, root: root}
	rows, err := t.readStreams()
	if err != nil {
		return nil, fmt.Errorf("read .NET metadata at %#x: %w", uint64(root), err)
	}
	if err := t.readTables(rows); err != nil {
		return nil, fmt.Errorf("read tables of .NET metadata at %#x: %w", uint64(root), err)
	}
	if t.id, err = t.readID(v); err != nil {
		return nil, fmt.Errorf("read .NET metadata at %#x: %w", uint64(root), err)
	}
	return t, nil
}

// ID is that of the module.
func (t *Tables) ID() ID { return t.id }

// HasName reports whether a is an address in the heap of names.
func (t *Tables) HasName(a mem.Addr) bool { return a-t.strings.at < mem.Addr(t.strings.size) }

const signature = 0x424a5342 // "BSJB"

// readStreams finds the streams, and returns that of the tables (ECMA-335 II.24.2.1 and .2).
func (t *Tables) readStreams() (tables span, err error) {
	head := make([]byte, 16)
	if err := t.read(head, t.root); err != nil {
		return span{}, err
	}
	version := order.Uint32(head[12:])
	if order.Uint32(head) != signature || version > maxVersion {
		return span{}, ErrFormat
	}
	at := t.root + 16 + mem.Addr(version+3)&^3
	if err := t.read(head[:4], at); err != nil {
		return span{}, err
	}
	n := order.Uint16(head[2:])
	if n > maxStreams {
		return span{}, fmt.Errorf("%w: %d streams", ErrFormat, n)
	}
	at += 4
	for range n {
		name, s, next, err := t.readStream(at)
		if err != nil {
			return span{}, err
		}
		at = next
		if end := uint64(s.at-t.root) + uint64(s.size); end > 1<<32-1 {
			return span{}, fmt.Errorf("%w: a stream ends at %#x", ErrFormat, end)
		}
		switch name {
		case "#Strings":
			t.strings = s
		case "#Blob":
			t.blobs = s
		case "#GUID":
			t.guids = s
		case "#Pdb":
			t.pdb = s
		case "#~", "#-":
			tables = s
		}
	}
	if tables.size == 0 {
		return span{}, fmt.Errorf("%w: it has no stream of tables", ErrFormat)
	}
	return tables, nil
}

// readStream reads the header of a stream at a, and says where the next one is.
func (t *Tables) readStream(a mem.Addr) (name string, s span, next mem.Addr, err error) {
	b := make([]byte, 12)
	if err = t.read(b, a); err != nil {
		return
	}
	s = span{t.root + mem.Addr(order.Uint32(b)), order.Uint32(b[4:])}
	const longest = 32 // II.24.2.2
	text := make([]byte, 0, longest)
	for at := a + 8; ; at += 4 { // ends: text grows
		if err = t.read(b[:4], at); err != nil {
			return
		}
		for _, c := range b[:4] {
			if c == 0 {
				return string(text), s, at + 4, nil
			}
			text = append(text, c)
		}
		if len(text) >= longest {
			return "", s, 0, fmt.Errorf("%w: the name of a stream has no end", ErrFormat)
		}
	}
}

// readTables finds the tables in the stream s (ECMA-335 II.24.2.6).
func (t *Tables) readTables(s span) error {
	b := make([]byte, 24)
	if err := t.read(b, s.at); err != nil {
		return err
	}
	heaps, present := b[6], order.Uint64(b[8:])
	if present>>tableCount != 0 {
		return fmt.Errorf("%w: it has tables %#x that are not known", ErrFormat, present)
	}
	at := s.at + 24
	counts := make([]byte, 4*bits.OnesCount64(present)+4)
	if err := t.read(counts, at); err != nil {
		return err
	}
	at += mem.Addr(len(counts) - 4)
	if heaps&extraData != 0 {
		at += 4
	}
	var rows [tableCount]uint32
	for n := range tableCount {
		if present>>n&1 == 0 {
			continue
		}
		if rows[n], counts = order.Uint32(counts), counts[4:]; rows[n] > maxRows {
			return fmt.Errorf("%w: table %#x has %d rows", ErrFormat, n, rows[n])
		}
		t.tables[n].rows = rows[n]
	}
	if err := t.readPdb(&rows); err != nil {
		return err
	}
	for n := range tableCount {
		tb := &t.tables[n]
		tb.layOut(schema[n], heaps, &rows)
		tb.at = at
		at += mem.Addr(tb.rows) * mem.Addr(tb.width)
	}
	if uint64(at-s.at) > uint64(s.size) {
		return fmt.Errorf("%w: its tables take %d bytes of %d", ErrFormat, uint64(at-s.at), s.size)
	}
	return nil
}

// readPdb reads the stream of a portable PDB, which has the rows of the tables that its module has.
func (t *Tables) readPdb(rows *[tableCount]uint32) error {
	if t.pdb.size == 0 {
		return nil
	}
	const id, fixed = 20, 32
	b := make([]byte, fixed)
	if err := t.read(b, t.pdb.at); err != nil {
		return err
	}
	t.pdbID = b[:id]
	present := order.Uint64(b[id+4:])
	if present>>documents != 0 {
		return fmt.Errorf("%w: its PDB stream has tables %#x", ErrFormat, present)
	}
	counts := make([]byte, 4*bits.OnesCount64(present))
	if err := t.read(counts, t.pdb.at+fixed); err != nil {
		return err
	}
	for n := range int(documents) {
		if present>>n&1 != 0 {
			rows[n], counts = order.Uint32(counts), counts[4:]
		}
	}
	return nil
}

// PdbID is the id of a portable PDB, 20 bytes; nil for other modules.
func (t *Tables) PdbID() []byte { return t.pdbID }

// read fills b with what is at a.
func (t *Tables) read(b []byte, a mem.Addr) error {
	_, err := t.view.ReadMem(b, a)
	return err
}
