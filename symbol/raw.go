package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/fpstack/fpstack/maps/module"
)

// maxName bounds the length of a name that is read, bytes.
const maxName = 16 << 10

// entry is one usable symbol, as the choice needs it.
type entry struct {
	start, size uint64
	end         uint64 // start+size, no further than the section; the section's end if size is 0
	index       uint32 // in its table
	info        uint8
	table       *rawTable
}

// rawTable is .symtab or .dynsym with its strings.
type rawTable struct {
	label   string // section name, for errors
	rank    uint8  // 0 .symtab, 1 .dynsym: the lower is believed
	data    []byte
	strings []byte
	version []byte // .gnu.version, nil for .symtab
	size    int    // bytes of one entry
	wide    bool   // Elf64_Sym
	big     bool   // big-endian
	thumb   bool   // bit 0 of a function's address is not part of it
	exec    execRanges
	forget  func(part []byte) // [module.Module.Forget]
	err     error             // the table is cut
}

// newTable finds the table named label in m, nil if there is none.
func newTable(m *module.Module, label string, rank uint8) *rawTable {
	s, ok := m.Section(label)
	if !ok || s.Size == 0 || s.Type == module.SHTNobits || (m.Class() != 4 && m.Class() != 8) {
		return nil
	}
	t := &rawTable{label: label, rank: rank, data: s.Data, wide: m.Class() == 8,
		big: m.Order() == binary.ByteOrder(binary.BigEndian), thumb: m.Machine() == emARM}
	t.size = 16
	if t.wide {
		t.size = 24
	}
	if uint64(len(s.Data)) < s.Size {
		t.err = fmt.Errorf("read %s of %q: %d of %d bytes are in the file", label, m.Path, len(s.Data), s.Size)
	}
	t.exec, t.forget = executable(m), m.Forget
	sections := m.Sections()
	if label == ".dynsym" {
		if v, ok := m.Section(".gnu.version"); ok {
			t.version = v.Data
		}
		if str, ok := m.Section(".dynstr"); ok {
			t.strings = str.Data
		}
	}
	if t.strings == nil && int64(s.Link) < int64(len(sections)) {
		t.strings = sections[s.Link].Data
	}
	if len(t.strings) == 0 && t.err == nil {
		t.err = fmt.Errorf("read %s of %q: its string table is not in the file", label, m.Path)
	}
	return t
}

// piece is how much of a table is held at once by who reads all of it, symbols.
const piece = 1 << 15

// done lets go of the piece before symbol i, and of the strings that were read with it, where one ends at i. A large
// program has a hundred thousand symbols with ten megabytes of names.
func (t *rawTable) done(i int) {
	if from := max(0, i-1) / piece * piece; i%piece == 0 && i > 0 || i == t.count() && i > piece {
		t.forget(t.data[from*t.size : i*t.size])
		t.forget(t.strings)
	}
}

func (t *rawTable) count() int { return len(t.data) / t.size }

func (t *rawTable) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if t.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (t *rawTable) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if t.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}

func (t *rawTable) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if t.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// kind is the type of symbol i, without the rest of its st_info.
func (t *rawTable) kind(i int) byte {
	if t.wide {
		return t.data[i*24+4] & 0xf
	}
	return t.data[i*16+12] & 0xf
}

// extent is where symbol i begins and how many bytes it says it has, which may be more than there are; false for what
// cannot name code by its type.
func (t *rawTable) extent(i int) (start, size uint64, ok bool) {
	b := t.data[i*t.size:]
	var info byte
	if t.wide {
		b = b[:24]
		info, start, size = b[4], t.u64(b[8:]), t.u64(b[16:])
	} else {
		b = b[:16]
		info, start, size = b[12], uint64(t.u32(b[4:])), uint64(t.u32(b[8:]))
	}
	if t.thumb && info&0xf == sttFunc {
		start &^= 1
	}
	return start, size, mayBeCode[info&0xf]
}

// mayBeCode are the types of symbols that can name code.
var mayBeCode = [16]bool{sttFunc: true, sttNotype: true, sttIFunc: true}

// read decodes symbol i into e. It is false for what cannot name code: data, files, sections,
// undefined symbols, marks of the assembler, addresses outside of executable sections.
// Layouts: Elf32_Sym and Elf64_Sym in elf(5).
func (t *rawTable) read(i int, e *entry) bool {
	b := t.data[i*t.size:]
	var shndx uint16
	if t.wide {
		b = b[:24]
		e.info, shndx = b[4], t.u16(b[6:])
	} else {
		b = b[:16]
		e.info, shndx = b[12], t.u16(b[14:])
	}
	var ok bool
	if e.start, e.size, ok = t.extent(i); !ok || shndx == shnUndef {
		return false
	}
	limit, ok := t.exec.end(shndx, e.start)
	if !ok {
		return false
	}
	e.end = limit
	if e.size != 0 && e.size < limit-e.start {
		e.end = e.start + e.size
	}
	e.index, e.table = uint32(i), t
	return e.info&0xf != sttNotype || !unusable(e.beginOfName())
}

// beginOfName is as much of the name as tells a mark of the assembler: a name may be long, and each of
// a million symbols have it.
func (e *entry) beginOfName() []byte {
	t := e.table
	off := uint64(t.u32(t.data[int(e.index)*t.size:]))
	if off >= uint64(len(t.strings)) {
		return nil
	}
	s := t.strings[off:min(off+2, uint64(len(t.strings)))]
	if n := bytes.IndexByte(s, 0); n >= 0 {
		s = s[:n]
	}
	return s
}

// nameBytes is the name of e as in the table, nil if it is not there or goes on beyond maxName.
func (e *entry) nameBytes() []byte {
	t := e.table
	b := t.data[int(e.index)*t.size:]
	off := uint64(t.u32(b))
	if off >= uint64(len(t.strings)) {
		return nil
	}
	s := t.strings[off:]
	if len(s) > maxName {
		s = s[:maxName]
	}
	n := bytes.IndexByte(s, 0)
	if n < 0 {
		return nil
	}
	return s[:n]
}

// hidden says that the symbol is not the default version of its name ("@" and not "@@").
// Source: Linux Standard Base Core, "Symbol Version Table": bit 15.
func (e *entry) hidden() bool {
	v := e.table.version
	at := 2 * int(e.index)
	return at+2 <= len(v) && e.table.u16(v[at:])&0x8000 != 0
}
