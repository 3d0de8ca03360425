package unsigned5

import "testing"

// encode is the coding as HotSpot writes it. Source: UNSIGNED5::write_uint_impl in unsigned5.hpp.
func encode(n uint32, x Coding) []byte {
	var out []byte
	for i := range MaxLen {
		if n < low-uint32(x) || i == MaxLen-1 {
			return append(out, byte(n+uint32(x)))
		}
		n -= low - uint32(x)
		out = append(out, byte(low+n%64))
		n >>= perDigit
	}
	return out
}

func TestNext(t *testing.T) {
	for _, x := range []Coding{0, 1} {
		var data []byte
		want := []uint32{0, 1, 190, 191, 192, 193, 255, 256, 12479, 12480, 1 << 20, 1<<31 - 1, 1<<32 - 1}
		for _, n := range want {
			data = append(data, encode(n, x)...)
		}
		r := Reader{Data: data, Coding: x}
		for _, n := range want {
			if got := r.Next(); got != n || r.Err != nil {
				t.Errorf("coding %d: got %d, %v, want %d", x, got, r.Err, n)
			}
		}
		if r.Next(); r.Err == nil {
			t.Errorf("coding %d: a number behind the end", x)
		}
	}
}

func TestSigned(t *testing.T) {
	for n, want := range []int32{0, -1, 1, -2, 2} {
		r := Reader{Data: encode(uint32(n), 0)}
		if got := r.Signed(); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
}

// A 0 is no number where no byte is 0.
func TestExcess(t *testing.T) {
	r := Reader{Data: []byte{0, 5}, Coding: 1}
	if r.Next(); r.Err == nil {
		t.Error("a byte of 0 is a number")
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte{1, 200, 3, 255, 255, 255, 255, 255, 0}, true)
	f.Fuzz(func(t *testing.T, data []byte, excess bool) {
		r := Reader{Data: data}
		if excess {
			r.Coding = 1
		}
		for n := len(data); r.Err == nil; n-- {
			if n < 0 {
				t.Fatal("more numbers than bytes")
			}
			r.Next()
		}
	})
}
