package coreclr

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// shapesAt is where tests have the image of shapes.dll.
const shapesAt mem.Addr = 0x7f0000001000

// shapes is a namer in a memory that has shapes.dll, and its module.
func shapes(t *testing.T, b *work.Budget) (*namer, Module) {
	t.Helper()
	data, err := os.ReadFile("metadata/testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	memory := mem.NewOverlay(nil, mem.Range{Start: shapesAt, Data: data})
	v := view.Lasting(memory, nil)
	im, err := metadata.OpenImage(&v, shapesAt)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := metadata.Open(&v, im.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	n := newNamer(memory, func(string) (*module.File, error) { return nil, fs.ErrNotExist }, b)
	return n, Module{Image: shapesAt, Metadata: im.Metadata(), ID: tables.ID(), Path: "/srv/shapes.dll"}
}

// token is the token of the method of that raw name.
func token(t *testing.T, n *namer, m *Module, raw string) (method, owner uint32) {
	t.Helper()
	tables := n.assembly(m).tables
	for rid := uint32(1); ; rid++ {
		d, err := tables.Method(rid)
		if err != nil {
			t.Fatalf("shapes.dll has no method %q: %v", raw, err)
		}
		var path []string
		for i := range d.Path {
			path = append(path, d.Path[i].Name)
		}
		if strings.Join(path, "+")+"::"+d.Name == raw {
			return methodTokens | rid, typeTokens | d.Path[len(d.Path)-1].RID
		}
	}
}

// TestNames: methods with what the runtime knows of them, and the frame that is shown.
func TestNames(t *testing.T) {
	n, m := shapes(t, nil)
	_, money := token(t, n, &m, "Money::op_Addition")
	value := Type{Kind: NamedType, Module: m, Token: money}
	array := Type{Kind: ArrayType, Rank: 1, Elem: &Type{Kind: ArrayType, Rank: 2, MultiDim: true, Elem: &value}}
	for _, test := range []struct {
		raw      string
		typ, own []Type
		shown    string
		linkage  string
		il       int
		line     int // 0: not asked for
	}{
		{raw: "Gate::Rest", shown: "Shapes.Gate.Rest", linkage: "[shapes] Shapes.Gate::Rest", il: 1, line: 30},
		{raw: "Gate::Rest", shown: "Shapes.Gate.Rest", linkage: "[shapes] Shapes.Gate::Rest", il: -2, line: 29},
		{raw: "Box`1::Keep", typ: []Type{value}, shown: "Shapes.Box<Shapes.Money>.Keep",
			linkage: "[shapes] Shapes.Box`1[Shapes.Money]::Keep"},
		{raw: "Box`1::Keep", typ: []Type{array}, shown: "Shapes.Box<Shapes.Money[][,]>.Keep",
			linkage: "[shapes] Shapes.Box`1[Shapes.Money[,][]]::Keep"},
		{raw: "Box`1+Inner`1::Hold", typ: []Type{value, array},
			own:     []Type{{Kind: PointerType, Elem: &value}},
			shown:   "Shapes.Box<Shapes.Money>.Inner<Shapes.Money[][,]>.Hold<Shapes.Money*>",
			linkage: "[shapes] Shapes.Box`1+Inner`1[Shapes.Money,Shapes.Money[,][]]::Hold[Shapes.Money*]"},
		// Arguments that are not known, and a number of them that cannot be.
		{raw: "Box`1+Inner`1::Hold", shown: "Shapes.Box<T>.Inner<U>.Hold<V>",
			linkage: "[shapes] Shapes.Box`1+Inner`1[T,U]::Hold[V]"},
		{raw: "Box`1+Inner`1::Hold", typ: []Type{value}, shown: "Shapes.Box<T>.Inner<U>.Hold<V>",
			linkage: "[shapes] Shapes.Box`1+Inner`1[T,U]::Hold[V]"},
		{raw: "Box`1::Keep", typ: []Type{{}}, shown: "Shapes.Box<?>.Keep", linkage: "[shapes] Shapes.Box`1[?]::Keep"},
	} {
		var x Method
		x.Module, x.Class, x.Args = m, ILMethod, test.own
		x.Token, x.Type.Token = token(t, n, &m, test.raw)
		x.Type.Kind, x.Type.Module, x.Type.Args = NamedType, m, test.typ
		x.Desc = mem.Addr(len(test.shown))<<8 | mem.Addr(len(test.typ)) // each is an instance of its own
		if test.line > 0 {
			x.IL, x.HasIL = test.il, true
		}
		f, _ := n.frame(&x)
		if f.Func != test.shown || f.Linkage != test.linkage || f.Note != "" {
			t.Errorf("%s: %q, %q, %q, want %q and %q", test.raw, f.Func, f.Linkage, f.Note, test.shown, test.linkage)
		}
		if f.Line != test.line || test.line > 0 && f.File != "/src/shapes.cs" {
			t.Errorf("%s: line %d of %q, want %d", test.raw, f.Line, f.File, test.line)
		}
	}
}

// TestNotNamed: what is not known has no name of something else, and says why.
func TestNotNamed(t *testing.T) {
	n, m := shapes(t, nil)
	method, owner := token(t, n, &m, "Gate::Rest")
	for name, test := range map[string]struct {
		m    Method
		want string // in the note
	}{
		"another type has it": {Method{Module: m, Token: method, Type: Type{Kind: NamedType, Token: owner + 1}},
			"another type"},
		"no such method":    {Method{Module: m, Token: methodTokens | 5000}, "row 5000"},
		"no metadata":       {Method{Module: Module{Err: errors.New("gone away")}, Token: method}, "gone away"},
		"no metadata there": {Method{Module: Module{Metadata: 0x10}, Token: method}, "not mapped"},
		"something else there": {Method{Module: Module{Metadata: shapesAt}, Token: method},
			metadata.ErrFormat.Error()},
	} {
		f, _ := n.frame(&test.m)
		if !strings.HasPrefix(f.Func, "[method 0x06") || !strings.Contains(f.Note, test.want) || f.File != "" {
			t.Errorf("%s: %q in %q, note %q, want one with %q", name, f.Func, f.File, f.Note, test.want)
		}
	}
}

// TestNamesWithoutMetadata: stubs, dynamic methods and those of arrays.
func TestNamesWithoutMetadata(t *testing.T) {
	n, _ := shapes(t, nil)
	for want, m := range map[string]Method{
		"[virtual dispatch]":      {Code: StubCode, Name: "virtual dispatch"},
		"[IL_STUB_PInvoke]":       {Class: DynamicMethod, Name: "IL_STUB_PInvoke"},
		"lambda (dynamic method)": {Class: DynamicMethod, Name: "lambda"},
		"[dynamic method]":        {Class: DynamicMethod},
		"?[].[array accessor]":    {Class: ArrayMethod, Desc: 8, Type: Type{Kind: ArrayType, Rank: 1, Elem: &Type{}}},
		"[precompiled method]":    {Code: R2RCode},
	} {
		f, _ := n.frame(&m)
		stub := strings.HasPrefix(want, "[virtual") || strings.HasPrefix(want, "[IL")
		if f.Func != want || f.Stub != stub {
			t.Errorf("%q, stub %t, want %q", f.Func, f.Stub, want)
		}
	}
}

// TestForgottenNames: names are dropped when no memory is left for them, and still given.
func TestForgottenNames(t *testing.T) {
	b := work.New(work.Steps, 8<<10)
	n, m := shapes(t, b)
	method, owner := token(t, n, &m, "Gate::Rest")
	for desc := range mem.Addr(1000) {
		typ := Type{Kind: NamedType, Module: m, Token: owner}
		f, _ := n.frame(&Method{origin: uint64(desc) + 1, Module: m, Token: method, Type: typ})
		if f.Func != "Shapes.Gate.Rest" {
			t.Fatalf("instance %d: %q, %q", desc, f.Func, f.Note)
		}
	}
	if n.names.Len() > 40 {
		t.Errorf("%d names are kept in 8 KiB", n.names.Len())
	}
	n.names.Clear()
	n.types.Clear()
	n.pages.Clear()
	n.modules.Clear()
	if _, left := b.Left(); left != 8<<10 {
		t.Errorf("%d bytes are left when all is forgotten", left)
	}
}

// TestForgottenPDB: the bytes of a PDB are given back with its module.
func TestForgottenPDB(t *testing.T) {
	const most = 1 << 20
	b := work.New(work.Steps, most)
	n, m := shapes(t, b)
	method, owner := token(t, n, &m, "Gate::Rest")
	f, _ := n.frame(&Method{origin: 1, Module: m, Token: method, HasIL: true,
		Type: Type{Kind: NamedType, Module: m, Token: owner}})
	_, before := b.Left()
	n.modules.Clear()
	n.names.Clear()
	n.types.Clear()
	n.pages.Clear()
	if _, left := b.Left(); f.Line == 0 || before > most-4096 || left != most {
		t.Errorf("line %d; %d bytes were left with the PDB, %d are without it, of %d", f.Line, before, left, most)
	}
}

// TestTypeOfItself: a type whose 64 arguments are the type itself ends.
func TestTypeOfItself(t *testing.T) {
	l, err := layoutOf(onVersion(Version{9, 0, 5}), nil)
	if err != nil {
		t.Fatal(err)
	}
	const table, before, dictionaries, own mem.Addr = 0x1000, 0x1ff8, 0x2000, 0x3000
	b := make([]byte, 0x4000)
	put := func(a mem.Addr, v uint64) { order.PutUint64(b[a-table:], v) }
	put(table+mem.Addr(l.tableFlags), 0x10)
	put(table+mem.Addr(l.tableInstances), uint64(dictionaries))
	put(before, 64<<48|1<<32)
	put(dictionaries, uint64(own))
	for i := range mem.Addr(64) {
		put(own+i*wordSize, uint64(table))
	}
	m := mem.NewOverlay(nil, mem.Range{Start: table, Data: b})
	r := newRuntime(&object{port: &onAMD64}, 0, l, module.Image{Memory: m})
	r.begin(m)
	typ := r.typeOf(&r.walk, table, maxTypeDepth)
	if r.types > 8*64+maxTypes {
		t.Errorf("%d types are read", r.types)
	}
	if len(typ.Args) != 64 || typ.Args[63].Err == nil {
		t.Errorf("%d arguments, the last %v, want 64 and an error", len(typ.Args), typ.Args[len(typ.Args)-1].Err)
	}
}
