package codecache

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/view"
)

func word(at int64) vmstructs.Place  { return vmstructs.Place{Offset: at, Size: 8} }
func short(at int64) vmstructs.Place { return vmstructs.Place{Offset: at, Size: 4, Signed: true} }

// drawn is a layout with as few fields as there can be: offsets from a blob, as JDK 8 has them.
func drawn() *Layout {
	l := &Layout{header: 16, name: word(0), size: short(8), frameComplete: short(12), frameSize: short(16),
		codeOffset: short(20), dataOffset: short(24), method: word(32), compileID: short(40), entryBCI: short(44),
		deoptOffset: short(48), origPC: short(52), verified: word(56), metadataOffset: short(64), pcs: short(68),
		pcsEnd: short(72), scopesOffset: short(76), pcOffset: short(0), pcScope: short(4), pcSize: 16}
	l.HeadSize = l.headSize()
	return l
}

const (
	start  = mem.Addr(0x10000)
	nameAt = mem.Addr(0x500)
	rootAt = 0x9000 // methods
)

// blob is a compiled method of 0x200 bytes: code from 0x80 to 0x100, two places that are described, three scopes.
func blob() []byte {
	b := make([]byte, 0x200)
	put := func(at int, n uint32) { binary.LittleEndian.PutUint32(b[at:], n) }
	binary.LittleEndian.PutUint64(b, uint64(nameAt))
	for at, n := range map[int]uint32{8: 0x200, 12: 5, 16: 4, 20: 0x80, 24: 0x100, 32: rootAt, 40: 7, 44: 0xffffffff,
		48: 0xf0, 52: 8, 56: uint32(start) + 0x80, 64: 0x180, 68: 0x120, 72: 0x150, 76: 0x100} {
		put(at, n)
	}
	// Scopes: at 1 the outermost; at 4 one inlined in it; at 7 one in that.
	copy(b[0x100:], []byte{0, 0, 1, 10, 1, 2, 21, 4, 3, 0})
	for i, d := range [][2]uint32{{0x10, 7}, {0x40, 1}, {0x80, 0}} {
		put(0x120+16*i, d[0])
		put(0x124+16*i, d[1])
	}
	for i := range 3 {
		binary.LittleEndian.PutUint64(b[0x180+8*i:], uint64(rootAt+0x100*i))
	}
	return b
}

func named(mem.Addr) (string, error) { return "nmethod", nil }

func parsed(t *testing.T, l *Layout, data []byte) (*Blob, *view.View) {
	t.Helper()
	v := view.Copied(nil, mem.Range{Start: start, Data: data})
	b, err := l.Parse(start, data, named)
	if err != nil {
		t.Fatal(err)
	}
	return b, &v
}

func TestParse(t *testing.T) {
	b, v := parsed(t, drawn(), blob())
	if b.Kind != Compiled || b.Begin != start+0x80 || b.End != start+0x100 || b.Complete != start+0x85 ||
		b.FrameSize != 32 || b.Method != rootAt || b.CompileID != 7 || b.EntryBCI != -1 ||
		b.Code.Deopt != [2]mem.Addr{start + 0xf0, 0} || b.Code.Metadata != start+0x180 {
		t.Errorf("got %+v", b)
	}
	if same, err := drawn().Same(v, b); !same || err != nil {
		t.Errorf("it is not the same: %v", err)
	}
	other := blob()
	other[40]++ // compiled again
	changed := view.Copied(nil, mem.Range{Start: start, Data: other})
	if same, _ := drawn().Same(&changed, b); same {
		t.Error("what was compiled again is the same")
	}
	for at, n := range map[int]uint32{8: 0, 20: 0x300, 24: 0x70, 72: 0x20} { // size, code, its end, descriptions
		bad := blob()
		binary.LittleEndian.PutUint32(bad[at:], n)
		if _, err := drawn().Parse(start, bad, named); err == nil {
			t.Errorf("%#x at %d is taken", n, at)
		}
	}
}

func TestScopes(t *testing.T) {
	l := drawn()
	b, v := parsed(t, l, blob())
	three := []Scope{{rootAt + 0x200, -1}, {rootAt + 0x100, 20}, {rootAt, 9}}
	for _, row := range []struct {
		name        string
		at          mem.Addr
		interrupted bool
		want        []Scope
		exact       bool
		err         error
	}{
		{"a return address", 0x10, false, three, true, nil},
		{"a return address that is not described", 0x11, false, nil, false, ErrNoDebug},
		{"interrupted there", 0x10, true, three, true, nil},
		{"interrupted before", 8, true, three, false, nil},
		{"interrupted behind", 0x11, true, []Scope{{rootAt, 9}}, false, nil},
		{"behind the last", 0x41, true, nil, false, ErrNoDebug},
	} {
		got, exact, err := l.Scopes(v, b, b.Begin+row.at, row.interrupted, 0)
		if !slices.Equal(got, row.want) || exact != row.exact || !errors.Is(err, row.err) {
			t.Errorf("%s: got %v, %t, %v", row.name, got, exact, err)
		}
	}
	for what, at := range map[string]int{"a scope outside of itself": 0x107, "no method": 0x102} {
		bad := blob()
		bad[at] = 8 - bad[at]&1*8
		if what == "no method" {
			bad[at] = 0
		}
		b, v := parsed(t, l, bad)
		if got, _, err := l.Scopes(v, b, b.Begin+0x10, false, 0); err == nil {
			t.Errorf("%s: got %v", what, got)
		}
	}
}

func TestBlob(t *testing.T) {
	const segmap = mem.Addr(0x4000)
	h := &Heap{Low: 0x100000, High: 0x200000, segmap: segmap, shift: 7}
	data := []byte{0, 1, 2, freeSegment, 0, 1, 9}
	long := make([]byte, 600) // a block of 600 segments: bytes lead back by at most 254
	for i := range long {
		long[i] = byte(min(i, 254))
	}
	v := view.Copied(nil, mem.Range{Start: segmap, Data: append(data, long...)})
	l := drawn()
	for segment, want := range map[int]int{0: 0, 1: 0, 2: 0, 3: -1, 5: 4, 6: -1, 7: 7, 7 + 599: 7} {
		got, err := l.Blob(&v, h, h.Low+mem.Addr(segment<<7+3))
		if want < 0 != (err != nil) || want >= 0 && got != h.Low+mem.Addr(want<<7)+16 {
			t.Errorf("segment %d: got %#x, %v, want segment %d", segment, uint64(got), err, want)
		}
	}
	if _, err := l.Blob(&v, h, h.High-1); err == nil {
		t.Error("a segment that was not copied has a blob")
	}
}

func FuzzBlob(f *testing.F) {
	f.Add(blob(), uint16(0x10), true)
	f.Fuzz(func(t *testing.T, data []byte, at uint16, interrupted bool) {
		v := view.Copied(nil, mem.Range{Start: start, Data: data})
		l := drawn()
		b, err := l.Parse(start, data, named)
		if (b == nil) == (err == nil) {
			t.Fatalf("%v, %v", b, err)
		}
		if err != nil {
			return
		}
		all, _, err := l.Scopes(&v, b, b.Begin+mem.Addr(at), interrupted, 0)
		if len(all) > maxDepth || err != nil && all != nil {
			t.Fatalf("%d scopes, %v", len(all), err)
		}
	})
}
