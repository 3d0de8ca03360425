package symbol

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

// Call is one logical frame as a [DebugInfo] knows it.
type Call struct {
	Func     string       // as a person reads it, "" if unknown
	Linkage  string       // as in the object, "" if unknown
	File     string       // "" if unknown
	Line     int          // 0 if unknown
	Start    module.Vaddr // first address of the function, if HasStart; not of inlined calls
	HasStart bool
}

// DebugInfo knows lines and inlined calls of a module: Go's own table, [DWARF], and whatever else
// is given to [NewResolver].
type DebugInfo interface {
	// Calls returns for each address the logical calls there, innermost first, the function
	// itself last; nil for an address that it knows nothing of. An error comes with the
	// results that could be had.
	Calls(addrs []module.Vaddr) ([][]Call, error)
}

// Query is one address to name.
type Query struct {
	// Lookup lies in the instruction that ran: the interrupted PC, or an address inside the
	// call, as unwind.Frame.LookupPC gives it.
	Lookup module.Vaddr
	// PC is the address as shown, which Offset counts to.
	PC module.Vaddr
}

// Options says what is not wanted.
type Options struct {
	NoInlines bool // only the function itself
	NoLines   bool // no files and lines
}

// Resolver names the addresses of one module. It is for one goroutine at a time.
type Resolver struct {
	m        *module.Module
	table    *Table
	golang   *goSource
	separate *separate
	unwind   debugFrame
	plt      *stubs
	sources  []DebugInfo
}

// NewResolver returns a Resolver that asks the module's own tables and DWARF, where it has none
// those of the files that belong to it (nil files: none), and sources in their order for what
// those do not know.
func NewResolver(m *module.Module, files *Files, sources ...DebugInfo) *Resolver {
	t, s := New(m), newSeparate(m, files)
	t.elsewhere = s.symtab
	return &Resolver{m: m, table: t, golang: &goSource{m: m}, plt: &stubs{m: m, table: t}, separate: s,
		sources: sources}
}

// Table is what names symbols for r, by those of the files that belong to the module too. It is r's.
func (r *Resolver) Table() *Table { return r.table }

// Close closes the debug files that were opened for r. Nothing is asked of r afterwards.
func (r *Resolver) Close() error { return r.separate.close() }

// Release is Close where the object itself is forgotten: what reading it held of the budget comes back.
func (r *Resolver) Release() error {
	r.m.Budget().ReleaseAll()
	return r.Close()
}

// Resolve names addresses: result i belongs to queries[i] and has at least one frame, the
// function itself, behind those that were inlined there, innermost first. It fills Kind,
// Inlined, Func, Linkage, Offset, File, Line and ModuleAddr; the rest is of those who know the
// process. An address without a name has an empty Func.
//
// The error says why names, lines or inlined calls may be missing.
func (r *Resolver) Resolve(queries []Query, opt Options) ([][]profile.Frame, error) {
	found := make([]found, len(queries))
	err := module.Guard(r.m.Path, func() error {
		return r.ask(queries, found, opt)
	})
	out := make([][]profile.Frame, len(queries))
	cut := false
	for i, q := range queries {
		out[i] = r.frames(q, &found[i], opt)
		for k := range out[i] {
			if f := &out[i][k]; !r.keep(f) {
				f.Func, f.Linkage, f.File, f.Line, cut = "", "", "", 0, true
			}
		}
	}
	if cut {
		err = errors.Join(err, fmt.Errorf("some names of %q are left out: %w", r.m.Path, work.ErrMemory))
	}
	return out, err
}

// found is what the sources said about one address.
type found struct {
	calls  []Call
	named  bool // calls are Go's, whose table names functions as its symbols do
	symbol *Symbol
}

func (r *Resolver) ask(queries []Query, out []found, opt Options) error {
	sources := []DebugInfo{r.golang}
	if !opt.NoInlines || !opt.NoLines { // names alone are the symbol table's matter
		sources = append(sources, r.separate)
	}
	sources = append(sources, r.sources...)
	var errs []error
	for k, s := range sources {
		var addrs []module.Vaddr
		var at []int
		for i, q := range queries {
			if out[i].calls == nil {
				addrs, at = append(addrs, q.Lookup), append(at, i)
			}
		}
		if len(addrs) == 0 {
			break
		}
		calls, err := s.Calls(addrs)
		errs = append(errs, err)
		for j, c := range calls {
			out[at[j]].calls, out[at[j]].named = c, k == 0
		}
	}
	errs = append(errs, r.askTable(queries, out), r.separate.report())
	return errors.Join(errs...)
}

// longName is the length, bytes, above which the names of one frame are counted: those of usual
// length are bounded by the places that are named.
const longName = 1 << 10

// keep reports whether there is room for the names of one frame.
func (r *Resolver) keep(f *profile.Frame) bool {
	size := len(f.Func) + len(f.Linkage) + len(f.File)
	return size <= longName || r.m.Budget().Hold(int64(size))
}

// askTable looks up the functions that are not Go's: a symbol names a copy or a part of a function
// apart, which the sources of lines do not.
func (r *Resolver) askTable(queries []Query, out []found) error {
	var addrs []module.Vaddr
	var at []int
	for i, q := range queries {
		if c := out[i].calls; len(c) == 0 || !out[i].named {
			addrs, at = append(addrs, q.Lookup), append(at, i)
		}
	}
	if len(addrs) == 0 {
		return nil
	}
	symbols, err := r.table.Lookup(addrs)
	for j, s := range symbols {
		if s == nil {
			s = r.plt.name(addrs[j])
		}
		out[at[j]].symbol = s
	}
	if r.plt.err != nil { // reported once
		err, r.plt.err = errors.Join(err, r.plt.err), nil
	}
	return err
}

// frames puts one answer together.
func (r *Resolver) frames(q Query, f *found, opt Options) []profile.Frame {
	var out []profile.Frame
	self := Call{}
	if n := len(f.calls); n > 0 {
		self = f.calls[n-1]
		for _, c := range f.calls[:n-1] {
			if !opt.NoInlines {
				out = append(out, r.frame(c, opt, true))
			}
		}
	}
	// A label without size and type may be in the middle of a function that a source knows.
	if s := f.symbol; s != nil && (s.Sized || s.Typed || !self.HasStart || self.Func == "") {
		self.Func, self.Linkage = demangleWithin(r.m.Budget(), s.Name), s.Name
		self.Start, self.HasStart = s.Start, true
	}
	last := r.frame(self, opt, false)
	last.ModuleAddr = uint64(q.PC)
	if self.HasStart {
		last.Offset = uint64(q.PC - self.Start)
	}
	return append(out, last)
}

func (r *Resolver) frame(c Call, opt Options, inlined bool) profile.Frame {
	f := profile.Frame{Func: c.Func, Inlined: inlined, Module: -1}
	if r.m.VDSO {
		f.Kind = profile.VDSO
	}
	if c.Linkage != c.Func {
		f.Linkage = c.Linkage
	}
	if !opt.NoLines {
		f.File, f.Line = c.File, c.Line
	}
	return f
}

// Tables names what the module holds to name its code: ".symtab", ".dynsym", "pclntab"; nothing
// for a stripped static program.
func (r *Resolver) Tables() []string {
	var names []string
	err := module.Guard(r.m.Path, func() error {
		r.table.open()
		for _, t := range []*rawTable{r.table.symtab, r.table.dynsym} {
			if t != nil && t.count() > 1 { // the first entry of a table is none
				names = append(names, t.label)
			}
		}
		if t, _ := r.golang.open(); t != nil {
			names = append(names, "pclntab")
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return names
}

// DebugFile is the path of the separate debug file in use, "" if there is none.
func (r *Resolver) DebugFile() string {
	if r.separate.debug == nil {
		return ""
	}
	return r.separate.debug.Path
}

// Unread says which lines are there and were not read because of what they cost, "" if none.
func (r *Resolver) Unread() string { return r.separate.unread }

// Bounds returns the addresses [start, end) of the function that holds v: by Go's table, else
// as [Table.Bounds] does.
func (r *Resolver) Bounds(v module.Vaddr) (start, end module.Vaddr, ok bool) {
	err := module.Guard(r.m.Path, func() error {
		start, end, ok = r.golang.bounds(v)
		return nil
	})
	if err == nil && ok {
		return start, end, ok
	}
	return r.table.Bounds(v)
}
