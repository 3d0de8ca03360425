// Package module holds one ELF object as it is mapped into a process: path, build id, load
// bias, and the sections and segments that unwinding and naming read.
//
// It opens files only through the [Opener] given to it, reads headers by itself (no
// debug/elf: a dump has a budget of microseconds a module) and never trusts a length or an
// offset of the file. The bytes may be a mapping of a file that shrinks while it is read:
// [Guard] turns the fault into an error.
//
// Sources: System V gABI chapters 4 and 5, elf(5), GNU build-id notes.
package module

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// Vaddr is an address as linked in an ELF object. Only [Module] converts it from and to mem.Addr.
type Vaddr uint64

// File is an opened object. Data is owned by the File and must not be used after Close.
type File struct {
	Data  []byte
	Path  string // as a person should see it: the path in the target's view
	Close func() error
	// Forget lets go of the memory that holds part of Data, which comes back when that is read again; nil where Data
	// is all there is.
	Forget func(part []byte)
	// Beside opens another file in the view that this one was opened through, by its absolute
	// path there; nil if that cannot be. Once the view is gone (its process has ended) it fails
	// with fs.ErrNotExist.
	Beside func(path string) (*File, error)
	// Budget bounds what reading the file may take where no [Set] does; nil: nothing does.
	Budget *work.Budget

	shared *sharedFile // nil for a file of one process
}

// Opener opens the object behind a mapping, through the target's own view of its files.
type Opener func(m *maps.Mapping) (*File, error)

// Section is one section of the object. Data is empty for SHT_NOBITS and where the file
// does not hold all of it; compressed sections are as in the file with Compressed set.
type Section struct {
	Name       string
	Addr       Vaddr
	Offset     int64
	Type       uint32 // sh_type
	Flags      uint64 // sh_flags
	Link, Info uint32
	EntSize    uint64
	Size       uint64 // sh_size
	Data       []byte
	Compressed bool // SHF_COMPRESSED
}

// Segment is one program header with its bytes in the file.
type Segment struct {
	Type   uint32 // p_type
	Flags  uint32 // p_flags: 1 x, 2 w, 4 r
	Offset int64
	Addr   Vaddr
	MemSz  uint64
	Data   []byte // p_filesz bytes, cut where the file ends
	fileSz uint64 // p_filesz as the header says
}

// Module is one ELF object at one place in one process. It is safe for one goroutine at a time.
type Module struct {
	ID      int    // number in its Set, from 0, in the order of first use
	Path    string // in the target's view
	Deleted bool
	VDSO    bool
	// Err says why the object could not be read; the module is then a name without contents.
	Err error

	start, end mem.Addr // lowest and highest mapped address that belongs to it
	bias       uint64
	elf        *image       // never nil; empty if Err is set
	from       maps.Mapping // what it was found by
	unmapped   int          // at how many updates in a row nothing of it was mapped
	beside     func(path string) (*File, error)
	budget     *work.Budget
}

// Budget is what may yet be done to read the object and what belongs to it; nil: everything.
func (m *Module) Budget() *work.Budget { return m.budget }

// Forget lets go of the memory of data, a part of the object's file that was read once and is large, as a table of
// symbols. It comes back when it is read again.
func (m *Module) Forget(data []byte) {
	if m.elf.forget != nil {
		m.elf.forget(data)
	}
}

// Beside opens another file in the view that the module's own was opened through, see
// [File.Beside]. It fails with fs.ErrNotExist where there is no such view.
func (m *Module) Beside(path string) (*File, error) {
	if m.beside == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return m.beside(path)
}

// Made says that the mapped file is code that the process made, not an object that could not be read: no
// ELF object, and without a name in any folder (memfd_create(2), an unlinked file). Err is set all the same.
func (m *Module) Made() bool { return m.Deleted && errors.Is(m.Err, ErrNotELF) }

// Name is the last element of the path, or "[vdso]".
func (m *Module) Name() string {
	if m.Path == "" {
		return ""
	}
	return path.Base(m.Path)
}

// BuildID is the lower-case hex of the GNU build id note, "" if there is none.
func (m *Module) BuildID() string { return m.elf.buildID }

// Base is what is added to a Vaddr to get the mem.Addr, modulo 2^64. Of a module that
// could not be read it is the address of the file's first byte.
func (m *Module) Base() uint64 { return m.bias }

// Start is the lowest address of the object in the process, rounded down to a page.
func (m *Module) Start() mem.Addr { return m.start }

// End is the address behind the object's last byte in the process, .bss included.
func (m *Module) End() mem.Addr { return m.end }

// Vaddr converts an address of the process.
func (m *Module) Vaddr(a mem.Addr) Vaddr { return Vaddr(uint64(a) - m.bias) }

// Addr converts an address as linked.
func (m *Module) Addr(v Vaddr) mem.Addr { return mem.Addr(uint64(v) + m.bias) }

// Class is the word size in bytes, 4 or 8; 0 if the object could not be read.
func (m *Module) Class() int { return m.elf.class }

// Order is the byte order of the object, little-endian if it could not be read.
func (m *Module) Order() binary.ByteOrder {
	if m.elf.order == nil {
		return binary.LittleEndian
	}
	return m.elf.order
}

// Machine is e_machine.
func (m *Module) Machine() uint16 { return m.elf.machine }

// Entry is e_entry.
func (m *Module) Entry() Vaddr { return m.elf.entry }

// Section finds a section by name. Where the section table is missing or does not hold
// them (vDSO, sstrip, a truncated file, an object read from memory), what program headers
// give is found too: ".eh_frame_hdr", ".eh_frame", ".dynamic", ".dynsym", ".dynstr",
// ".gnu.hash", ".hash". The end of such an ".eh_frame" is not known: it reaches to the end
// of its segment.
func (m *Module) Section(name string) (Section, bool) {
	if i := m.elf.section(name); i >= 0 {
		return m.elf.sections[i], true
	}
	return Section{}, false
}

// Plain returns the bytes of a section and the address that it is linked at, false if there is none or if it is
// compressed: what the readers of tables ask for.
func (m *Module) Plain(name string) (addr uint64, data []byte, ok bool) {
	s, ok := m.Section(name)
	if !ok || s.Compressed {
		return 0, nil, false
	}
	return uint64(s.Addr), s.Data, true
}

// Sections lists all sections, by their number in the section table (so that st_shndx is
// an index), those that only program headers give behind them. The Module owns the slice.
func (m *Module) Sections() []Section { return m.elf.sections }

// SectionsErr says why the object has no sections though its header names a section table:
// the file is cut or malformed. It is nil for one that never had a table.
func (m *Module) SectionsErr() error {
	if m.elf == nil || m.elf.cut == nil {
		return nil
	}
	return fmt.Errorf("parse %q: %w", m.Path, m.elf.cut)
}

// Segments lists all program headers. The Module owns the slice.
func (m *Module) Segments() []Segment { return m.elf.segments }

// Loaded returns the bytes of the object's file from v to the end of the segment that holds it, or
// false.
func (m *Module) Loaded(v Vaddr) ([]byte, bool) { return m.elf.fromVaddr(v) }

// Code returns the executable segment that holds v, or false.
func (m *Module) Code(v Vaddr) (*Segment, bool) {
	for _, p := range m.elf.loads {
		if p.Flags&PFX != 0 && v >= p.Addr && uint64(v-p.Addr) < uint64(len(p.Data)) {
			return p, true
		}
	}
	return nil, false
}

// Text returns the bytes of the object's file from v to the end of the executable segment
// that holds it, or false. The bytes are those of the file: code that the process patched
// is read from memory instead.
func (m *Module) Text(v Vaddr) ([]byte, bool) {
	p, ok := m.Code(v)
	if !ok {
		return nil, false
	}
	return p.Data[v-p.Addr:], true
}
