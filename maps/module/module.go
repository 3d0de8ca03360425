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
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// Vaddr is an address as linked in an ELF object. Only [Module] converts it from and to mem.Addr.
type Vaddr uint64

// File is an opened object. Data is owned by the File and must not be used after Close.
type File struct {
	Data  []byte
	Path  string // as a person should see it: the path in the target's view
	Close func() error
}

// Opener opens the object behind a mapping, through the target's own view of its files.
type Opener func(m *maps.Mapping) (*File, error)

// Section is one section of the object. Data is empty for SHT_NOBITS and where the file
// does not hold it; compressed sections are as in the file with Compressed set.
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
	elf        *image
}

// Name is the last element of the path, or "[vdso]".
func (m *Module) Name() string { panic("module: not built") }

// BuildID is the lower-case hex of the GNU build id note, "" if there is none.
func (m *Module) BuildID() string { panic("module: not built") }

// Base is what is added to a Vaddr to get the mem.Addr, modulo 2^64.
func (m *Module) Base() uint64 { return m.bias }

// Vaddr converts an address of the process.
func (m *Module) Vaddr(a mem.Addr) Vaddr { return Vaddr(uint64(a) - m.bias) }

// Addr converts an address as linked.
func (m *Module) Addr(v Vaddr) mem.Addr { return mem.Addr(uint64(v) + m.bias) }

// Class is the word size in bytes, 4 or 8; 0 if the object could not be read.
func (m *Module) Class() int { panic("module: not built") }

// Machine is e_machine.
func (m *Module) Machine() uint16 { panic("module: not built") }

// Entry is e_entry.
func (m *Module) Entry() Vaddr { panic("module: not built") }

// Section finds a section by name. The section table may be missing (vDSO, sstrip): then
// only what program headers give is found (".eh_frame_hdr", ".dynamic").
func (m *Module) Section(name string) (Section, bool) { panic("module: not built") }

// Sections lists all sections.
func (m *Module) Sections() []Section { panic("module: not built") }

// Segments lists all program headers.
func (m *Module) Segments() []Segment { panic("module: not built") }

// Text returns the bytes of the object's file from v to the end of the executable segment
// that holds it, or false. The bytes are those of the file: code that the process patched
// is read from memory instead.
func (m *Module) Text(v Vaddr) ([]byte, bool) { panic("module: not built") }

// Set is the modules of one process, opened when first asked for.
type Set struct {
	table  *maps.Table
	open   Opener
	memory mem.Reader

	modules []*Module
	byAddr  map[mem.Addr]*Module // start of mapping -> module, nil value: none
}

// NewSet returns the modules of a process with the given mappings. memory is used for the
// vDSO and for objects without a file; it may be nil. Close releases all files.
func NewSet(table *maps.Table, open Opener, memory mem.Reader) *Set {
	return &Set{table: table, open: open, memory: memory, byAddr: map[mem.Addr]*Module{}}
}

// Table returns the mappings that the Set was made of.
func (s *Set) Table() *maps.Table { return s.table }

// Find returns the module that holds addr, opening it if need be. It is nil where no ELF
// object is mapped; a module that could not be read has Err set.
func (s *Set) Find(addr mem.Addr) *Module { panic("module: not built") }

// All returns the modules opened so far, by ID.
func (s *Set) All() []*Module { return s.modules }

// Close releases every file. Modules and their sections must not be used afterwards.
func (s *Set) Close() error { panic("module: not built") }

// Guard runs f and turns a memory fault in it (a mapped file that became shorter) and any
// panic of a parser on malformed bytes into an error that names what.
func Guard(what string, f func() error) error { panic("module: not built") }

type image struct{}
