package tokio

import (
	"math/rand/v2"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestSteps: the set has what was added since it was cleared, and nothing else, however many they are.
func TestSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s steps
	for _, round := range []uint32{0, 7, 1<<32 - 2} {
		s.round = round
		for range 3 {
			s.clear()
			has := map[step]bool{}
			for range 5000 {
				x := step{r.IntN(40), mem.Addr(0x400000 + r.IntN(100))}
				if got := s.add(x); got == has[x] {
					t.Fatalf("%v is new: %t", x, got)
				}
				has[x] = true
			}
			if s.has != len(has) {
				t.Errorf("%d steps, want %d", s.has, len(has))
			}
		}
	}
}
