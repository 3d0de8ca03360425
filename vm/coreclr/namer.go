package coreclr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/coreclr/csharp"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// namer names methods by the metadata of their modules, and places in them by the modules' PDBs. It keeps what it has
// read of a module. It is for one goroutine at a time.
type namer struct {
	memory  mem.Reader
	open    func(path string) (*module.File, error) // in the view of the process; nil if there is none
	budget  *work.Budget
	modules sites.Recent[assemblyKey, *assembly]
	names   sites.Recent[uint64, name] // by the origin of a method
	types   sites.Recent[typeKey, []metadata.Type]
	pages   sites.Recent[pageKey, []byte]
	last    uint64 // number of an assembly that was given
	walks   int    // that were begun: when failures are tried again
	// fault is why not all is known of the method that is named, nil if all is; nothing says that nothing is.
	fault   error
	nothing bool
	errs    []error // why PDBs could not be used
}

// assemblyKey tells a module from another one at the same place.
type assemblyKey struct {
	metadata mem.Addr
	id       metadata.ID
}

type typeKey struct {
	assembly uint64
	row      uint32
}

// name is what a method is called.
type name struct{ shown, raw string }

// Bounds of what is kept, bytes, and of a name.
const (
	maxAssemblies = 96 << 20 // with their PDBs
	maxNames      = 16 << 20
	maxText       = 16 << 10
	assemblySize  = 4 << 10 // without its PDB
)

func newNamer(memory mem.Reader, open func(string) (*module.File, error), b *work.Budget) *namer {
	return &namer{memory: memory, open: open, budget: b,
		modules: sites.NewRecent[assemblyKey, *assembly](b, maxAssemblies),
		names:   sites.NewRecent[uint64, name](b, maxNames),
		types:   sites.NewRecent[typeKey, []metadata.Type](b, maxNames),
		pages:   sites.NewRecent[pageKey, []byte](b, maxPages)}
}

// assembly is what was read of a module.
type assembly struct {
	number uint64
	pages  pages
	view   view.View // of pages
	tables *metadata.Tables
	err    error // why there are none
	name   string
	lines  *source // nil before the first use
	retry
}

var (
	// errOther says that the runtime's structures and the metadata do not fit each other.
	errOther = errors.New("its metadata have another type for it")
	// errUnloaded says that the metadata of a module are not there any more, or are those of another one.
	errUnloaded = errors.New("its module was unloaded before it was named")
)

// frame is the logical frame of m. What is not known of it a note says; whole reports whether that is nothing that may
// be known another time.
func (n *namer) frame(m *Method) (f profile.Frame, whole bool) {
	f.Kind, n.fault, n.nothing = profile.DotNet, m.fault(), false
	switch {
	case m.Code == StubCode:
		f.Func, f.Stub = "["+m.Name+"]", true
	case m.Class == DynamicMethod:
		n.dynamic(&f, m.Name)
	case m.Token == 0:
		n.unwritten(&f, m)
	default:
		n.method(&f, m)
	}
	if n.fault != nil {
		what := "not all of its name is known"
		if n.nothing {
			what = "not named"
		}
		f.Note = joined(what+": .NET: "+n.fault.Error(), f.Note)
	}
	return f, n.fault == nil && m.ILErr == nil
}

// fail notes why something is not known.
func (n *namer) fail(err error) {
	if n.fault == nil {
		n.fault = err
	}
}

// stubPrefix begins the names of the runtime's own dynamic methods, between two languages or two forms of one method.
// Source: CreateILStubMethodDesc in src/coreclr/vm/ilstubcache.cpp, GetStubMethodName of DynamicMethodDesc.
const stubPrefix = "IL_STUB"

// dynamic names a method that was made at run time.
func (n *namer) dynamic(f *profile.Frame, name string) {
	switch {
	case strings.HasPrefix(name, stubPrefix):
		f.Func, f.Stub = "["+name+"]", true
	case name == "":
		f.Func = "[dynamic method]"
	default:
		f.Func, f.Linkage = name+" (dynamic method)", "dynamicClass::"+name
	}
}

// unwritten names a method that no metadata has: those of arrays, and code that belongs to none.
func (n *namer) unwritten(f *profile.Frame, m *Method) {
	f.Func = "[method without metadata]"
	switch {
	case m.Class == ArrayMethod:
		t := n.text(&m.Type)
		f.Func, f.Linkage = t.Shown+".[array accessor]", t.Raw+"::[array accessor]"
	case m.Code == R2RCode:
		f.Func = "[precompiled method]"
	}
}

// method names a method by its metadata.
func (n *namer) method(f *profile.Frame, m *Method) {
	a := n.assembly(&m.Module)
	known, ok := n.names.Get(m.origin)
	if !ok || m.origin == 0 {
		known = n.nameOf(m, a)
	}
	f.Func, f.Linkage = known.shown, known.raw
	if a.err == nil && (m.HasIL || m.ILErr != nil) {
		n.line(f, m, a)
	}
	var gone error
	if a.err == nil {
		gone = n.gone(a)
	}
	if gone != nil {
		// What was read may be another module's.
		n.fault, n.nothing = gone, true
		known = name{shown: fmt.Sprintf("[method %#08x]", m.Token)}
		f.Func, f.Linkage, f.File, f.Line = known.shown, "", "", 0
	}
	if n.fault == nil && m.origin != 0 {
		n.names.Keep(m.origin, known, len(known.shown)+len(known.raw))
	}
}

// line sets where in the source m executes.
func (n *namer) line(f *profile.Frame, m *Method, a *assembly) {
	switch p := n.source(m, a); {
	case p.file == nil:
	case m.ILErr != nil:
		f.Note = joined(f.Note, "no line: .NET: "+m.ILErr.Error())
	default:
		f.File, f.Line = n.place(p, m, a)
	}
}

// gone is why a is not there any more, or that this is not known; nil if it is: that is read from the process itself.
func (n *namer) gone(a *assembly) error {
	v := view.Lasting(n.memory, n.budget)
	same, err := a.tables.Unchanged(&v)
	if err == nil && !same {
		err = errUnloaded
	}
	return err
}

// nameOf is the name of a method by the metadata of its module, a.
func (n *namer) nameOf(m *Method, a *assembly) name {
	err := a.err
	var d *metadata.Method
	if err == nil {
		d, err = a.tables.Method(m.Token & rowMask)
	}
	if err == nil && m.Type.Kind == NamedType && m.Type.Token != 0 &&
		d.Path[len(d.Path)-1].RID != m.Type.Token&rowMask {
		err = errOther
	}
	if err != nil {
		n.fault, n.nothing = err, true
		return name{shown: fmt.Sprintf("[method %#08x]", m.Token)}
	}
	named := csharp.Method{Name: d.Name, Special: d.Special, Path: n.path(d.Path, m.Type.Args),
		Args: n.arguments(m.Args, d.Parameters), Machine: n.machine(a, d)}
	t := named.Text()
	if a.name != "" {
		t.Raw = "[" + a.name + "] " + t.Raw
	}
	return name{shown: cut(t.Shown), raw: cut(t.Raw)}
}

const rowMask = 1<<24 - 1 // of a token

func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "…"
	}
	return s
}

// assembly is the module m.
func (n *namer) assembly(m *Module) *assembly {
	if m.Metadata == 0 || m.Err != nil {
		return &assembly{err: cmp.Or(m.Err, errNoMetadata)}
	}
	key := assemblyKey{m.Metadata, m.ID}
	a, ok := n.modules.Get(key)
	if !ok {
		n.last++
		a = &assembly{number: n.last, pages: pages{from: n.memory, held: &n.pages, of: n.last}}
	}
	a.view = view.Lasting(&a.pages, n.budget)
	if a.tables == nil && a.due(n.walks) {
		a.read(m)
		if a.err != nil {
			n.last++ // its pages may be those of what was there before
			a.pages.of = n.last
			a.failed(n.walks)
		}
		n.modules.Keep(key, a, assemblySize)
	}
	return a
}

// read reads the headers of m.
func (a *assembly) read(m *Module) {
	var tables *metadata.Tables
	if tables, a.err = metadata.Open(&a.view, m.Metadata); a.err != nil {
		return
	}
	if tables.ID() != m.ID {
		a.err = errUnloaded
		return
	}
	if a.name, a.err = tables.Assembly(); a.err == nil {
		a.tables = tables
	}
}

// machines are the interfaces that tell what a state machine is; the first that it has decides.
var machines = []struct {
	implements string
	machine    csharp.Machine
}{
	{"IAsyncEnumerator`", csharp.AsyncIterator},
	{"IAsyncStateMachine", csharp.Async},
	{"IEnumerator", csharp.Iterator},
}

// machine is which kind of state machine declares d, "" for none and where that is not known.
func (n *namer) machine(a *assembly, d *metadata.Method) csharp.Machine {
	owner := &d.Path[len(d.Path)-1]
	kind, ok := csharp.IsMachine(owner.Name)
	if !ok || kind != "" {
		return kind
	}
	var names []string
	for _, m := range machines {
		names = append(names, m.implements)
	}
	which, err := a.tables.Implements(owner.RID, names...)
	switch {
	case err != nil:
		n.fail(err)
	case which >= 0:
		return machines[which].machine
	}
	return ""
}

// path is a type with those around it, whose arguments are args, of the outer ones first; where they are not known the
// names of its parameters stand for them.
func (n *namer) path(types []metadata.Type, args []Type) csharp.Path {
	p := csharp.Path{Namespace: types[0].Namespace}
	if len(args) != len(types[len(types)-1].Parameters) {
		args = nil
	}
	before := 0
	for i := range types {
		t := &types[i]
		own := max(len(t.Parameters)-before, 0)
		from := len(t.Parameters) - own
		var some []Type
		if args != nil && len(t.Parameters) <= len(args) {
			some = args[from:len(t.Parameters)]
		}
		p.Types = append(p.Types, csharp.Type{Name: t.Name, Args: n.arguments(some, t.Parameters[from:])})
		before = len(t.Parameters)
	}
	return p
}

// arguments are the texts of args, or of the parameters where there are not as many.
func (n *namer) arguments(args []Type, parameters []string) []csharp.Text {
	out := make([]csharp.Text, len(parameters))
	for i, p := range parameters {
		out[i] = csharp.Text{Shown: p, Raw: p}
		if len(args) == len(parameters) {
			out[i] = n.text(&args[i])
		}
	}
	return out
}
