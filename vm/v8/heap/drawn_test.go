package heap

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// drawnHeap draws objects of V8 12.4 word by word. Labels stand for objects; a tagged pointer is the label's address
// and 1.
type drawnHeap struct {
	data  []byte
	start mem.Addr
	*Layout
}

func draw(t testing.TB) *drawnHeap {
	return &drawnHeap{start: 0x10000, Layout: layoutOf(t, "22.23.3")}
}

func (d *drawnHeap) heap() Heap {
	// A page of the heap goes on behind its last object.
	return reading(d.Layout, mem.NewOverlay(nil, mem.Range{Start: d.start, Data: d.data},
		mem.Range{Start: d.start + mem.Addr(len(d.data)), Data: make([]byte, 64)}), nil)
}

func (d *drawnHeap) bytes(b ...byte) {
	d.data = append(d.data, b...)
	for len(d.data)%8 != 0 {
		d.data = append(d.data, 0)
	}
}

func (d *drawnHeap) words(v ...Tagged) {
	for _, w := range v {
		d.data = binary.LittleEndian.AppendUint64(d.data, uint64(w))
	}
}

func smi(n int) Tagged { return Tagged(uint64(uint32(n)) << 32) }

// object draws a map of that type, and an object of it with the words behind the map.
func (d *drawnHeap) object(typ uint16, words ...Tagged) Tagged {
	at := TagOf(d.start + mem.Addr(len(d.data)))
	d.words(0)
	d.bytes(0, 0, 0, 0, byte(typ), byte(typ>>8), 0, 0)
	out := TagOf(d.start + mem.Addr(len(d.data)))
	d.words(at)
	d.words(words...)
	return out
}

// String types: kinds, and the bit of one byte a character.
const (
	oneByte = 8
	seq     = 32
	cons    = 33
	outside = 34
	sliced  = 35
	thin    = 37
)

func (d *drawnHeap) text(s string) Tagged {
	out := d.object(seq|oneByte, Tagged(len(s))<<32)
	d.bytes([]byte(s)...)
	return out
}

func (d *drawnHeap) wide(s string) Tagged {
	units := utf16.Encode([]rune(s))
	out := d.object(seq, Tagged(len(units))<<32)
	d.bytes(wideBytes(units)...)
	return out
}

func wideBytes(units []uint16) (b []byte) {
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// TestString: every kind of string of src/objects/string.h.
func TestString(t *testing.T) {
	d := draw(t)
	hello, world := d.text("hello, "), d.wide("wörld €😀")
	both := d.object(cons, Tagged(16)<<32, hello, world)
	same := d.object(thin, Tagged(16)<<32, both)
	part := d.object(sliced, Tagged(6)<<32, both, smi(5))
	latin := d.object(seq|oneByte, Tagged(2)<<32)
	d.bytes(0xe9, 'x')
	data := d.start + mem.Addr(len(d.data))
	d.bytes([]byte("outside")...)
	external := d.object(outside|oneByte, Tagged(7)<<32, 0, Tagged(data))
	uncached := d.object(outside|oneByte|16, Tagged(7)<<32, 0, Tagged(data))
	half := d.object(seq, Tagged(1)<<32)
	d.bytes(wideBytes([]uint16{0xd83d})...)
	rest := d.object(seq, Tagged(1)<<32)
	d.bytes(wideBytes([]uint16{0xde00})...)
	emoji := d.object(cons, Tagged(2)<<32, half, rest)
	h := d.heap()
	for _, tc := range []struct {
		name string
		t    Tagged
		want string
	}{
		{"one byte", hello, "hello, "},
		{"two bytes", world, "wörld €😀"},
		{"cons", both, "hello, wörld €😀"},
		{"thin", same, "hello, wörld €😀"},
		{"sliced, over both of a cons", part, ", wörl"},
		{"Latin-1", latin, "éx"},
		{"external", external, "outside"},
		{"external, not cached", uncached, "outside"},
		{"a surrogate pair in two strings", emoji, "😀"},
		{"half of one", half, "\ufffd"},
	} {
		if got, err := h.String(tc.t, 100); got != tc.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
	for name, bad := range map[string]Tagged{"a number": smi(7), "no memory": 0x7001, "no string": d.object(200, 0)} {
		if got, err := d.heap().String(bad, 100); err == nil {
			t.Errorf("%s: %q, want an error", name, got)
		}
	}
	if _, err := h.String(both, 15); !errors.Is(err, ErrMoved) {
		t.Errorf("a string of 16 where 15 are allowed: %v", err)
	}
}

// TestStringLoops: strings that are made of themselves end, without much work.
func TestStringLoops(t *testing.T) {
	for _, kind := range []uint16{cons, sliced, thin} {
		d := draw(t)
		self := d.object(kind, Tagged(1<<20)<<32, 0, 0)
		at, _ := self.Object()
		off := int(at - d.start)
		le.PutUint64(d.data[off+16:], uint64(self))
		if kind == cons {
			le.PutUint64(d.data[off+24:], uint64(self))
		}
		b := work.New(100<<20, 0)
		h := reading(d.Layout, mem.NewOverlay(nil, mem.Range{Start: d.start, Data: d.data}), b)
		if got, err := h.String(self, MaxSource); err == nil {
			t.Errorf("kind %d: %q", kind, got)
		}
		if left, _ := b.Left(); left < 80<<20 {
			t.Errorf("kind %d: %d steps", kind, 100<<20-left)
		}
	}
}

// TestStringIsBounded: a string whose halves are one and the same, over and over, has many pieces for its few objects.
func TestStringIsBounded(t *testing.T) {
	d := draw(t)
	s, n := d.text("x"), 1
	for range 20 {
		n *= 2
		s = d.object(cons, Tagged(n)<<32, s, s)
	}
	if got, err := d.heap().String(s, MaxSource); err == nil {
		t.Errorf("a string of %d pieces has %d bytes", n, len(got))
	}
}

// shared draws a SharedFunctionInfo of 12.4.
func (d *drawnHeap) shared(name, script Tagged) Tagged {
	return d.object(d.Types.Shared, 0, name, 0, script, 0, 0, 0)
}

// TestDescribe: names and start positions by the slots of a ScopeInfo, up to V8 12.7 and after.
func TestDescribe(t *testing.T) {
	d := draw(t)
	undefined := d.object(d.Types.Oddball, 0)
	local, name, inferred, empty := d.text("local"), d.text("name"), d.text("ns.inferred"), d.text("")
	other := d.object(d.Types.Scope, 0, 0, 0)
	locals := func(n int) (out []Tagged) {
		for range n {
			out = append(out, local)
		}
		for range n {
			out = append(out, smi(77))
		}
		return out
	}
	scope := func(newer bool, n int, tail ...Tagged) Tagged {
		words := []Tagged{0, smi(1), smi(n)}
		if newer {
			words = append(words, smi(30), smi(60))
		}
		if n >= 75 {
			words = append(words, undefined)
			words = append(words, locals(n)[n:]...)
		} else {
			words = append(words, locals(n)...)
		}
		return d.object(d.Types.Scope, append(append(words, tail...), other, other)...)
	}
	for _, tc := range []struct {
		what  string
		newer bool
		name  Tagged
		want  string
		start int
	}{
		{"function", false, scope(false, 0, name, smi(1), empty, smi(10), smi(20)), "name", 10},
		{"14 captured", false, scope(false, 14, name, smi(1), empty, smi(10), smi(20)), "name", 10},
		{"90 captured, in a table", false, scope(false, 90, name, smi(1), empty, smi(10), smi(20)), "name", 10},
		{"inferred", false, scope(false, 1, smi(0), smi(0), inferred, smi(10), smi(20)), "ns.inferred", 10},
		{"anonymous", false, scope(false, 0, empty, smi(0), undefined, smi(10), smi(20)), "", 10},
		{"a script", false, scope(false, 2, smi(5), smi(20)), "", 5},
		{"a name and no scope", false, name, "name", -1},
		{"no name", false, smi(0), "", -1},
		{"function, newer", true, scope(true, 0, name, smi(1), empty), "name", 30},
		{"inferred, newer", true, scope(true, 3, smi(0), smi(1), inferred), "ns.inferred", 30},
		{"a module, newer", true, scope(true, 0, smi(2), smi(0)), "", 30},
	} {
		h := d.heap()
		if tc.newer {
			l := *d.Layout
			l.Scope.FirstVars, l.Scope.Positions = 5, 3
			h.Layout = &l
		}
		got, start, err := h.Describe(Shared{NameOrScope: tc.name})
		if got != tc.want || start != tc.start || err != nil {
			t.Errorf("%s: %q at %d, %v; want %q at %d", tc.what, got, start, err, tc.want, tc.start)
		}
	}
	for what, bad := range map[string]Tagged{"another object": d.object(199), "a scope with -1 locals": d.object(
		d.Types.Scope, 0, smi(0), smi(-1)), "no memory": 0x7001} {
		if _, _, err := d.heap().Describe(Shared{NameOrScope: bad}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestScript: name, offsets and lines of scripts.
func TestScript(t *testing.T) {
	d := draw(t)
	undefined := d.object(d.Types.Oddball, 0)
	text := d.text("a\nb\r\nc\rd")
	script := func(name, ends Tagged, line, column int) Tagged {
		return d.object(d.Types.Script, text, name, smi(line), smi(column), 0, 0, ends, 0)
	}
	ends := d.object(d.Types.FixedArray, smi(2), smi(3), smi(8))
	disordered := d.object(d.Types.FixedArray, smi(2), smi(9), smi(8))
	for _, tc := range []struct {
		what                 string
		script               Tagged
		name                 string
		offset, line, column int
	}{
		{"counted here", script(d.text("/a.js"), undefined, 0, 0), "/a.js", 5, 3, 1},
		{"counted by V8", script(d.text("/a.js"), ends, 0, 0), "/a.js", 5, 2, 2},
		{"counted by V8 and moved since", script(d.text("/a.js"), disordered, 0, 0), "/a.js", 5, 3, 1},
		{"in a page, first line", script(d.text("/a.html"), undefined, 10, 7), "/a.html", 0, 11, 8},
		{"in a page, second line", script(d.text("/a.html"), undefined, 10, 7), "/a.html", 2, 12, 1},
		{"eval", script(undefined, undefined, 0, 0), Eval, 0, 1, 1},
		{"the end of the text", script(undefined, undefined, 0, 0), Eval, 8, 4, 2},
	} {
		h := d.heap()
		p, ok, err := h.ScriptOf(Shared{Script: tc.script})
		if err != nil || !ok || p.Name != tc.name {
			t.Errorf("%s: %q, %v, %v", tc.what, p.Name, ok, err)
			continue
		}
		l, err := h.LinesOf(p)
		if err != nil {
			t.Errorf("%s: %v", tc.what, err)
			continue
		}
		if line, column, ok := l.At(tc.offset); line != tc.line || column != tc.column || !ok {
			t.Errorf("%s: %d:%d, %v; want %d:%d", tc.what, line, column, ok, tc.line, tc.column)
		}
		for _, outside := range []int{-1, 9} {
			if line, column, ok := l.At(outside); ok {
				t.Errorf("%s: position %d is %d:%d", tc.what, outside, line, column)
			}
		}
	}
	if _, ok, err := d.heap().ScriptOf(Shared{Script: undefined}); ok || err != nil {
		t.Errorf("a builtin: %v, %v", ok, err)
	}
	if _, ok, err := d.heap().ScriptOf(Shared{Script: text}); ok || !errors.Is(err, ErrMoved) {
		t.Errorf("a script that is none: %v, %v", ok, err)
	}
}

// TestLineEnds: what ends a line, and where pieces of a text meet.
func TestLineEnds(t *testing.T) {
	for text, want := range map[string][]uint32{
		"": {0}, "a": {1}, "\n": {0, 1}, "\r\n": {1, 2}, "\r\r": {0, 1, 2}, "a\r": {1, 2}, "\n\r": {0, 1, 2},
		"é\u2028b\u2029": {1, 3, 4}, "😀\n": {2, 3},
	} {
		units := utf16.Encode([]rune(text))
		var whole, pieces lineCounter
		whole.add(wideBytes(units), true)
		for _, u := range units {
			if u < 0x100 {
				pieces.add([]byte{byte(u)}, false)
			} else {
				pieces.add(wideBytes([]uint16{u}), true)
			}
		}
		for _, c := range []*lineCounter{&whole, &pieces} {
			if got := c.finish(); len(got) != len(want) {
				t.Errorf("%q: %d, want %d", text, got, want)
			} else {
				for i := range got {
					if got[i] != want[i] {
						t.Errorf("%q: %d, want %d", text, got, want)
					}
				}
			}
		}
	}
}

// TestFollow: an object that the garbage collector is moving has its new address in place of its map.
func TestFollow(t *testing.T) {
	d := draw(t)
	now := d.object(d.Types.FirstFunction, 0, 0, 0, 0)
	a, _ := now.Object()
	old := d.start + mem.Addr(len(d.data))
	d.words(Tagged(a), 0, 0)
	if got, err := d.heap().Follow(old); got != a || err != nil {
		t.Errorf("moved: %#x, %v; want %#x", got, err, a)
	}
	if got, err := d.heap().Follow(a); got != a || err != nil {
		t.Errorf("not moved: %#x, %v; want %#x", got, err, a)
	}
}

// TestTagged: a word is a number, a pointer or neither.
func TestTagged(t *testing.T) {
	if n, ok := smi(-5).Int(); n != -5 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := Tagged(0x1234).Int(); ok {
		t.Error("a word with bits below 32 is a SMI")
	}
	for w, want := range map[Tagged]mem.Addr{0x1001: 0x1000, 0x1003: 0x1000} {
		if a, ok := w.Object(); a != want || !ok {
			t.Errorf("%#x: %#x, %v", w, a, ok)
		}
	}
	for _, w := range []Tagged{0, 3, smi(1)} {
		if a, ok := w.Object(); ok {
			t.Errorf("%#x is the object %#x", w, a)
		}
	}
}

// TestMethodName: what V8 puts in front of a name, and what not.
func TestMethodName(t *testing.T) {
	for _, tc := range []struct {
		m          Method
		name, want string
	}{
		{Method{"Robot", "walk"}, "walk", "Robot.walk"},
		{Method{"Robot", "val"}, "get val", "Robot.get val"},
		{Method{"Robot", "old"}, "Robot.old", "Robot.old"},
		{Method{"Robot", "alias"}, "walk", "walk"},
		{Method{"", "key"}, "", "key"},
		{Method{"Module", "_compile"}, "", "Module._compile"},
		{Method{}, "plain", "plain"},
		{Method{}, "", ""},
	} {
		if got := tc.m.Name(tc.name); got != tc.want {
			t.Errorf("%+v of %q: %q, want %q", tc.m, tc.name, got, tc.want)
		}
	}
}

// TestBudget: a run that may do no more work is refused with the reason.
func TestBudget(t *testing.T) {
	d := draw(t)
	s := d.text(strings.Repeat("x", 5000))
	h := reading(d.Layout, mem.NewOverlay(nil, mem.Range{Start: d.start, Data: d.data}), work.New(40, 0))
	if _, err := h.String(s, MaxSource); !errors.Is(err, work.ErrSpent) {
		t.Errorf("%v, want %v", err, work.ErrSpent)
	}
}
