package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// drawn is a memory of one range.
type drawn struct{ mem.Range }

func (d drawn) view() *view.View {
	v := view.Copied(nil, d.Range)
	return &v
}

func known(t testing.TB, minor int) *Layout {
	t.Helper()
	l, err := Known(Version{3, minor})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPlaceAt has tables as the compiler of each form makes them. The bytes are those of `co_lnotab`, `co_linetable`
// of the functions beside them, and what co_lines() or co_positions() says of them.
func TestPlaceAt(t *testing.T) {
	// def f(x):       # line 10
	//     y = x + 1   # instructions 0-7
	//     return y    # 8-11
	// RESUME without a line, y = x + 1 and return y in the form of one line.
	three := []byte{0x80 | 15<<3, 0x80 | 11<<3 | 2, 8, 13, 0x80 | 11<<3, 4, 12}
	for _, tc := range []struct {
		name   string
		minor  int
		table  []byte
		offset int
		want   Place
	}{
		{"lnotab, first line", 9, []byte{0, 1, 8, 1}, 0, Place{11, 0}},
		{"lnotab, last byte of a line", 9, []byte{0, 1, 8, 1}, 7, Place{11, 0}},
		{"lnotab, second line", 9, []byte{0, 1, 8, 1}, 8, Place{12, 0}},
		{"lnotab, back", 8, []byte{0, 5, 4, 0xfe}, 6, Place{13, 0}},
		{"lnotab, not begun", 8, []byte{0, 5}, -1, Place{10, 0}},
		{"lnotab, half a pair", 8, []byte{0, 5, 4}, 6, Place{15, 0}},
		{"ranges", 10, []byte{8, 1, 4, 1}, 7, Place{11, 0}},
		{"ranges, second", 10, []byte{8, 1, 4, 1}, 8, Place{12, 0}},
		{"ranges, no line", 10, []byte{8, 1, 4, 0x80}, 8, Place{10, 0}},
		{"ranges, behind the end", 10, []byte{8, 1}, 9, Place{10, 0}},
		{"locations, start", 12, three, 0, Place{10, 0}},
		{"locations, one line", 12, three, 2, Place{11, 9}},
		{"locations, next", 12, three, 8, Place{12, 5}},
		{"locations, short form", 11, []byte{0x80 | 1<<3, 0x25}, 0, Place{10, 11}},
		{"locations, long form", 13, []byte{0x80 | 14<<3 | 1, 6, 0, 20, 30}, 2, Place{13, 20}},
		{"locations, long form, back", 13, []byte{0x80 | 14<<3 | 1, 7, 0, 20, 30}, 2, Place{7, 20}},
		{"locations, more bytes of a number", 13, []byte{0x80 | 13<<3, 0x40 | 0x20, 0x04}, 0, Place{154, 0}},
		{"locations, no columns", 14, []byte{0x80 | 13<<3 | 7, 2}, 15, Place{11, 0}},
		{"locations, behind the end", 14, []byte{0x80 | 13<<3, 2}, 4, Place{10, 0}},
		{"locations, no table", 14, []byte{0x12}, 0, Place{10, 0}},
		{"locations, cut", 14, []byte{0x80 | 14<<3}, 0, Place{10, 0}},
	} {
		l := &Layout{Version: Version{3, tc.minor}}
		if got := l.PlaceAt(tc.table, tc.offset, 10); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// text draws a string object at 0x1000.
func text(l *Layout, kind int, ascii bool, chars ...rune) drawn {
	size := l.String.Compact
	if ascii {
		size = l.String.ASCII
	}
	b := make([]byte, size, size+4*len(chars)+64)
	binary.LittleEndian.PutUint64(b[l.String.Length:], uint64(len(chars)))
	state := uint32(kind) | 8
	if ascii {
		state |= 16
	}
	binary.LittleEndian.PutUint32(b[l.String.State:], state<<l.String.Shift)
	for _, c := range chars {
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], uint32(c))
		b = append(b, w[:kind]...)
	}
	return drawn{mem.Range{Start: 0x1000, Data: b[:cap(b)]}}
}

func TestStringAt(t *testing.T) {
	for _, minor := range []int{8, 11, 12} {
		l := known(t, minor)
		for _, tc := range []struct {
			name  string
			kind  int
			ascii bool
			chars []rune
			want  string
		}{
			{"ascii", 1, true, []rune("spin_leaf"), "spin_leaf"},
			{"empty", 1, true, nil, ""},
			{"latin-1", 1, false, []rune("naïve"), "naïve"},
			{"ucs-2", 2, false, []rune("δοκιμή日本"), "δοκιμή日本"},
			{"ucs-4", 4, false, []rune("𝒳x"), "𝒳x"},
			{"a byte that was no text", 2, false, []rune{'a', 0xdcff}, "a\xff"},
		} {
			m := text(l, tc.kind, tc.ascii, tc.chars...)
			if got, ok := l.StringAt(m.view(), 0x1000); !ok || got != tc.want {
				t.Errorf("3.%d, %s: %q, %t; want %q", minor, tc.name, got, ok, tc.want)
			}
		}
		m := text(l, 1, true, 'x')
		m.Data[l.String.State] &^= 8 << l.String.Shift
		if s, ok := l.StringAt(m.view(), 0x1000); ok {
			t.Errorf("3.%d: a string that is not compact is %q", minor, s)
		}
		if s, ok := l.StringAt(m.view(), 0); ok {
			t.Errorf("3.%d: null is %q", minor, s)
		}
	}
}

// TestKnown: releases that nobody knows are refused.
func TestKnown(t *testing.T) {
	for _, v := range []Version{{2, 7}, {3, 7}, {3, 13}, {4, 9}} {
		if l, err := Known(v); l != nil || !errors.Is(err, ErrUnknown) {
			t.Errorf("%v: %v, %v", v, l, err)
		}
	}
}

// describe is what a release says of itself: its fields one behind the other in each struct.
func describe(minor int) []byte {
	b := make([]byte, OffsetsSize)
	copy(b, Cookie)
	binary.LittleEndian.PutUint64(b[8:], 3<<24|uint64(minor)<<16)
	release := min(minor, lastMinor) - firstOffsets
	next := map[string]uint64{"runtime": 808, "base": 80, "interp": 7000, "string": 40, "code": 24, "generator": 24}
	for i := range fields {
		f := &fields[i]
		if at := f.at[release]; at != 0 {
			next[f.in] = (next[f.in] + 7) &^ 7
			binary.LittleEndian.PutUint64(b[at:], next[f.in])
			next[f.in] += uint64(f.size)
		}
	}
	binary.LittleEndian.PutUint64(b[collecting[release]:], 600)
	set := func(to func(*Layout) *int, v uint64) { binary.LittleEndian.PutUint64(b[positionOf(to, minor):], v) }
	set(func(l *Layout) *int { return &l.String.Length }, 16)
	set(func(l *Layout) *int { return &l.String.State }, 32)
	set(func(l *Layout) *int { return &l.String.ASCII }, 40)
	return b
}

// positionOf is where a release has the offset of a field.
func positionOf(to func(*Layout) *int, minor int) int {
	l := &Layout{Code: CodeLayout{Variables: make([]int, 1)}}
	for i := range fields {
		if f := &fields[i]; f.to(l) == to(l) {
			return f.at[min(minor, lastMinor)-firstOffsets]
		}
	}
	return 0
}

// TestDescribed: a description is read by its release, the next release as the last that is known. One without a field
// that is needed, or whose fields lie where none can be or upon each other, is refused.
func TestDescribed(t *testing.T) {
	for _, minor := range []int{13, 14, 15, 16} {
		l, err := Described(describe(minor))
		if err != nil {
			t.Fatalf("3.%d: %v", minor, err)
		}
		if l.Runtime.Interpreters != 808 || l.Frame.Previous != 0 || l.Frame.Code != 8 || l.Frame.Instr != 16 ||
			l.Interp.Collecting != 7024+600 || l.String.Compact != 56 || l.Version != (Version{3, minor}) {
			t.Errorf("3.%d: %+v", minor, l)
		}
	}
	owner := positionOf(func(l *Layout) *int { return &l.Frame.Owner }, 14)
	gc := positionOf(func(l *Layout) *int { return &l.Interp.Collecting }, 14)
	instr := positionOf(func(l *Layout) *int { return &l.Frame.Instr }, 14)
	length := positionOf(func(l *Layout) *int { return &l.String.Length }, 14)
	for _, tc := range []struct {
		name string
		do   func(b []byte) []byte
	}{
		{"no cookie", func(b []byte) []byte { b[0] = 'y'; return b }},
		{"short", func(b []byte) []byte { return b[:100] }},
		{"2.7", func(b []byte) []byte { b[11] = 2; return b }},
		{"an offset of a petabyte", func(b []byte) []byte { b[gc+6] = 1; return b }},
		{"a frame of a megabyte", func(b []byte) []byte { b[owner+2] = 1; return b }},
		{"a string without a head", func(b []byte) []byte { b[length] = 0; return b }},
		{"an address that is not aligned", func(b []byte) []byte { b[instr] += 4; return b }},
		{"two fields at one place", func(b []byte) []byte { b[instr] = 8; return b }},
		{"nothing but a version", func(b []byte) []byte { clear(b[24:]); return b }},
	} {
		if l, err := Described(tc.do(describe(14))); err == nil || l != nil {
			t.Errorf("%s: %+v", tc.name, l)
		}
	}
}

// TestNeededFields: without any one of the fields that are needed a release is refused, also one that is not known
// yet.
func TestNeededFields(t *testing.T) {
	for _, minor := range []int{13, 14, 15, 16} {
		for i := range fields {
			at := fields[i].at[min(minor, lastMinor)-firstOffsets]
			if at == 0 || !fields[i].required {
				continue
			}
			b := describe(minor)
			for k := range 8 {
				b[at+k] = 0xff
			}
			if l, err := Described(b); err == nil {
				t.Errorf("3.%d without field %d of %s: %+v", minor, i, fields[i].in, l)
			}
		}
	}
}

// dictionary draws a dictionary at 0x1000 whose keys are the addresses given and whose values are those plus 1.
func dictionary(l *Layout, keys ...uint64) drawn {
	i := memory.NewImage(0x1000, 8, binary.LittleEndian)
	i.Skip(l.Header / 8).Skip(2).Ref("keys").Word(0).Label("keys")
	if l.Version.Minor <= 10 {
		i.Skip(1).Word(8).Skip(2).Word(uint64(len(keys))).Bytes(0, 1, 2, 3, 4, 5, 6, 7)
	} else {
		i.Skip(1).Bytes(3, 3, 0, 0, 0, 0, 0, 0).Skip(1).Word(uint64(len(keys))).Bytes(0, 1, 2, 3, 4, 5, 6, 7)
	}
	for _, k := range keys {
		i.Word(0x1234).Word(k).Word(k + 1)
	}
	return drawn{i.Range()}
}

func TestEntries(t *testing.T) {
	for _, minor := range []int{8, 10, 11, 12} {
		l := known(t, minor)
		var got []string
		ok := l.Entries(dictionary(l, 0x50, 0, 0x70).view(), 0x1000, func(key, value mem.Addr) bool {
			got = append(got, fmt.Sprintf("%#x=%#x", uint64(key), uint64(value)))
			return true
		})
		if want := []string{"0x50=0x51", "0x70=0x71"}; !ok || !slices.Equal(got, want) { // the second was deleted
			t.Errorf("3.%d: %v, %t; want %v", minor, got, ok, want)
		}
	}
}

func TestIntAt(t *testing.T) {
	for _, tc := range []struct {
		minor int
		count uint64
		want  uint64
		ok    bool
	}{{8, 2, 5<<30 | 7, true}, {11, 1, 7, true}, {12, 2 << 3, 5<<30 | 7, true}, {12, 1<<3 | 2, 0, false},
		{8, 0, 0, true}, {8, 9, 0, false}} {
		i := memory.NewImage(0x1000, 8, binary.LittleEndian).Skip(2).Word(tc.count).Word(5<<32 | 7).Word(0)
		got, ok := known(t, tc.minor).IntAt(drawn{i.Range()}.view(), 0x1000)
		if got != tc.want || ok != tc.ok {
			t.Errorf("3.%d, size %#x: %#x, %t; want %#x, %t", tc.minor, tc.count, got, ok, tc.want, tc.ok)
		}
	}
}

// FuzzPlaceAt: no table makes the decoders fail.
func FuzzPlaceAt(f *testing.F) {
	for minor := range 16 {
		f.Add([]byte{0x80 | 14<<3 | 1, 6, 0, 20, 30}, 2, minor)
	}
	f.Fuzz(func(t *testing.T, table []byte, offset, minor int) {
		p := (&Layout{Version: Version{3, minor & 31}}).PlaceAt(table, offset, 1)
		if p.Line < 0 || p.Column < 0 {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzObjects: no memory makes the readers of objects fail, or go on for ever.
func FuzzObjects(f *testing.F) {
	l := known(f, 12)
	f.Add(text(l, 1, true, []rune("name")...).Data, 12)
	f.Add(dictionary(l, 0x1000, 0x1010).Data, 12)
	f.Add(dictionary(known(f, 9), 0x1000, 0x1010).Data, 9)
	f.Fuzz(func(t *testing.T, b []byte, minor int) {
		l, err := Known(Version{3, 8 + minor&3})
		if err != nil {
			t.Skip()
		}
		m := drawn{mem.Range{Start: 0x1000, Data: b}}.view()
		l.StringAt(m, 0x1000)
		l.BytesAt(m, 0x1000)
		l.IntAt(m, 0x1000)
		l.Attribute(m, 0x1040, "_name")
		l.Item(m, 0x1000, "threading")
		if f, ok := l.FrameAt(m, 0x1000); ok {
			n := 0
			l.Variables(m, &f, func(string, mem.Addr) bool { n++; return true })
			if n > MaxVariables {
				t.Errorf("%d variables", n)
			}
		}
		if s, _ := l.Repr(m, 0x1000); len(s) > 64<<10 {
			t.Errorf("%d bytes say what an object is", len(s))
		}
		l.GeneratorAt(m, 0x1000)
		l.Items(m, 0x1000, func(mem.Addr) bool { return true })
		if at, err := l.TaskLayout(); err != nil {
			t.Error(err)
		} else if len(b) >= at.Size {
			at.TaskOf(0x1000, b)
		}
		if at, err := l.DescribedTasks(b); err == nil {
			at.TaskOf(0x1000, make([]byte, at.Size))
		}
	})
}

// FuzzDescribed: whatever a process says of itself is refused, or its offsets lie in what is read.
func FuzzDescribed(f *testing.F) {
	f.Add(append([]byte(Cookie+"\x00\x00\x0e\x03\x00\x00\x00\x00"), make([]byte, OffsetsSize)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Described(b)
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
		if l == nil {
			return
		}
		buf := make([]byte, max(l.Thread.Size, l.Frame.Size, l.String.Compact, l.Code.Size)+8)
		l.ThreadOf(1, buf[:l.Thread.Size])
		l.FrameOf(1, buf[:l.Frame.Size])
		l.StringSpan(1, buf)
	})
}
