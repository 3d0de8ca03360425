package module

import (
	"bytes"
	"errors"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/maps"
)

// errNoOpener is the cause where a Set was made without an [Opener].
var errNoOpener = errors.New("files are not read")

// object opens the object behind m, once for each file. It is nil for anonymous memory
// that holds no ELF header.
func (s *Set) object(m *maps.Mapping) *object {
	id := fileID{dev: m.Dev, inode: m.Inode, path: m.Path}
	if !m.IsFile() {
		id.start = m.Start
	}
	if o, ok := s.objects[id]; ok {
		return o
	}
	for _, o := range s.copies {
		if o.spans(m) {
			return o
		}
	}
	o := s.openObject(m)
	if o != nil && o.from != nil { // it stands for one place alone, the file may have others
		s.copies = append(s.copies, o)
		return o
	}
	s.objects[id] = o
	return o
}

// spans reports whether m is a piece of an object that was read from memory.
func (o *object) spans(m *maps.Mapping) bool {
	lo, hi, ok := o.elf.span()
	bias := Vaddr(o.elf.bias)
	return ok && sameFile(o.from, m) && lo+bias <= Vaddr(m.Start) && Vaddr(m.Start) < hi+bias
}

func (s *Set) openObject(m *maps.Mapping) *object {
	if !m.IsFile() {
		return s.fromMemory(m, nil)
	}
	if s.image.Mapping == nil {
		return s.fromMemory(m, fmt.Errorf("open %q: %w", m.Path, errNoOpener))
	}
	f, err := s.image.open(m)
	if err != nil {
		return s.fromMemory(m, err)
	}
	o := &object{path: f.Path, close: f.Close, beside: f.Beside, budget: s.budget.Share()}
	if o.path == "" {
		o.path = m.Path
	}
	s.parse(o, func() (*image, error) { return f.parse(o.budget) })
	return o
}

// parse fills o with what f reads, guarded, and counts its sections.
func (s *Set) parse(o *object, f func() (*image, error)) {
	err := Guard(o.path, func() error {
		im, err := f()
		if err != nil {
			return fmt.Errorf("parse %q: %w", o.path, err)
		}
		s.sections += len(im.sections)
		if s.sections > maxSetSections {
			return fmt.Errorf("parse %q: %w", o.path, ErrTooMany)
		}
		o.elf, o.head = im, bytes.Clone(im.start())
		return nil
	})
	if err != nil {
		o.err = err
	}
}

// index is the place of m in the table.
func (s *Set) index(m *maps.Mapping) int {
	all := s.table.All()
	return sort.Search(len(all), func(i int) bool { return all[i].Start >= m.Start })
}

// lowest goes down from m over neighbours of the same file whose offsets fall with them.
func (s *Set) lowest(m *maps.Mapping) *maps.Mapping {
	all := s.table.All()
	for i := s.index(m) - 1; i >= 0; i-- {
		if !sameFile(&all[i], m) || all[i].Offset > m.Offset || m.Offset == 0 && all[i].End != m.Start {
			break
		}
		m = &all[i]
	}
	return m
}
