package codelog

import (
	"math/rand/v2"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestIndex compares the index with an array that has one cell for each address.
func TestIndex(t *testing.T) {
	const size = 4000
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		x, cells := index{under: map[int32][]span{}}, make([]int32, size)
		past := [][]int32{} // cells before each record
		for i := range cells {
			cells[i] = -2
		}
		for n := range int32(1500) {
			start := r.IntN(size - 1)
			end := start + 1 + r.IntN(min(size-start, 1<<r.IntN(10)))
			past = append(past, append([]int32(nil), cells[start:end]...))
			if n%5 == 4 { // nobody has them any more
				x.clear(mem.Addr(start), mem.Addr(end))
				for i := start; i < end; i++ {
					cells[i] = -2
				}
				continue
			}
			x.put(span{mem.Addr(start), mem.Addr(end), n})
			for i := start; i < end; i++ {
				cells[i] = n
			}
			for i, was := range past[n] { // what it covered is kept
				u := -2
				for _, s := range x.under[n] {
					if s.start <= mem.Addr(start+i) && mem.Addr(start+i) < s.end {
						u = int(s.record)
					}
				}
				if u != int(was) {
					t.Fatalf("seed %d: record %d covered %d at %d, want %d", seed, n, u, start+i, was)
				}
			}
		}
		for a, want := range cells {
			s, ok := x.find(mem.Addr(a))
			if got := s.record; ok != (want != -2) || ok && got != want {
				t.Fatalf("seed %d: at %d got %d, %v, want %d", seed, a, got, ok, want)
			}
		}
		count, last := 0, mem.Addr(0)
		for s := range x.all {
			if s.start < last || s.end <= s.start {
				t.Fatalf("seed %d: span %+v behind %d", seed, s, last)
			}
			count, last = count+1, s.end
		}
		if count != x.count {
			t.Errorf("seed %d: %d spans, counted %d", seed, count, x.count)
		}
		for _, c := range x.chunks {
			if len(c) == 0 || len(c) > maxChunk+2 {
				t.Errorf("seed %d: a chunk of %d", seed, len(c))
			}
		}
	}
}
