package coreclr

import (
	"encoding/binary"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// onVersion is a runtime of that version on x86-64.
func onVersion(v Version) *object { return &object{port: &onAMD64, version: v} }

// TestSamePlace: a method is told from one that lay where it lies by what it is, not by its addresses.
func TestSamePlace(t *testing.T) {
	l, err := layoutOf(onVersion(Version{9, 0, 5}), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{port: &onAMD64}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
	first := func() Method {
		m := Module{Addr: 0x5000, Metadata: 0x9000}
		return Method{Desc: 0x1000, Start: 0x2000, Token: methodTokens | 7, Module: m,
			Type: Type{Kind: NamedType, Token: typeTokens | 2, Module: m}}
	}
	seen := map[any]string{}
	for name, change := range map[string]func(*Method){
		"the first":                   func(*Method) {},
		"of another module":           func(m *Method) { m.Module.ID[3] = 1 },
		"another method":              func(m *Method) { m.Token++ },
		"of another type":             func(m *Method) { m.Type.Token++ },
		"of a type of another module": func(m *Method) { m.Type.Module.ID[5] = 1 },
		"with an argument":            func(m *Method) { m.Args = []Type{{Kind: NamedType, Token: typeTokens | 2}} },
		"with another argument":       func(m *Method) { m.Args = []Type{{Kind: NamedType, Token: typeTokens | 3}} },
		"at another place in its IL":  func(m *Method) { m.IL, m.HasIL = 4, true },
	} {
		for range 2 { // it is found again
			m := first()
			change(&m)
			m.origin = r.origin(&m)
			n := r.site(&m, 8)
			if other, ok := seen[n]; ok && other != name || n == 0 {
				t.Errorf("%s is numbered %d, as %s", name, n, other)
			}
			seen[n] = name
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d numbers for 8 methods", len(seen))
	}
}

// TestReplacedModule: names are of the module that was met, also where another one lies at its place when it is named.
func TestReplacedModule(t *testing.T) {
	n, m := shapes(t, nil)
	method, owner := token(t, n, &m, "Gate::Rest")
	one := Method{origin: 1, Module: m, Token: method, Type: Type{Kind: NamedType, Module: m, Token: owner}}
	if f, whole := n.frame(&one); f.Func != "Shapes.Gate.Rest" || !whole {
		t.Fatalf("%q, %q", f.Func, f.Note)
	}
	other := one
	other.origin, other.Module.ID[0] = 2, m.ID[0]^1 // what was met is not there any more
	if f, whole := n.frame(&other); f.Func != "[method 0x06000002]" || f.Note == "" || whole {
		t.Errorf("%q, %q, want that it is not named", f.Func, f.Note)
	}
	// What is kept of the one is no answer when the other has come.
	n.memory.(*mem.Overlay).Reset(nil)
	one.origin = 3
	if f, _ := n.frame(&one); f.Func != "[method 0x06000002]" || f.Note == "" {
		t.Errorf("%q, %q, want that it is unloaded", f.Func, f.Note)
	}
}

// TestMapOfMethods: a precompiled method is found, or it is not there, or that is not known.
func TestMapOfMethods(t *testing.T) {
	const at, buckets, size, key = 0x1000, 0x2000, 5, 0x7f0000
	b := make([]byte, 0x2000)
	put := func(a int, v uint64) { binary.LittleEndian.PutUint64(b[a-at:], v) }
	put(at+hashBuckets, buckets)
	put(buckets, size)
	place := func(key uint64, probe uint32) int {
		step := 1 + uint32((key>>5)+1)%(size-1)
		return buckets + bucketSize + int((uint32(key>>2)+probe*step)%size)*bucketSize
	}
	put(place(key, 0)+32, collision)
	put(place(key, 1), key)
	put(place(key, 1)+32, 0x111)
	whole := mem.Range{Start: at, Data: b}
	hole := func(a, n int) []mem.Range {
		return []mem.Range{{Start: at, Data: b[:a-at]}, {Start: mem.Addr(a + n), Data: b[a-at+n:]}}
	}
	for name, test := range map[string]struct {
		key    uint64
		ranges []mem.Range
		found  bool
		fails  bool
	}{
		"found":                 {key, []mem.Range{whole}, true, false},
		"absent":                {key + 4, []mem.Range{whole}, false, false},
		"its bucket unreadable": {key, hole(place(key, 1), bucketSize), false, true},
		"one before unreadable": {key, hole(place(key, 0), bucketSize), false, true},
		"the map unreadable":    {key, hole(at+hashBuckets, 8), false, true},
	} {
		v := view.Copied(nil, test.ranges...)
		got, found, err := mapped(&v, at, 1<<63-1, test.key)
		if found != test.found || (err != nil) != test.fails || found && got != 0x222 {
			t.Errorf("%s: %#x, %t, %v", name, got, found, err)
		}
	}
}

// TestUnknownVersions: a version without a table is accepted by all that names rest on, and by nothing less.
func TestUnknownVersions(t *testing.T) {
	known, err := layoutOf(onVersion(Version{10, 0, 9}), nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := func() *contract {
		c := &contract{contracts: map[string]string{"ExecutionManager": "2"}, offsets: map[string]int64{},
			globals: map[string]uint64{}}
		for _, f := range known.fields() {
			c.offsets[f.name] = *f.to
		}
		for _, g := range known.globals() {
			c.globals[g.name] = *g.to
		}
		return c
	}
	for _, v := range []Version{{7, 0, 20}, {11, 0, 0}, {12, 0, 0}, {}} {
		if _, err := layoutOf(onVersion(v), nil); !errors.Is(err, errVersion) {
			t.Errorf("%v that says nothing: %v", v, err)
		}
		l, err := layoutOf(onVersion(v), whole())
		if err != nil || l.headerMethod != known.headerMethod || !l.constantMap {
			t.Errorf("%v that says all: %v", v, err)
		}
		c := whole()
		clear(c.offsets)
		if _, err := layoutOf(onVersion(v), c); !errors.Is(err, errVersion) {
			t.Errorf("%v that says nothing but ExecutionManager: %v", v, err)
		}
		for _, f := range known.fields() {
			c := whole()
			delete(c.offsets, f.name)
			if _, err := layoutOf(onVersion(v), c); errors.Is(err, errVersion) != f.required {
				t.Errorf("%v without %s, required %t: %v", v, f.name, f.required, err)
			}
			c.offsets[f.name] = 1 << 20
			if _, err := layoutOf(onVersion(v), c); !errors.Is(err, errVersion) {
				t.Errorf("%v with %s at 1 MB: %v", v, f.name, err)
			}
		}
		for name := range maps.Keys(whole().globals) {
			c := whole()
			delete(c.globals, name)
			if _, err := layoutOf(onVersion(v), c); !errors.Is(err, errVersion) {
				t.Errorf("%v without %s: %v", v, name, err)
			}
		}
	}
}

// TestLargeStack: a stack is searched until no place is left, and no longer than the stop may take.
func TestLargeStack(t *testing.T) {
	const code = 0x10000000
	l, err := layoutOf(onVersion(Version{9, 0, 5}), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{port: &onAMD64}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
	one := section{start: code, end: code + 1<<24, flags: codeHeap}
	one.heap.start, one.heap.base = code, code
	r.sections.Store(&sections{list: []section{one}, low: code, high: one.end})
	stack := make([]byte, 8<<20)
	for i := 0; i < len(stack); i += wordSize {
		binary.LittleEndian.PutUint64(stack[i:], uint64(code+64+i%512)) // 64 places, again and again
	}
	rs := regs.New(regs.AMD64)
	rs.Set(regs.AMD64RSP, 0x1000)
	th := &snapshot.Thread{Arch: regs.AMD64, Registers: &rs, Stack: mem.Range{Start: 0x1000, Data: stack}}
	asked := 0
	f := snapshot.Fetcher{Budget: snapshot.Budget{Calls: 99, Ranges: 999, Bytes: 1 << 20, Time: 1}}
	f.Used = func() time.Duration { asked++; return time.Duration(asked) * time.Hour }
	f.Run([]snapshot.Copier{r}, th, nothing{})
	if asked == 0 || asked > 8 || len(th.Shortfalls) != 1 {
		t.Errorf("without time it was asked %d times, and what is missing is %v", asked, th.Shortfalls)
	}
}

// TestEndlessMap: a map of ranges whose nodes lead to one another again and again is read for some milliseconds, and
// what came of it says that it is not all.
func TestEndlessMap(t *testing.T) {
	l, err := layoutOf(onVersion(Version{9, 0, 5}), nil)
	if err != nil {
		t.Fatal(err)
	}
	node := make([]byte, mapFanout*wordSize)
	for i := range mapFanout {
		binary.LittleEndian.PutUint64(node[i*wordSize:], 0x1000)
	}
	m := &memory.Failing{Reader: mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: node})}
	s := readSections(view.Over(nil, m, nil), l, 0x1000)
	if m.N > 1<<15 || s.err == nil {
		t.Errorf("%d reads, %v", m.N, s.err)
	}
}

// TestManyTypes: on .NET 8 the row of a type is in 16 bits, and those of which it is not say so.
func TestManyTypes(t *testing.T) {
	l, err := layoutOf(onVersion(Version{8, 0, 30}), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{port: &onAMD64}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
	table := make([]byte, tableBytes)
	n, m := shapes(t, nil)
	for row, want := range map[uint16]uint32{7: typeTokens | 7, 65534: typeTokens | 65534, overflow: 0} {
		binary.LittleEndian.PutUint16(table[l.tableFlags2+2:], row)
		v := view.Copied(nil, mem.Range{Start: 0x1000, Data: table})
		got := r.typeOf(&v, 0x1000, maxTypeDepth)
		if got.Token != want {
			t.Errorf("row %d: token %#x, want %#x", row, got.Token, want)
		}
		got.Module, n.fault = m, nil
		if text := n.text(&got); row == overflow && (text != notKnown || !errors.Is(n.fault, errManyTypes)) {
			t.Errorf("row %d: %+v, %v", row, text, n.fault)
		}
	}
}

// TestComposite: of an image that several assemblies share its functions, its map and its header are those that the
// image of all of them has, whichever assembly's module leads to it.
func TestComposite(t *testing.T) {
	const base, module, own, whole = 0x100000, 0x5000, 0x8000, 0x9000
	for _, version := range []Version{{8, 0, 30}, {9, 0, 5}, {10, 0, 12}} {
		l, err := layoutOf(onVersion(version), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 0x6000)
		put := func(a int64, v uint64) { binary.LittleEndian.PutUint64(b[a-module:], v) }
		put(module+l.moduleR2R, own)
		put(own+l.r2rComposite, whole)
		put(whole+l.r2rHeader, base+0x40)
		put(whole+l.r2rFunctions, base+0x200)
		put(whole+l.r2rCount, 9)
		image := make([]byte, 0x1000)
		copy(image[0x40:], "RTR\x00\x09\x00\x00\x00")
		v := view.Copied(nil, mem.Range{Start: module, Data: b}, mem.Range{Start: base, Data: image})
		for name, info := range map[string]mem.Addr{"an assembly": own, "all": whole} {
			im := &r2rImage{base: base}
			if err := im.read(&v, l, info); err != nil || im.functions != base+0x200 || im.count != 9 ||
				im.entries != whole+mem.Addr(l.r2rEntries) || im.header == nil || im.header.Major != 9 {
				t.Errorf("%v, %s: %+v, %v", version, name, im, err)
			}
		}
	}
}

type nothing struct{}

func (nothing) ReadPieces([]snapshot.Piece) error { return nil }
