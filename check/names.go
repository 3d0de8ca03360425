package check

import (
	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/debugfile"
)

// files finds what says more about m than it does itself.
func (l *inspection) files() {
	var err error
	l.mini, err = debugfile.Mini(l.m)
	l.note(err)
	if l.opt.Debug == nil || l.m.VDSO || hasDWARF(l.m) && hasSection(l.m, ".symtab") {
		return
	}
	l.debug, err = l.opt.Debug.Debug(l.m)
	l.note(err)
}

func hasSection(m *module.Module, name string) bool {
	s, ok := m.Section(name)
	return ok && len(s.Data) > 0
}

func hasDWARF(m *module.Module) bool {
	return symbol.NewDWARF(m, symbol.DebugFileOf(m), symbol.DebugLinks{}).Has()
}

// functions is a list of functions and where it came from.
type functions struct {
	from string
	list []symbol.Function // in order of address
}

// symbols lists the tables of names, and returns the functions of the one that knows most.
func (l *inspection) symbols() functions {
	var best functions
	keep := func(from, path string, list []symbol.Function, err error) {
		l.note(err)
		if len(list) == 0 {
			return
		}
		l.out.Symbols = append(l.out.Symbols, SymbolTable{Name: from, Path: path, Functions: len(list)})
		if best.list == nil && from != ".dynsym" { // exports alone are the few that happen to be
			best = functions{from, list}
		}
	}
	own := symbol.New(l.m)
	list, err := own.Functions(".symtab", maxFunctions)
	keep(".symtab", "", list, err)
	if list == nil && l.debug != nil {
		list, err = symbol.New(l.debug).Functions(".symtab", maxFunctions)
		keep(".symtab", l.debug.Path, list, err)
	}
	if l.mini != nil {
		list, err = symbol.New(l.mini).Functions(".symtab", maxFunctions)
		keep(".gnu_debugdata", "", list, err)
	}
	if t := l.openGo(); t != nil {
		list, err = goFunctions(t)
		keep("pclntab", "", list, err)
	}
	list, err = own.Functions(".dynsym", maxFunctions)
	keep(".dynsym", "", list, err)
	if best.list == nil {
		best = l.fromTables(list)
	}
	return best
}

// goFunctions lists the functions of Go's table.
func goFunctions(t *pclntab.Table) (list []symbol.Function, err error) {
	at, hi := t.Bounds()
	for at < hi {
		f, ok := t.Func(at)
		if !ok || f.End <= at {
			break
		}
		if len(list) == maxFunctions {
			return list, errTooMany("pclntab")
		}
		list = append(list, symbol.Function{Start: module.Vaddr(f.Entry), End: module.Vaddr(f.End)})
		at = f.End
	}
	return list, nil
}

// fromTables lists the functions of an object without symbols: where unwind tables say that one
// begins, and the exports.
func (l *inspection) fromTables(exports []symbol.Function) functions {
	out := functions{from: ".dynsym", list: exports}
	for _, e := range l.entries {
		if e.whole {
			out.list = append(out.list, symbol.Function{Start: module.Vaddr(e.Start), End: module.Vaddr(e.End)})
			out.from = "unwind tables"
		}
	}
	return out
}

// lines finds where files and lines come from.
func (l *inspection) lines() {
	switch {
	case hasDWARF(l.m):
		l.out.Lines = Lines{Kind: "dwarf"}
	case l.debug != nil && hasDWARF(l.debug):
		l.out.Lines = Lines{Kind: "dwarf", Path: l.debug.Path}
	case l.golang != span{}:
		l.out.Lines = Lines{Kind: "go"}
	}
}

// name names an address by the files that say more than the object itself, "" if they do not.
func (l *inspection) name(v module.Vaddr) string {
	for _, m := range []*module.Module{l.debug, l.mini} {
		if m == nil {
			continue
		}
		if found, _ := symbol.New(m).Lookup([]module.Vaddr{v}); found[0] != nil { // errors were reported
			return symbol.Demangle(found[0].Name)
		}
	}
	return ""
}
