package unwind

import (
	"errors"

	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// tables are the unwind tables of one module.
type tables struct {
	m         *module.Module
	functions Functions
	cfi       *cfi.Table     // .eh_frame; nil if m could not be read
	debug     *cfi.Table     // .debug_frame, made on demand
	debugErr  error          // why that could not be read
	pcln      *pclntab.Table // nil if there is none
	pclnErr   error          // why that could not be read
}

// maxTables bounds the objects of which tables are kept: more than a program has mapped. One that makes new
// ones for ever meets it, and then all are opened again.
const maxTables = 1 << 14

// forget drops the tables of objects that the modules have forgotten (see [module.Set.Keep]). Sites of theirs go with
// them, as they hold their rows.
func (w *Walker) forget() {
	lost := false
	for object := range w.tables {
		if !w.modules.Has(object) {
			delete(w.tables, object)
			lost = true
		}
	}
	if lost {
		w.sites = newSites()
	}
}

// table returns the tables of m, opening them once for all places where the object is mapped.
func (w *Walker) table(m *module.Module) *tables {
	if t, ok := w.tables[m.Object()]; ok {
		return t
	}
	if len(w.tables) >= maxTables {
		clear(w.tables)
	}
	t := &tables{m: m, functions: w.functions}
	w.tables[m.Object()] = t
	if m.Err != nil {
		return t
	}
	if t.cfi = frameTable(m); t.cfi == nil {
		return t
	}
	if t.pcln, t.pclnErr = pclntab.Open(m.Plain, m.Budget()); errors.Is(t.pclnErr, pclntab.ErrNone) {
		t.pclnErr = nil
	}
	return t
}

// frameTable opens the .eh_frame of m, nil for a machine that is not known.
func frameTable(m *module.Module) *cfi.Table {
	arch := regs.OfELF(m.Machine(), m.Class())
	if arch == nil {
		return nil
	}
	config := cfi.Config{WordSize: arch.WordSize, Order: arch.Order, AArch64: arch == regs.ARM64,
		EHFrame: section(m, ".eh_frame"), EHFrameHdr: section(m, ".eh_frame_hdr"), Budget: m.Budget()}
	if s, ok := m.Section(".text"); ok {
		config.TextBase = uint64(s.Addr)
	}
	if s, ok := m.Section(".got"); ok {
		config.DataBase = uint64(s.Addr)
	}
	return cfi.New(config)
}

func section(m *module.Module, name string) cfi.Section {
	addr, data, _ := m.Plain(name)
	return cfi.Section{Addr: addr, Data: data}
}

// found is what the tables say of an address.
type found struct {
	row    *cfi.Row // nil if there is none
	origin Origin
	root   bool // the outermost function of its stack
	leaves bool // the function goes to another stack somewhere, and keeps no frame record
	// injected says that the function was put above the one that runs by a signal handler, at any instruction: where
	// it returns to is no return address.
	injected bool
	why      string
}

// find asks .eh_frame, pclntab, and .debug_frame last: what Go's linker writes there does not tell
// the functions that switch stacks.
func (t *tables) find(v uint64, arch *regs.Arch) found {
	if t.cfi == nil {
		if t.m.Err != nil {
			return found{why: t.m.Err.Error()}
		}
		return found{why: "unknown machine"}
	}
	row, err := t.cfi.Row(v)
	if err == nil {
		return found{row: row, origin: CFI, root: row.RA.Kind == cfi.Undefined}
	}
	if f, ok := t.byPCLN(v, arch); ok {
		return f
	}
	if errors.Is(err, cfi.ErrNoFDE) {
		row, debugErr := t.debugFrame().Row(v)
		if debugErr == nil {
			return found{row: row, origin: CFI, root: row.RA.Kind == cfi.Undefined}
		}
		switch {
		case t.pclnErr != nil:
			err = t.pclnErr
		case t.debugErr != nil:
			err = t.debugErr
		case !errors.Is(debugErr, cfi.ErrNoFDE):
			err = debugErr
		}
	}
	return found{why: err.Error()}
}

// debugFrame returns the table of .debug_frame; an empty one if there is none.
func (t *tables) debugFrame() *cfi.Table {
	if t.debug != nil {
		return t.debug
	}
	arch := regs.OfELF(t.m.Machine(), t.m.Class())
	config := cfi.Config{WordSize: arch.WordSize, Order: arch.Order, AArch64: arch == regs.ARM64, Budget: t.m.Budget()}
	if t.functions != nil {
		// Its addresses are absolute, so that it does not matter where it lies.
		config.DebugFrame.Data, t.debugErr = t.functions.DebugFrame(t.m)
	}
	t.debug = cfi.New(config)
	return t.debug
}
