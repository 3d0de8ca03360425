package metadata

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/vm/hotspot/unsigned5"
)

func TestParseLines(t *testing.T) {
	for _, row := range []struct {
		name string
		data []byte
		x    unsigned5.Coding
		want []line
	}{
		{"small differences", []byte{0<<3 | 7, 5<<3 | 1, 0}, 0, []line{{0, 7}, {5, 8}}},
		{"an escape", []byte{0xff, 0, 40, 2<<3 | 1, 0}, 0, []line{{0, 20}, {2, 21}}},
		{"an escape, where no byte is 0", []byte{0xff, 1, 41, 2<<3 | 1, 0}, 1, []line{{0, 20}, {2, 21}}},
		{"a line before", []byte{7, 0xff, 6, 1, 0}, 0, []line{{0, 7}, {3, 6}}},
		{"without an end", []byte{7, 9}, 0, nil},
		{"cut in an escape", []byte{7, 0xff, 200}, 0, nil},
		{"empty", []byte{0}, 0, nil},
	} {
		if got := parseLines(row.data, row.x); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

func TestLine(t *testing.T) {
	m := Method{lines: []line{{0, 7}, {5, 9}, {12, 8}}}
	for bci, want := range map[int]int{-1: 7, 0: 7, 4: 7, 5: 9, 11: 9, 12: 8, 100: 8} {
		if got := m.Line(bci); got != want {
			t.Errorf("bci %d: line %d, want %d", bci, got, want)
		}
	}
	if got := (&Method{}).Line(3); got != 0 {
		t.Errorf("without a table: line %d", got)
	}
}

func TestFieldIn(t *testing.T) {
	var old []byte
	for _, w := range []uint16{0, 11, 0, 0, 12<<2 | 1, 0, 0, 12, 0, 0, 0x401, 1} {
		old = binary.LittleEndian.AppendUint16(old, w)
	}
	is := func(want int64) func(int64) bool { return func(n int64) bool { return n == want } }
	for want, offset := range map[int64]int64{11: 12, 12: (1<<16 | 0x401) >> 2} {
		if got, err := fieldIn(old, 2, is(want)); err != nil || got != offset {
			t.Errorf("field %d is at %d, %v, want %d", want, got, err, offset)
		}
	}
	if _, err := fieldIn(old, 1, is(12)); !errors.Is(err, ErrNoField) {
		t.Errorf("a field of the JVM's own: %v", err)
	}
	// Two of Java, none of the JVM: the first has an initial value and a group, the second is flat in JDK 28.
	stream := []byte{2, 0, 11, 1, 12, 0, 1<<0 | 1<<4, 77, 5, 12, 1, 16, 0, 0, 0}
	b := fieldBits{initialized: 0, injected: 1, generic: 2, contended: 4, flat: -1, nullMarker: -1}
	for want, offset := range map[int64]int64{11: 12, 12: 16} {
		if got, err := b.fieldIn(stream, 0, is(want)); err != nil || got != offset {
			t.Errorf("field %d of the stream is at %d, %v, want %d", want, got, err, offset)
		}
	}
	if _, err := b.fieldIn(stream[:8], 0, is(12)); err == nil {
		t.Error("a stream that is cut has its fields")
	}
}

func FuzzParseLines(f *testing.F) {
	f.Add([]byte{7, 0xff, 6, 1, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, excess bool) {
		x := unsigned5.Coding(0)
		if excess {
			x = 1
		}
		all := parseLines(data, x)
		if len(all) > len(data) {
			t.Fatalf("%d lines of %d bytes", len(all), len(data))
		}
		(&Method{lines: all}).Line(int(len(data)))
	})
}

func FuzzFieldIn(f *testing.F) {
	f.Add([]byte{2, 0, 11, 1, 12, 0, 17, 77, 5, 12, 1, 16, 0, 0, 0}, 3)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		never := func(int64) bool { return false }
		b := fieldBits{initialized: 0, injected: 1, generic: 2, contended: 4, flat: 5, nullMarker: 6}
		if _, err := b.fieldIn(data, 0, never); err == nil {
			t.Error("a field that is none was found")
		}
		if _, err := fieldIn(data, count, never); err == nil {
			t.Error("a field that is none was found")
		}
	})
}
