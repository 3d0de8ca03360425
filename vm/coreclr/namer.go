package coreclr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/coreclr/csharp"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/work"
)

// namer names methods by the metadata of their modules, and places in them by the modules' PDBs. It keeps what it has
// read of a module. It is for one goroutine at a time.
type namer struct {
	memory  mem.Reader
	open    func(path string) (*module.File, error) // in the view of the process; nil if there is none
	budget  *work.Budget
	modules map[mem.Addr]*assembly // by their metadata
	names   map[instance]name
	held    int64 // bytes of the budget, for names and types
	// forgotten counts how often texts were dropped.
	forgotten int
}

// instance is one instance of a method, as it is kept.
type instance struct {
	desc, metadata, owner mem.Addr
	token                 uint32
}

// name is what a method is called; note says why it has none.
type name struct{ shown, raw, note string }

func newNamer(memory mem.Reader, open func(string) (*module.File, error), b *work.Budget) *namer {
	return &namer{memory: memory, open: open, budget: b, modules: map[mem.Addr]*assembly{}, names: map[instance]name{}}
}

// assembly is what was read of a module.
type assembly struct {
	tables *metadata.Tables
	err    error // why there are none
	name   string
	types  map[uint32][]metadata.Type // paths, by row
	lines  *source                    // nil before the first use
}

// Bounds of what is kept, and of a name.
const (
	maxAssemblies = 1 << 12
	maxText       = 16 << 10 // bytes
	keptCost      = 1 << 8   // bytes, besides the text
)

// errOther says that the runtime's structures and the metadata do not fit each other.
var errOther = errors.New("its metadata have another type for it")

// frame is the logical frame of m. What is not known of it a note says.
func (n *namer) frame(m *Method) profile.Frame {
	f := profile.Frame{Kind: profile.DotNet}
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
	return f
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
	case m.Desc == 0 && m.Code == R2RCode:
		f.Func = "[precompiled method]"
	}
}

// method names a method by its metadata.
func (n *namer) method(f *profile.Frame, m *Method) {
	a := n.assembly(&m.Module)
	key := instance{m.Desc, m.Module.Metadata, m.Type.Addr, m.Token}
	known, ok := n.names[key]
	if !ok {
		known = n.nameOf(m, a)
		if n.hold(len(known.shown) + len(known.raw) + len(known.note)) {
			n.names[key] = known
		}
	}
	f.Func, f.Linkage, f.Note = known.shown, known.raw, known.note
	if a.err != nil || !m.HasIL && m.ILErr == nil {
		return
	}
	switch p := n.source(m, a); {
	case p.file == nil:
	case m.ILErr != nil:
		f.Note = joined(f.Note, "no line: .NET: "+m.ILErr.Error())
	default:
		f.File, f.Line = p.place(m, a)
	}
}

// hold takes the bytes of a text that is about to be kept from the budget; if they are not left all texts are
// forgotten.
func (n *namer) hold(bytes int) bool {
	if !n.budget.Hold(int64(bytes) + keptCost) {
		n.forget()
		return false
	}
	n.held += int64(bytes) + keptCost
	return true
}

// forget drops the texts that are kept.
func (n *namer) forget() {
	n.forgotten++
	clear(n.names)
	for _, a := range n.modules {
		clear(a.types)
	}
	n.budget.Release(n.held)
	n.held = 0
}

// nameOf is the name of a method by the metadata of its module, a.
func (n *namer) nameOf(m *Method, a *assembly) name {
	err := a.err
	var d *metadata.Method
	if err == nil {
		d, err = a.tables.Method(m.Token & rowMask)
	}
	if err == nil && m.Type.Kind == NamedType && d.Path[len(d.Path)-1].RID != m.Type.Token&rowMask {
		err = errOther
	}
	if err != nil {
		return name{shown: fmt.Sprintf("[method %#08x]", m.Token), note: "not named: .NET: " + err.Error()}
	}
	named := csharp.Method{Name: d.Name, Special: d.Special, Path: n.path(d.Path, m.Type.Args),
		Args: n.arguments(m.Args, d.Parameters), Machine: a.machine(d)}
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

// assembly is the module m, as it was read before or is now.
func (n *namer) assembly(m *Module) *assembly {
	if m.Metadata == 0 {
		err := m.Err
		if err == nil {
			err = errNoMetadata
		}
		return &assembly{err: err}
	}
	a := n.modules[m.Metadata]
	switch {
	case a == nil:
	case a.tables == nil || a.tables.Unchanged():
		return a
	default: // it was unloaded, and another one is there
		n.forget()
	}
	if len(n.modules) >= maxAssemblies {
		n.forget()
		clear(n.modules)
	}
	a = &assembly{types: map[uint32][]metadata.Type{}}
	if a.tables, a.err = metadata.Open(n.memory, m.Metadata, n.budget); a.err == nil {
		a.name, a.err = a.tables.Assembly()
	}
	n.modules[m.Metadata] = a
	return a
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
func (a *assembly) machine(d *metadata.Method) csharp.Machine {
	owner := &d.Path[len(d.Path)-1]
	kind, ok := csharp.IsMachine(owner.Name)
	if !ok || kind != "" {
		return kind
	}
	var names []string
	for _, m := range machines {
		names = append(names, m.implements)
	}
	if which, err := a.tables.Implements(owner.RID, names...); err == nil && which >= 0 {
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
