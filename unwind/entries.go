package unwind

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Entries says where the functions of one module begin by its unwind table, whether they have names or not.
type Entries struct{ table *cfi.Table }

// NewEntries opens the table of m. It finds nothing where m could not be read or has none.
func NewEntries(m *module.Module) *Entries {
	e := &Entries{}
	if m.Err == nil {
		e.table = frameTable(m)
	}
	return e
}

// Start is where the entry of .eh_frame that covers v begins, which is a function or, of one that the compiler split, a
// part of it. It is false where none does.
func (e *Entries) Start(v module.Vaddr) (module.Vaddr, bool) {
	if e.table == nil {
		return 0, false
	}
	f, err := e.table.FDE(uint64(v))
	return module.Vaddr(f.Start), err == nil
}
