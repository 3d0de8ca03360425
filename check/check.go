// Package check reports what can be had of an object before anyone needs it: whether its stacks can
// be walked (unwind tables, frame pointers), whether its functions have names and lines, and what to
// change in the build where they cannot. Of a live process it also reports how far frame pointers
// alone lead on each thread, and in which function they break.
//
// The caller provides modules, mapped or not, and a way to the separate debug files. For threads it
// provides the stacks, walked both ways.
//
// It guarantees bounded work on any bytes. What is unknown is reported as such and counts neither
// for nor against an object.
//
// It opens no files, stops nothing and renders nothing.
package check

import (
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol"
)

// Module is what can be had of one object.
type Module struct {
	Path    string
	BuildID string // "" if there is none
	Arch    string // "amd64", "" if it is of no known machine
	Deleted bool
	VDSO    bool
	// Err says why nothing could be read; the rest is empty then.
	Err error
	// Compilers are those that wrote parts of it, as it says itself; none: it does not.
	Compilers []Compiler
	Code      uint64 // bytes of code, without padding, PLT and start-up sections

	Tables  Tables
	Symbols []SymbolTable // by how much they know, the best first; none: nothing can be named
	Lines   Lines
	Frames  FramePointers
	// Cut says why not all of it was read, nil if all was: what it has is counted too low.
	Cut error
	// Notes are what could not be read, and what may make a number smaller than it is.
	Notes []string

	// judge reads one more function, as long as the object may be read; nil if it never could be.
	judge func(symbol.Function) verdict
	// name names an address by the separate debug file or .gnu_debugdata; nil like judge.
	name func(module.Vaddr) string
}

// Tables is what the unwind tables of an object cover.
type Tables struct {
	Kinds   []TableKind // those that cover code
	Covered uint64      // bytes of Module.Code that one of them covers, or several
	NoIndex bool        // .eh_frame has no .eh_frame_hdr: it is read in whole at the first address
}

// TableKind is one unwind table.
type TableKind struct {
	Name    string // ".eh_frame", "pclntab", ".debug_frame"
	Covered uint64 // bytes of Module.Code
}

// SymbolTable is one table of names.
type SymbolTable struct {
	Name      string // ".symtab", ".dynsym", "pclntab", ".gnu_debugdata"
	Path      string // of the separate debug file that holds it, "" for the object itself
	Functions int
}

// Lines says where lines come from.
type Lines struct {
	Kind string // "dwarf", "go", "" for nowhere
	Path string // of the separate debug file, "" for the object itself
}

// FramePointers counts functions by what they do with the frame pointer. Looked is the sum of
// the four behind it.
type FramePointers struct {
	From   string // which table lists the functions, "" if none did
	All    int    // functions known
	Looked int    // of them, those whose instructions were read

	Kept      int // each call finds a frame record of the function
	Missing   int // some call finds none: who follows frame pointers loses its caller there
	NotNeeded int // calls nobody, or is the outermost
	Unclear   int // its instructions do not show it, or are not known
}

// Share is the part of the functions that need a frame record which make one; not ok if none does.
func (f *FramePointers) Share() (float64, bool) {
	if f.Kept+f.Missing == 0 {
		return 0, false
	}
	return float64(f.Kept) / float64(f.Kept+f.Missing), true
}

// Share is the part of the code that tables cover; not ok if there is no code.
func (m *Module) Share() (float64, bool) {
	if m.Code == 0 {
		return 0, false
	}
	return float64(m.Tables.Covered) / float64(m.Code), true
}

// DebugFiles finds separate debug files.
type DebugFiles interface {
	// Debug returns the debug file of m, nil if there is none. An error may come with it.
	Debug(m *module.Module) (*module.Module, error)
}

// Options says how to check.
type Options struct {
	Sample int        // functions of an object whose instructions are read, evenly chosen; 0: all
	Debug  DebugFiles // nil: separate debug files are not looked for
}

// Inspect reports what can be had of m. It reads the whole of its tables. The result may be given to
// [Threads] as long as m and its debug file can be read.
func Inspect(m *module.Module, opt Options) *Module {
	r := &Module{Path: m.Path, BuildID: m.BuildID(), Deleted: m.Deleted, VDSO: m.VDSO, Err: m.Err}
	if m.Err != nil {
		return r
	}
	l := &inspection{m: m, out: r, opt: opt}
	if err := module.Guard(m.Path, func() error { l.all(); return nil }); err != nil {
		*r = Module{Path: r.Path, BuildID: r.BuildID, Deleted: r.Deleted, VDSO: r.VDSO, Err: err}
		return r
	}
	r.judge = func(f symbol.Function) (v verdict) {
		if module.Guard(m.Path, func() error { v = l.judge(f); return nil }) != nil {
			return unclear
		}
		return v
	}
	r.name = l.name
	return r
}

// inspection is the work on one object.
type inspection struct {
	m     *module.Module
	debug *module.Module // separate debug file, nil without
	mini  *module.Module // unpacked .gnu_debugdata, nil without
	out   *Module
	opt   Options

	code    spans    // executable, in order of address
	covered []cover  // by each unwind table
	entries []bounds // of .eh_frame and .debug_frame
	outer   spans    // those of entries that are the outermost of their stacks
	golang  span     // code that Go's table covers
}

// all fills out, cheap and sure things first.
func (l *inspection) all() {
	if a := regs.OfELF(l.m.Machine(), l.m.Class()); a != nil {
		l.out.Arch = a.Name
	}
	l.out.Compilers = compilers(l.m)
	l.code = codeOf(l.m)
	l.files()
	if len(l.out.Compilers) == 0 && l.debug != nil {
		l.out.Compilers = compilers(l.debug)
	}
	l.tables()
	list := l.symbols()
	list.list = l.withoutStartUp(l.inCode(list.list))
	l.coverage()
	l.lines()
	l.frames(list)
	if err := l.m.Budget().Err(); err != nil {
		l.out.Cut = fmt.Errorf("not all of %q was read: %w", l.m.Path, err)
		l.note(l.out.Cut)
	}
}

// note keeps an error for the reader.
func (l *inspection) note(err error) {
	if err != nil {
		l.out.Notes = append(l.out.Notes, err.Error())
	}
}

// maxFunctions bounds the functions that are listed of one object. The largest programs have
// about a million.
const maxFunctions = 1 << 21

// errTooMany says that a table has more entries than are listed.
func errTooMany(table string) error {
	return fmt.Errorf("list %s: more than %d functions", table, maxFunctions)
}
