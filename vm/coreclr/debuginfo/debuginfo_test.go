package debuginfo

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"
)

// writer writes numbers as the runtime does.
type writer struct {
	b    []byte
	half bool // the higher nibble of the last byte is free
}

func (w *writer) nibble(x byte) {
	if w.half = !w.half; w.half {
		w.b = append(w.b, x)
	} else {
		w.b[len(w.b)-1] |= x << 4
	}
}

func (w *writer) number(v uint32) {
	shift := 0
	for v>>(shift+3) != 0 {
		shift += 3
	}
	for ; shift > 0; shift -= 3 {
		w.nibble(byte(v>>shift&7) | 8)
	}
	w.nibble(byte(v & 7))
}

// written are bounds in an encoding, with a head of those flags before them, and bounds of rewritten IL, if any.
func written(e Encoding, flags byte, head, rewritten []byte, list []Bound) []byte {
	var body writer
	body.number(uint32(len(list)))
	last := uint32(0)
	if e == Packed {
		body.number(9 - 1)
		body.number(12 - 1)
		body.half = false
		at, bit := len(body.b), 0
		put := func(v uint32, n int) {
			for i := range n {
				if bit%8 == 0 {
					body.b = append(body.b, 0)
				}
				body.b[at+bit/8] |= byte(v>>i&1) << (bit % 8)
				bit++
			}
		}
		for _, b := range list {
			put(1, 2)
			put(b.Native-last, 9)
			put(uint32(b.IL-Epilogue), 12)
			last = b.Native
		}
	} else {
		for _, b := range list {
			body.number(b.Native - last)
			body.number(uint32(b.IL - Epilogue))
			body.number(0x10)
			last = b.Native
		}
	}
	var sizes writer
	if rewritten != nil {
		sizes.number(instrumented)
		sizes.number(uint32(len(rewritten)))
	}
	sizes.number(uint32(len(body.b)))
	sizes.number(3)
	return slices.Concat([]byte{flags}, head, sizes.b, rewritten, body.b, []byte{1, 2, 3})
}

var drawn = []Bound{{0, Prologue}, {11, 0}, {30, NoMapping}, {41, 7}, {41, 12}, {300, 1000}, {310, Epilogue}}

func TestBounds(t *testing.T) {
	locals := make([]byte, 32+8)
	locals[8] = 2
	for _, c := range []struct {
		name  string
		flags byte
		head  []byte
		bare  bool
		other []byte // bounds of rewritten IL
	}{
		{"bounds alone", 0, nil, false, nil},
		{"bounds without flags", 0, nil, true, nil},
		{"behind a patchpoint with two locals", 1, locals, false, nil},
		{"behind what profilers get", 2, []byte{5, 0, 0, 0, 1, 2, 3, 4, 5}, false, nil},
		{"behind both", 3, append(slices.Clone(locals), 1, 0, 0, 0, 9), false, nil},
		{"behind those of rewritten IL", 0, nil, false, []byte{0x11, 2, 3, 4, 5, 6}},
		{"without flags, behind those of rewritten IL", 0, nil, true, []byte{0x11}},
	} {
		for _, e := range []Encoding{Nibbles, Packed} {
			b, form := written(e, c.flags, c.head, c.other, drawn), Form{Encoding: e, Saved: 8}
			if form.Bare = c.bare; c.bare {
				b = b[1:]
			}
			got, err := Parse(b, form)
			if err != nil || !slices.Equal(got, drawn) {
				t.Errorf("%s, encoding %d: %v, %v", c.name, e, got, err)
			}
			if n, err := Size(b[:min(len(b), MaxHead)], form); err != nil || n != len(b)-3 {
				t.Errorf("%s, encoding %d: %d bytes of %d, %v", c.name, e, n, len(b), err)
			}
			for cut := range b[:len(b)-3] {
				if got, err := Parse(b[:cut], form); !errors.Is(err, ErrMalformed) {
					t.Errorf("%s, encoding %d, cut to %d bytes: %v, %v", c.name, e, cut, got, err)
				}
			}
		}
	}
}

// TestPatchpointARM64: there a PatchpointInfo of .NET 10 has more before the number of its locals: one of 10.0.12.
func TestPatchpointARM64(t *testing.T) {
	b, err := hex.DecodeString("010000000000000000f86f3f77ffff000003000000b0000000ffffffffffffffffffffffffffffffff" +
		"f0ffffffe0ffffffd8ffffff0c4a5977" +
		"0204c842006b8b082e82d488c123eb960c02927cc961265d9c9c8b020000c394fb44b3d50a4cb94f355b8dc094fb64b3c50f00")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b, Form{Encoding: Packed, Saved: 16})
	if err != nil {
		t.Fatal(err)
	}
	want := []Bound{{0, Prologue}, {44, 1}, {216, 42}, {224, 43}, {256, 50}, {280, 57}, {452, 88}, {464, NoMapping},
		{500, 92}, {528, 99}, {644, 110}, {800, 136}, {800, Epilogue}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := Parse(b, Form{Encoding: Packed, Saved: 8}); !errors.Is(err, ErrMalformed) {
		t.Errorf("with 8 bytes: %v", err)
	}
}

// TestRewritten: bounds of rewritten IL alone say nothing of the IL in the assembly.
func TestRewritten(t *testing.T) {
	var sizes writer
	for _, n := range []uint32{instrumented, 2, 0, 3} {
		sizes.number(n)
	}
	if got, err := Parse(slices.Concat([]byte{0}, sizes.b, make([]byte, 5)), Form{}); !errors.Is(err, ErrRewritten) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAt(t *testing.T) {
	for native, want := range map[uint32]int{0: 0, 10: 0, 11: 0, 29: 0, 35: 0, 40: 0, 41: 12, 299: 12, 300: 1000,
		305: 1000, 5000: 1000} {
		if got, ok := At(drawn, native); !ok || got != want {
			t.Errorf("%d is IL %d, %t, want %d", native, got, ok, want)
		}
	}
	if il, ok := At([]Bound{{4, 2}}, 3); ok {
		t.Errorf("before the first bound is IL %d", il)
	}
	if il, ok := At(nil, 3); ok {
		t.Errorf("without bounds there is IL %d", il)
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range []Encoding{Nibbles, Packed} {
		f.Add(written(e, 0, nil, nil, drawn), e == Packed, false)
		f.Add(written(e, 0, nil, nil, drawn)[1:], e == Packed, true)
		f.Add(written(e, 2, []byte{1, 0, 0, 0, 9}, nil, drawn), e == Packed, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, packed, bare bool) {
		form := Form{Bare: bare}
		if packed {
			form.Encoding = Packed
		}
		list, err := Parse(b, form)
		if err != nil && list != nil {
			t.Fatalf("%d bounds and %v", len(list), err)
		}
		if len(list) > 8*len(b)+1 {
			t.Fatalf("%d bounds out of %d bytes", len(list), len(b))
		}
		At(list, 100)
		Size(b, form)
	})
}
