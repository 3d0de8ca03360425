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
	"github.com/fpstack/fpstack/vm/view"
)

// TestSamePlace: a method is told from one that lay where it lies by what it is, not by its addresses.
func TestSamePlace(t *testing.T) {
	l, err := layoutOf(Version{9, 0, 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
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
	known, err := layoutOf(Version{10, 0, 9}, nil)
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
		if _, err := layoutOf(v, nil); !errors.Is(err, errVersion) {
			t.Errorf("%v that says nothing: %v", v, err)
		}
		if l, err := layoutOf(v, whole()); err != nil || l.headerMethod != known.headerMethod || !l.constantMap {
			t.Errorf("%v that says all: %v", v, err)
		}
		c := whole()
		clear(c.offsets)
		if _, err := layoutOf(v, c); !errors.Is(err, errVersion) {
			t.Errorf("%v that says nothing but ExecutionManager: %v", v, err)
		}
		for _, f := range known.fields() {
			c := whole()
			delete(c.offsets, f.name)
			if _, err := layoutOf(v, c); errors.Is(err, errVersion) != f.required {
				t.Errorf("%v without %s, required %t: %v", v, f.name, f.required, err)
			}
			c.offsets[f.name] = 1 << 20
			if _, err := layoutOf(v, c); !errors.Is(err, errVersion) {
				t.Errorf("%v with %s at 1 MB: %v", v, f.name, err)
			}
		}
		for name := range maps.Keys(whole().globals) {
			c := whole()
			delete(c.globals, name)
			if _, err := layoutOf(v, c); !errors.Is(err, errVersion) {
				t.Errorf("%v without %s: %v", v, name, err)
			}
		}
	}
}

// TestLargeStack: a stack is searched until no place is left, and no longer than the stop may take.
func TestLargeStack(t *testing.T) {
	const code = 0x10000000
	l, err := layoutOf(Version{9, 0, 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
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

type nothing struct{}

func (nothing) ReadPieces([]snapshot.Piece) error { return nil }
