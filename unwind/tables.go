package unwind

import (
	"errors"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol/pclntab"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// tables are the unwind tables of one module.
type tables struct {
	m         *module.Module
	functions Functions
	cfi       *cfi.Table // .eh_frame; nil if m could not be read
	debug     *cfi.Table // .debug_frame, made on demand
	debugErr  error      // why that could not be read
	pcln      *pclntab.Table
	err       error // why pcln could not be read
}

// maxTables bounds the objects of which tables are kept: more than a program has mapped. One that makes new
// ones for ever meets it, and then all are opened anew.
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
	arch := archOf(m)
	if arch == nil {
		return t
	}
	config := cfi.Config{WordSize: arch.WordSize, Order: arch.Order, AArch64: arch == regs.ARM64,
		EHFrame: section(m, ".eh_frame"), EHFrameHdr: section(m, ".eh_frame_hdr"), Budget: m.Budget()}
	if s, ok := m.Section(".text"); ok {
		config.TextBase = uint64(s.Addr)
	}
	if s, ok := m.Section(".got"); ok {
		config.DataBase = uint64(s.Addr)
	}
	t.cfi = cfi.New(config)
	t.pcln, t.err = openPCLN(m)
	return t
}

// archOf is the architecture that m is code of.
func archOf(m *module.Module) *regs.Arch {
	for _, a := range regs.All {
		if a.Machine == m.Machine() && a.WordSize == m.Class() {
			return a
		}
	}
	return nil
}

func section(m *module.Module, name string) cfi.Section {
	s, ok := m.Section(name)
	if !ok || s.Compressed {
		return cfi.Section{}
	}
	return cfi.Section{Addr: uint64(s.Addr), Data: s.Data}
}

// found is what the tables say of an address.
type found struct {
	row    compiled
	root   bool // the outermost function of its stack
	leaves bool // the function goes to another stack somewhere, and keeps no frame record
	grows  bool // it is runtime.morestack
	// resumes says that it goes to a goroutine and never comes back.
	resumes bool
	why     string
}

// find asks .eh_frame, Go's table, and .debug_frame last: what Go writes there does not tell
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
		return found{row: compile(row, CFI, arch), root: row.RA.Kind == cfi.Undefined}
	}
	if f, ok := t.golang(v, arch); ok {
		return f
	}
	if errors.Is(err, cfi.ErrNoFDE) {
		row, debugErr := t.debugFrame().Row(v)
		if debugErr == nil {
			return found{row: compile(row, CFI, arch), root: row.RA.Kind == cfi.Undefined}
		}
		switch {
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
	arch := archOf(t.m)
	config := cfi.Config{WordSize: arch.WordSize, Order: arch.Order, AArch64: arch == regs.ARM64, Budget: t.m.Budget()}
	if t.functions != nil {
		// Its addresses are absolute, so that it does not matter where it lies.
		config.DebugFrame.Data, t.debugErr = t.functions.DebugFrame(t.m)
	}
	t.debug = cfi.New(config)
	return t.debug
}
