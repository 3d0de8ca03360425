package readytorun

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

const base mem.Addr = 0x10000

// drawn is an image with a header at 0x100 and a section of that kind, which has data, at 0x200.
func drawn(k Kind, data []byte) *view.View {
	b := make([]byte, 0x200, 0x200+len(data))
	copy(b[0x100:], "RTR\x00\x10\x00\x01\x00")
	put := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	put(0x10c, 1)
	put(0x110, uint32(k))
	put(0x114, 0x200)
	put(0x118, uint32(len(data)))
	v := view.Copied(nil, mem.Range{Start: base, Data: append(b, data...)})
	return &v
}

// number appends v as it is written.
func number(b []byte, v uint32) []byte {
	switch {
	case v < 1<<7:
		return append(b, byte(v<<1))
	case v < 1<<14:
		return append(b, byte(v<<2|1), byte(v>>6))
	case v < 1<<21:
		return append(b, byte(v<<3|3), byte(v>>5), byte(v>>13))
	case v < 1<<28:
		return append(b, byte(v<<4|7), byte(v>>4), byte(v>>12), byte(v>>20))
	}
	return binary.LittleEndian.AppendUint32(append(b, 0x0f), v)
}

func TestNumbers(t *testing.T) {
	for _, want := range []uint32{0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 0x1fffff, 0x200000, 0xfffffff, 0x10000000,
		1<<32 - 1} {
		b := number(nil, want)
		for n := range len(b) + 1 {
			v := view.Copied(nil, mem.Range{Start: base, Data: b})
			r := &reader{view: &v, base: base, size: uint32(n)}
			got, next := r.unsigned(0)
			if n == len(b) && (got != want || next != uint32(n) || r.err != nil) {
				t.Errorf("%#x is %#x, %d bytes of %d, %v", want, got, next, n, r.err)
			}
			if n < len(b) && !errors.Is(r.err, ErrFormat) {
				t.Errorf("%#x cut to %d bytes is %#x, %v", want, n, got, r.err)
			}
		}
	}
}

// tree is an array of 16 elements and one, of which 2, 3, 9 and 16 are there; 3 is the same as 2, and what is there is
// behind a 0.
//
//	0: table of two blocks, at 3 and 13 from the table
func tree() []byte {
	b := number(nil, 17<<2) // elements, and blocks by a byte
	b = append(b, 2, 16)
	// Block 0. Of 8 bits: left to those below 8, right to 9 alone, which says so.
	b = number(b, 9<<2|3) // at 2: left follows, right 9 bytes on
	b = number(b, 1)      // at 3: left alone, below 4
	b = number(b, 4<<2|2) // at 4: right alone, 2 and 3: 4 bytes on
	b = append(b, 0xff, 0xff, 0xff)
	b = number(b, 2<<2|3)           // at 8: 2 follows, 3 is 2 bytes on
	b = append(b, 0, 2)             // at 9: 2, here; at 10: 3, the same as a byte before
	b = append(b, 9<<3, 0)          // at 11: 9 alone, here
	b = append(b, 0xee, 0xee, 0xee) // 13 to 15
	b = append(b, 0, 0, 0x55)       // block 1, at 16: 0 alone, here
	return b
}

func TestDebug(t *testing.T) {
	data := tree()
	im, err := Open(drawn(DebugInfo, data), base, base+0x100)
	if err != nil || im.Major != 16 || im.Minor != 1 {
		t.Fatalf("%+v, %v", im, err)
	}
	start := base + 0x200
	table := start + mem.Addr(len(number(nil, 17<<2)))
	for i, want := range map[int]mem.Addr{2: table + 10, 3: table + 9, 9: table + 13, 16: table + 18, 0: 0, 1: 0, 4: 0,
		8: 0, 10: 0, 15: 0, 17: 0, -1: 0, 1 << 30: 0} {
		at, ok, err := im.Debug(i)
		if ok != (want != 0) || ok && at != want || err != nil {
			t.Errorf("element %d is at %#x from the table, %t, %v, want %#x", i, at-table, ok, err, want-table)
		}
	}
	if s, ok := im.Section(RuntimeFunctions); ok {
		t.Errorf("there is a section %+v", s)
	}
	for n := range data {
		im, err := Open(drawn(DebugInfo, data[:n]), base, base+0x100)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok, err := im.Debug(16); ok && n < len(data)-1 || err == nil && !ok {
			t.Errorf("cut to %d bytes element 16 is at %#x, %t, %v", n, at-table, ok, err)
		}
	}
}

// TestHot: a cold part, and its funclets behind it, belong to the function that the map says; what contradicts itself
// or cannot be read is an error, and no other function.
func TestHot(t *testing.T) {
	var data []byte
	for _, n := range []uint32{10, 2, 12, 3, 13, 13} { // cold part, hot function
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	for n := range len(data)/8 + 1 {
		v := drawn(HotColdMap, data)
		im, err := Open(v, base, base+0x100)
		if err != nil {
			t.Fatal(err)
		}
		if missing := n < len(data)/8; missing { // pair n cannot be read
			whole, _ := v.Around(base)
			cut := 0x200 + n*8
			*v = view.Copied(nil, mem.Range{Start: base, Data: whole.Data[:cut]},
				mem.Range{Start: base + mem.Addr(cut) + 8, Data: whole.Data[cut+8:]})
		}
		for function, want := range map[int]int{0: -1, 9: -1, 10: 2, 11: 2, 12: 3, 13: -2, -1: -1} {
			hot, cold, err := im.Hot(function)
			got := hot
			if err != nil {
				got = -2
			} else if !cold {
				got = -1
			}
			if got != want && (err == nil || n == len(data)/8) {
				t.Errorf("without pair %d: function %d belongs to %d, %t, %v, want %d", n, function, hot, cold, err,
					want)
			}
		}
	}
}

func TestNoImage(t *testing.T) {
	for name, at := range map[string]mem.Addr{"other bytes": base, "cut": base + 0x1f8, "nothing": 0} {
		if im, err := Open(drawn(DebugInfo, nil), base, at); err == nil {
			t.Errorf("%s: %+v", name, im)
		}
	}
}

// FuzzDebug: whatever the section has, an element is in it, or there is none.
func FuzzDebug(f *testing.F) {
	f.Add(tree(), 3)
	f.Add([]byte{0x06, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff}, 0)
	f.Fuzz(func(t *testing.T, data []byte, i int) {
		im, err := Open(drawn(DebugInfo, data), base, base+0x100)
		if err != nil {
			t.Fatal(err)
		}
		at, ok, err := im.Debug(i)
		if ok && (err != nil || at < base+0x200 || at >= base+0x200+mem.Addr(len(data))) {
			t.Fatalf("%#x, %v", at, err)
		}
	})
}
