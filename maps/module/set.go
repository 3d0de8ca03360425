package module

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// Bounds of one process. What is behind them gets a module with the error [ErrTooMany].
const (
	maxModules     = 1 << 16
	maxSetSections = 1 << 20
)

// Set is the modules of one process, opened when first asked for. It is for one goroutine
// at a time.
type Set struct {
	table  *maps.Table
	image  Image
	budget *work.Budget

	modules []*Module
	byAddr  map[mem.Addr]*Module // start of mapping -> module, nil value: none
	byPlace map[place]*Module
	objects map[fileID]*object
	copies  []*object           // objects read from memory, at most maxCopies
	retired []*object           // files that were written over since, open still
	made    int                 // modules so far
	keep    int                 // how many objects are kept that are mapped no longer; below 0: all
	images  map[*image]struct{} // of objects that are kept, nil where all are

	changes    int           // of the table
	last       *maps.Mapping // of the last address asked for
	sections   int           // read so far, against maxSetSections
	memoryLeft int           // bytes that may still be copied from memory
	unanswered unanswered
}

// fileID tells files apart. A file without an inode (the vDSO, anonymous memory) is known
// by where it is mapped.
type fileID struct {
	dev, inode uint64
	path       string
	start      mem.Addr
}

// place tells the modules of one process apart: a file may be mapped at several.
type place struct {
	object *object
	bias   uint64
}

// object is a file as opened once for all its modules.
type object struct {
	path   string
	elf    *image
	err    error
	close  func() error
	beside func(path string) (*File, error)
	head   []byte // a copy of its ELF header, nil if it could not be read
	budget *work.Budget
	from   *maps.Mapping // of an object read from memory: the lowest mapping, else nil
}

// NewSet returns the modules of a process with the given mappings. The memory of the image is used for the
// vDSO and for objects without a file. Close releases all files.
func NewSet(table *maps.Table, image Image) *Set {
	return &Set{table: table, image: image, byAddr: map[mem.Addr]*Module{},
		byPlace: map[place]*Module{}, objects: map[fileID]*object{}, memoryLeft: maxSetMemory, keep: -1}
}

// Charge bounds by b what reading the modules may take, here and by those who ask them later
// ([Module.Budget]): each file may take half of what is left when it is opened. It is called
// before anything is asked; without it nothing is bounded.
func (s *Set) Charge(b *work.Budget) { s.budget = b }

// Budget is what Charge was given.
func (s *Set) Budget() *work.Budget { return s.budget }

// Image returns what the modules are read from.
func (s *Set) Image() Image { return s.image }

// Table returns the mappings that the Set was made of, or given last.
func (s *Set) Table() *maps.Table { return s.table }

// mapping is Table.Find that remembers its last answer: a walk stays in few mappings.
func (s *Set) mapping(addr mem.Addr) *maps.Mapping {
	if s.last != nil && s.last.Contains(addr) {
		return s.last
	}
	m := s.table.Find(addr)
	if m != nil {
		s.last = m
	}
	return m
}

// Executable reports whether the process may execute at addr. It opens nothing.
func (s *Set) Executable(addr mem.Addr) bool {
	m := s.mapping(addr)
	return m != nil && m.Perm&maps.Exec != 0
}

// Find returns the module that holds addr, opening it if need be. It is nil where no ELF
// object is mapped; a module that could not be read has Err set.
func (s *Set) Find(addr mem.Addr) *Module {
	m := s.mapping(addr)
	if m == nil {
		return nil
	}
	mod, seen := s.byAddr[m.Start]
	if !seen {
		mod = s.load(m)
		s.byAddr[m.Start] = mod
	}
	if mod == nil && !m.IsFile() && m.Perm&maps.Exec != 0 {
		return s.around(m, addr)
	}
	return mod
}

// around returns the module whose executable segment spans addr although the memory there
// is anonymous: programs that move their own code to large pages (node --use-largepages).
func (s *Set) around(m *maps.Mapping, addr mem.Addr) *Module {
	below := s.below(m)
	if below == nil || !below.IsFile() {
		return nil
	}
	mod, seen := s.byAddr[below.Start]
	if !seen {
		mod = s.load(below)
		s.byAddr[below.Start] = mod
	}
	if mod == nil || mod.Err != nil {
		return nil
	}
	if _, ok := mod.Text(mod.Vaddr(addr)); !ok {
		return nil
	}
	return mod
}

// below returns the mapping before m, or nil.
func (s *Set) below(m *maps.Mapping) *maps.Mapping {
	all := s.table.All()
	if i := s.index(m); i > 0 {
		return &all[i-1]
	}
	return nil
}

// load makes or finds the module of a mapping.
func (s *Set) load(m *maps.Mapping) *Module {
	vdso := m.Path == "[vdso]"
	if !m.IsFile() && !vdso && m.Perm&maps.Exec == 0 {
		return nil
	}
	obj := s.object(m)
	if obj == nil {
		return nil
	}
	bias, err := obj.place(s, m)
	if mod, ok := s.byPlace[place{obj, bias}]; ok {
		return mod
	}
	if len(s.modules) >= maxModules {
		return s.modules[maxModules-1]
	}
	mod := &Module{ID: s.made, Path: obj.path, Deleted: m.Deleted, VDSO: vdso, Err: err,
		start: m.Start, end: m.End, from: *m, bias: bias, elf: obj.elf, beside: obj.beside, budget: obj.budget}
	if len(s.modules) == maxModules-1 {
		mod.Err = fmt.Errorf("open %q: %w", obj.path, ErrTooMany)
	}
	if mod.Err != nil {
		mod.elf = &image{}
	} else if lo, hi, ok := obj.elf.span(); ok {
		mod.start, mod.end = mod.Addr(lo), mod.Addr(hi)
	}
	s.made++
	s.modules = append(s.modules, mod)
	if s.images != nil {
		s.images[mod.elf] = struct{}{}
	}
	s.byPlace[place{obj, bias}] = mod
	return mod
}

// place returns the bias of the object at m. With an error it is the address of the file's
// first byte, as the lowest neighbour of m tells.
func (o *object) place(s *Set, m *maps.Mapping) (uint64, error) {
	err := o.err
	if err == nil {
		if o.from != nil {
			return o.elf.bias, nil
		}
		if bias, ok := biasOf(o.elf.loads, m, s.table); ok {
			return bias, nil
		}
		err = fmt.Errorf("place %q: %w", o.path,
			&FormatError{uint64(m.Offset), "no segment loads these bytes"})
	}
	low := s.lowest(m)
	return uint64(low.Start) - uint64(low.Offset), err
}

// All returns the modules opened so far and not forgotten, by ID.
func (s *Set) All() []*Module { return s.modules }

// Unanswered says which files could not be read as their file system does not answer: what is in memory stands for
// them. Each is said once, and at most maxUnanswered are.
func (s *Set) Unanswered() []error { return s.unanswered }

const maxUnanswered = 16

// unanswered are errors that wrap errand.ErrNoAnswer, each with another text.
type unanswered []error

func (u *unanswered) add(err error) {
	same := func(e error) bool { return e.Error() == err.Error() }
	if len(*u) < maxUnanswered && !slices.ContainsFunc(*u, same) {
		*u = append(*u, err)
	}
}

// Close releases every file. Modules and their sections must not be used afterwards.
func (s *Set) Close() error {
	var errs []error
	release := func(o *object) {
		if o != nil && o.close != nil {
			errs = append(errs, o.close())
			o.close = nil
		}
	}
	for _, o := range s.objects {
		release(o)
	}
	for _, o := range s.retired {
		release(o)
	}
	return errors.Join(errs...)
}
