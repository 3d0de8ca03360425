package il_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/vm/coreclr/il"
)

// TestConstants: of what is put into fields the constants are found, as compilers write them for a state machine, and
// nothing else is taken for one.
func TestConstants(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want string
		err  error
	}{
		{"mcs", []byte{0x02, 0x17, 0x7d, 9, 0, 0, 4}, "[2 0x4000009 1]", nil},
		{"Roslyn", []byte{0x02, 0x18, 0x25, 0x0a, 0x7d, 1, 0, 0, 4, 0x2a}, "[4 0x4000001 2]", nil},
		{"minus", []byte{0x02, 0x15, 0x25, 0x13, 5, 0x7d, 1, 0, 0, 4}, "[5 0x4000001 -1]", nil},
		{"large", []byte{0x02, 0x1f, 200, 0x7d, 1, 0, 0, 4, 0x02, 0x20, 0, 1, 0, 0, 0x7d, 1, 0, 0, 10},
			"[3 0x4000001 -56 14 0xa000001 256]", nil},
		{"another value", []byte{0x17, 0x06, 0x7d, 1, 0, 0, 4}, "[]", nil},
		{"a switch", []byte{0x45, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x16, 0x7d, 1, 0, 0, 4}, "[14 0x4000001 0]", nil},
		{"cut", []byte{0x17, 0x7d, 1, 0}, "[]", il.ErrFormat},
		{"no instruction", []byte{0x17, 0xfe, 0x08, 0x7d, 1, 0, 0, 4}, "[]", il.ErrFormat},
		{"a long switch", []byte{0x45, 255, 255, 255, 255, 0}, "[]", il.ErrFormat},
	} {
		var got []any
		err := il.Constants(tt.code, func(at, field uint32, value int32) bool {
			got = append(got, at, fmt.Sprintf("%#x", field), value)
			return true
		})
		if fmt.Sprint(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, %v; want %s, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

// TestExtent: both heads of bodies.
func TestExtent(t *testing.T) {
	fat := []byte{0x13, 0x30, 8, 0, 7, 1, 0, 0, 0, 0, 0, 0}
	if offset, size, err := il.Extent(fat); offset != 12 || size != 0x107 || err != nil {
		t.Errorf("fat: %d, %d, %v", offset, size, err)
	}
	if offset, size, err := il.Extent([]byte{6<<2 | 2}); offset != 1 || size != 6 || err != nil {
		t.Errorf("tiny: %d, %d, %v", offset, size, err)
	}
	for _, b := range [][]byte{nil, {1}, fat[:11]} {
		if _, _, err := il.Extent(b); !errors.Is(err, il.ErrFormat) {
			t.Errorf("% x: %v", b, err)
		}
	}
}

func FuzzConstants(f *testing.F) {
	f.Add([]byte{0x02, 0x18, 0x25, 0x0a, 0x7d, 1, 0, 0, 4, 0x2a})
	f.Fuzz(func(t *testing.T, code []byte) {
		last := -1
		_ = il.Constants(code, func(at, _ uint32, _ int32) bool {
			if int(at) <= last || int(at) >= len(code) {
				t.Fatalf("at %d behind %d of %d", at, last, len(code))
			}
			last = int(at)
			return true
		})
	})
}
