//go:build linux

package tracer

import "testing"

func TestShare(t *testing.T) {
	batch := func() []piece {
		return []piece{{data: make([]byte, 8)}, {data: make([]byte, 8)}, {data: make([]byte, 8)}}
	}
	for _, row := range []struct {
		name    string
		n, done int
		got     [3]int
	}{
		{"all", 24, 3, [3]int{8, 8, 8}},
		{"hole at the first", 0, 1, [3]int{0, 0, 0}},
		{"hole in the second", 11, 2, [3]int{8, 3, 0}},
		{"hole at the third", 16, 3, [3]int{8, 8, 0}},
	} {
		b := batch()
		done := share(b, row.n)
		if got := [3]int{b[0].got, b[1].got, b[2].got}; got != row.got || done != row.done {
			t.Errorf("%s: got %v done %d, want %v %d", row.name, got, done, row.got, row.done)
		}
	}
}
