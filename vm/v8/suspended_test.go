package v8

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/vm/v8/heap"
)

// TestMayBeMaps: of any words those are told that each pair by itself would be, also at the end.
func TestMayBeMaps(t *testing.T) {
	l := &heap.Layout{}
	l.Map.InstanceSize, l.Map.InstanceType = 8, 12
	l.Types.Promise = 77
	rnd := rand.New(rand.NewPCG(1, 2))
	met := 0
	for n := range 200 {
		b := make([]byte, n*wordSize)
		for i := 0; i < len(b); i += wordSize {
			w := []uint64{7, 0x1001, 0x1002, 1<<56 | 77<<32 | 6, 1<<56 | 77<<32 | 4, 77<<32 | 6, 1 << 48}[rnd.IntN(7)]
			order.PutUint64(b[i:], w)
		}
		var want []int
		for i := 0; i+2*wordSize <= len(b); i += wordSize {
			if w := order.Uint64(b[i:]); w&3 == 1 && l.MayBeMap(w, order.Uint64(b[i+wordSize:])) {
				want = append(want, i)
			}
		}
		met += len(want)
		if got := slices.Collect(mayBeMaps(l, b)); !slices.Equal(got, want) {
			t.Errorf("of %d words at %v, want %v", n, got, want)
		}
	}
	if met < 50 {
		t.Errorf("%d in all", met)
	}
}
