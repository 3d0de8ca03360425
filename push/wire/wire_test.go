package wire

import (
	"bytes"
	"errors"
	"testing"
)

// TestFields: what is appended is read again; zero is left out but for elements.
func TestFields(t *testing.T) {
	b := Int(Uint(nil, 1, 300), 2, -1)
	b = Fixed64(String(b, 3, "x"), 4, 1<<63)
	b = Packed(Element(b, 16, ""), 5, []int32{0, 1, 128})
	b = Packed(Fixed64(Uint(String(b, 6, ""), 7, 0), 8, 0), 9, []int64(nil))
	want := []Field{{ID: 1, Number: 300}, {ID: 2, Number: 1<<64 - 1}, {ID: 3, Bytes: []byte("x")},
		{ID: 4, Number: 1 << 63}, {ID: 16, Bytes: []byte{}}, {ID: 5, Bytes: []byte{0, 1, 0x80, 1}}}
	for _, w := range want {
		f, rest, err := Next(b)
		if err != nil || f.ID != w.ID || f.Number != w.Number || !bytes.Equal(f.Bytes, w.Bytes) {
			t.Fatalf("field %+v, %v; want %+v", f, err, w)
		}
		b = rest
	}
	if len(b) != 0 {
		t.Errorf("more fields: %x", b)
	}
}

// TestPairs: labels come in the order of their names.
func TestPairs(t *testing.T) {
	got := Pairs(nil, 1, map[string]string{"b": "2", "a": "1"})
	if want := []byte("\x0a\x06\x0a\x01a\x12\x011\x0a\x06\x0a\x01b\x12\x012"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzNext: any bytes are a message or none, and each field takes some of them.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0x0a, 0x01, 'x', 0x10, 0x96, 0x01, 0x19, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			_, rest, err := Next(b)
			if err != nil {
				if !errors.Is(err, ErrMessage) {
					t.Fatal(err)
				}
				return
			}
			if len(rest) >= len(b) {
				t.Fatalf("%d bytes left of %d", len(rest), len(b))
			}
			b = rest
		}
	})
}
