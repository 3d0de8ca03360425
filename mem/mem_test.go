package mem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// pattern is a Reader in which the byte at an address is its lowest eight bits, up to end.
type pattern struct{ end Addr }

func (p pattern) ReadMem(b []byte, addr Addr) (int, error) {
	for i := range b {
		at := addr + Addr(i)
		if at >= p.end && p.end != 0 || at < addr {
			return i, &FaultError{Addr: at, Len: len(b) - i, Err: ErrUnmapped}
		}
		b[i] = byte(at)
	}
	return len(b), nil
}

func fill(start Addr, n int, c byte) Range {
	return Range{Start: start, Data: bytes.Repeat([]byte{c}, n)}
}

func TestOverlayReadMem(t *testing.T) {
	const top = Addr(1<<64 - 4)
	for _, row := range []struct {
		name   string
		base   Reader
		ranges []Range
		addr   Addr
		n      int
		want   []byte
		fault  Addr // where it fails, if want is shorter than n
	}{
		{"inside one range", nil, []Range{fill(0x1000, 8, 0xaa)}, 0x1002, 3, []byte{0xaa, 0xaa, 0xaa}, 0},
		{"nothing requested", nil, nil, 0x1000, 0, []byte{}, 0},
		{"outside, no base", nil, []Range{fill(0x1000, 8, 0xaa)}, 0xfff, 2, []byte{}, 0xfff},
		{"out of the range's end, no base", nil, []Range{fill(0x1000, 8, 0xaa)}, 0x1006, 4, []byte{0xaa, 0xaa}, 0x1008},
		{"from range to next range", nil, []Range{fill(0x1008, 8, 0xbb), fill(0x1000, 8, 0xaa)}, 0x1006, 4,
			[]byte{0xaa, 0xaa, 0xbb, 0xbb}, 0},
		{"base, range, base", pattern{}, []Range{fill(0x1002, 2, 0xaa)}, 0x1000, 6, []byte{0, 1, 0xaa, 0xaa, 4, 5}, 0},
		{"range, base, range", pattern{}, []Range{fill(0x1000, 1, 0xaa), fill(0x1003, 9, 0xbb)}, 0x1000, 5,
			[]byte{0xaa, 1, 2, 0xbb, 0xbb}, 0},
		{"base ends early", pattern{end: 0x1003}, []Range{fill(0x1000, 1, 0xaa)}, 0x1000, 5,
			[]byte{0xaa, 1, 2}, 0x1003},
		{"base ends before a range", pattern{end: 0x1001}, []Range{fill(0x1002, 1, 0xaa)}, 0x1000, 3,
			[]byte{0}, 0x1001},
		{"last bytes of the address space", nil, []Range{fill(top, 4, 0xaa)}, top, 4,
			[]byte{0xaa, 0xaa, 0xaa, 0xaa}, 0},
		{"range behind the last byte", nil, []Range{fill(top, 4, 0xaa)}, top + 2, 4, []byte{0xaa, 0xaa}, 0},
		{"base behind the last byte", pattern{}, nil, top + 2, 4, []byte{0xfe, 0xff}, 0},
		{"empty ranges are no ranges", pattern{}, []Range{{Start: 0x1000}, {Start: 0x1001, Data: []byte{}}}, 0x1000, 2,
			[]byte{0, 1}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := make([]byte, row.n)
			n, err := NewOverlay(row.base, row.ranges...).ReadMem(b, row.addr)
			if !bytes.Equal(b[:n], row.want) {
				t.Errorf("ReadMem(%d, %#x) = %x, want %x", row.n, row.addr, b[:n], row.want)
			}
			if len(row.want) == row.n {
				if err != nil {
					t.Errorf("error %v with all bytes", err)
				}
				return
			}
			var fault *FaultError
			if !errors.As(err, &fault) || !errors.Is(err, ErrUnmapped) {
				t.Fatalf("error %v, want a FaultError of ErrUnmapped", err)
			}
			if fault.Addr != row.fault || fault.Len != row.n-len(row.want) {
				t.Errorf("fault of %d bytes at %#x, want %d at %#x", fault.Len, fault.Addr,
					row.n-len(row.want), row.fault)
			}
		})
	}
}

// silent breaks the contract: it reads nothing and gives no error.
type silent struct{}

func (silent) ReadMem([]byte, Addr) (int, error) { return 0, nil }

func TestOverlayOverReaderWithoutError(t *testing.T) {
	n, err := NewOverlay(silent{}).ReadMem(make([]byte, 4), 0x1000)
	if n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadMem = %d, %v, want an end", n, err)
	}
}

func TestOverlayOverOverlay(t *testing.T) {
	inner := NewOverlay(pattern{}, fill(0x1000, 4, 0xaa))
	outer := NewOverlay(inner, fill(0x1002, 4, 0xbb))
	b := make([]byte, 8)
	if _, err := outer.ReadMem(b, 0x1000); err != nil ||
		!bytes.Equal(b, []byte{0xaa, 0xaa, 0xbb, 0xbb, 0xbb, 0xbb, 6, 7}) {
		t.Errorf("ReadMem = %x, %v", b, err)
	}
}

func TestOverlayOverlap(t *testing.T) {
	a, b, c := fill(0x1004, 4, 'a'), fill(0x1002, 8, 'b'), fill(0x1000, 16, 'c')
	top := fill(1<<64-4, 4, 't')
	for _, row := range []struct {
		name   string
		ranges []Range
		at     Addr
		want   string // from there on, "." is unknown
	}{
		{"the first answers", []Range{a, b, c}, 0xfff, ".ccbbaaaabbcccccc."},
		{"the last is hidden", []Range{c, b, a}, 0xfff, ".cccccccccccccccc."},
		{"in two parts", []Range{a, c}, 0xfff, ".ccccaaaacccccccc."},
		{"around several", []Range{fill(0x1001, 1, 'x'), fill(0x1003, 1, 'y'), fill(0x1005, 1, 'z'), b, c}, 0xfff,
			".cxbybzbbbbcccccc."},
		{"the same twice", []Range{a, a}, 0x1003, ".aaaa."},
		{"at the top", []Range{top, fill(1<<64-6, 6, 'u')}, 1<<64 - 7, ".uutttt"},
		{"the whole of the top first", []Range{fill(1<<64-6, 6, 'u'), top}, 1<<64 - 7, ".uuuuuu"},
	} {
		o, got := NewOverlay(nil, row.ranges...), ""
		inner := strings.Trim(row.want, ".")
		at := row.at + Addr(strings.Index(row.want, inner))
		if !o.Holds(at, len(inner)) || o.Holds(at, len(inner)+1) || o.Holds(at-1, 1) {
			t.Errorf("%s: %d bytes at %#x are held: %v; want those and no more", row.name, len(inner), uint64(at),
				o.Holds(at, len(inner)))
		}
		for i := range row.want {
			if b, ok := o.Bytes(row.at+Addr(i), 1); ok {
				got += string(b)
			} else {
				got += "."
			}
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestOverlayReset(t *testing.T) {
	o := NewOverlay(pattern{}, fill(0x1000, 8, 0xaa), fill(0x2000, 8, 0xbb))
	for _, row := range []struct {
		name   string
		base   Reader
		ranges []Range
		want   []byte // at 0x1ffc
	}{
		{"one range in the place of two", pattern{}, []Range{fill(0x1ffe, 3, 0xcc)},
			[]byte{0xfc, 0xfd, 0xcc, 0xcc, 0xcc, 1, 2, 3}},
		{"two ranges, in any order", pattern{}, []Range{fill(0x2001, 2, 0xdd), fill(0x1ffc, 1, 0xee)},
			[]byte{0xee, 0xfd, 0xfe, 0xff, 0, 0xdd, 0xdd, 3}},
		{"no range", pattern{}, nil, []byte{0xfc, 0xfd, 0xfe, 0xff, 0, 1, 2, 3}},
		{"an empty range", pattern{}, []Range{{Start: 0x1ffc}}, []byte{0xfc, 0xfd, 0xfe, 0xff, 0, 1, 2, 3}},
		{"no base", nil, []Range{fill(0x1ffc, 8, 0x11)}, bytes.Repeat([]byte{0x11}, 8)},
	} {
		o.Reset(row.base, row.ranges...)
		b := make([]byte, 8)
		if _, err := o.ReadMem(b, 0x1ffc); err != nil || !bytes.Equal(b, row.want) {
			t.Errorf("%s: ReadMem = %x, %v; want %x", row.name, b, err, row.want)
		}
	}
	if _, err := o.ReadMem(make([]byte, 1), 0x1000); !errors.Is(err, ErrUnmapped) {
		t.Errorf("a range of before is there still: %v", err)
	}
	stack := fill(0x1000, 64, 0xaa)
	if n := testing.AllocsPerRun(100, func() { o.Reset(nil, stack) }); n != 0 {
		t.Errorf("Reset allocates %v times, want 0", n)
	}
}

func TestOverlayAround(t *testing.T) {
	low, high := fill(0x1000, 8, 0xaa), fill(1<<64-8, 8, 0xbb)
	for _, row := range []struct {
		name   string
		ranges []Range
		addr   Addr
		want   Addr // start of the range, 0: none
	}{
		{"first byte", []Range{low, high}, 0x1000, 0x1000},
		{"last byte", []Range{low, high}, 0x1007, 0x1000},
		{"behind it", []Range{low, high}, 0x1008, 0},
		{"before it", []Range{low, high}, 0xfff, 0},
		{"last byte of the address space", []Range{low, high}, 1<<64 - 1, 1<<64 - 8},
		{"one range, first byte", []Range{low}, 0x1000, 0x1000},
		{"one range, last byte", []Range{low}, 0x1007, 0x1000},
		{"one range, behind it", []Range{low}, 0x1008, 0},
		{"one range, before it", []Range{low}, 0xfff, 0},
		{"one range at the top", []Range{high}, 1<<64 - 1, 1<<64 - 8},
		{"one range at the top, before it", []Range{high}, 1<<64 - 9, 0},
		{"no range", nil, 0x1000, 0},
	} {
		if got, ok := NewOverlay(nil, row.ranges...).Around(row.addr); got.Start != row.want || ok != (row.want != 0) {
			t.Errorf("%s: Around(%#x) = %#x, %v; want %#x", row.name, uint64(row.addr), uint64(got.Start), ok,
				uint64(row.want))
		}
	}
}

func TestRangeBytes(t *testing.T) {
	r := fill(0x1000, 8, 0xaa)
	for _, row := range []struct {
		name string
		r    Range
		addr Addr
		n    int
		ok   bool
	}{
		{"all", r, 0x1000, 8, true},
		{"one too many", r, 0x1000, 9, false},
		{"last", r, 0x1007, 1, true},
		{"none at the end", r, 0x1008, 0, true},
		{"behind the end", r, 0x1009, 0, false},
		{"before the start", r, 0xfff, 1, false},
		{"negative length", r, 0x1000, -1, false},
		{"up to the last address", fill(1<<64-4, 4, 1), 1<<64 - 4, 4, true},
		{"around the last address", fill(1<<64-4, 4, 1), 1<<64 - 4, 5, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, ok := row.r.Bytes(row.addr, row.n)
			if ok != row.ok || ok && (len(b) != row.n || cap(b) != row.n) {
				t.Errorf("Bytes(%#x, %d) = %d bytes of %d, %v; want %v", row.addr, row.n, len(b), cap(b), ok, row.ok)
			}
		})
	}
}

func TestUint(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, r := range []struct {
		name string
		r    Reader
	}{
		{"from a range", NewOverlay(nil, Range{0x1000, data})},
		{"over two ranges", NewOverlay(nil, Range{0x1000, data[:1]}, Range{0x1001, data[1:]})},
		{"from the base", NewOverlay(NewOverlay(nil, Range{0x1000, data}))},
	} {
		t.Run(r.name, func(t *testing.T) {
			for _, row := range []struct {
				size    int
				le, big uint64
			}{{1, 1, 1}, {2, 0x0201, 0x0102}, {4, 0x04030201, 0x01020304},
				{8, 0x0807060504030201, 0x0102030405060708}} {
				if v, err := Uint(r.r, 0x1000, row.size, binary.LittleEndian); v != row.le || err != nil {
					t.Errorf("little-endian %d bytes = %#x, %v; want %#x", row.size, v, err, row.le)
				}
				if v, err := Uint(r.r, 0x1000, row.size, binary.BigEndian); v != row.big || err != nil {
					t.Errorf("big-endian %d bytes = %#x, %v; want %#x", row.size, v, err, row.big)
				}
			}
			if v, err := Uint(r.r, 0x1001, 8, binary.LittleEndian); err == nil || v != 0 {
				t.Errorf("8 bytes where 7 are = %#x without error", v)
			}
		})
	}
}

func TestUintOfAnotherSizePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Uint(NewOverlay(nil, fill(0x1000, 8, 0)), 0x1000, 3, binary.LittleEndian)
}

func TestFaultErrorText(t *testing.T) {
	err := &FaultError{Addr: 0x7ffe0000, Len: 8, Err: ErrUnmapped}
	if want := "read 8 bytes at 0x7ffe0000: not mapped"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
}

// FuzzOverlay compares with a memory of 64 bytes that is written out in full.
func FuzzOverlay(f *testing.F) {
	f.Add(uint8(3), uint8(5), uint8(20), uint8(8), uint8(1), uint8(40), uint8(48))
	f.Fuzz(func(t *testing.T, start1, len1, gap, len2, at, n, end uint8) {
		first := fill(Addr(start1), int(len1), 0xaa)
		second := fill(first.End()+Addr(gap), int(len2), 0xbb)
		o := NewOverlay(pattern{end: Addr(end)}, second, first)
		b := make([]byte, n)
		got, err := o.ReadMem(b, Addr(at))
		if (got < int(n)) != (err != nil) {
			t.Fatalf("%d of %d bytes with error %v", got, n, err)
		}
		for i := range b {
			addr := Addr(at) + Addr(i)
			want, known := byte(addr), addr < Addr(end) || end == 0
			for _, r := range []Range{first, second} {
				if c, ok := r.Bytes(addr, 1); ok {
					want, known = c[0], true
				}
			}
			if !known {
				if got != i {
					t.Fatalf("%d bytes from %#x, the byte at %#x is unknown", got, at, addr)
				}
				return
			}
			if b[i] != want {
				t.Fatalf("byte at %#x = %#x, want %#x", addr, b[i], want)
			}
		}
	})
}
