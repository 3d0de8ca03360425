package module

import "fmt"

// NewFile returns the object in f as a module that is mapped nowhere: its addresses in the
// process are those of the link. It is for files that only describe others (separate
// debug files, split DWARF, which is relocatable) and for objects looked at without a process.
//
// The caller keeps f open as long as the module is used. It fails with [ErrNotELF] or a
// *[FormatError], both with the path.
func NewFile(f *File) (*Module, error) {
	m := &Module{Path: f.Path, beside: f.Beside, budget: f.Budget}
	err := Guard(f.Path, func() error {
		im := &image{data: f.Data, forget: f.Forget, unmapped: true, budget: f.Budget}
		if err := im.parseAll(f.Data); err != nil {
			return fmt.Errorf("parse %q: %w", f.Path, err)
		}
		m.elf = im
		return nil
	})
	if err != nil {
		return nil, err
	}
	if lo, hi, ok := m.elf.span(); ok {
		m.start, m.end = m.Addr(lo), m.Addr(hi)
	}
	return m, nil
}
