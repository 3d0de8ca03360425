package dump

import (
	"testing"

	"github.com/fpstack/fpstack/unwind"
)

func TestFrameBudget(t *testing.T) {
	stack := func(n int, stop unwind.Stop) *unwind.Stack {
		return &unwind.Stack{Frames: make([]unwind.Frame, n), Stop: stop}
	}
	b := frameBudget(10)
	for i, row := range []struct {
		each  int
		limit int
		stack *unwind.Stack
		cut   bool // because all threads together have too many
	}{
		{4, 4, stack(4, unwind.DepthLimit), false},
		{0, 6, stack(5, unwind.Root), false},
		{4, 1, stack(1, unwind.DepthLimit), true},
		{0, 1, stack(1, unwind.DepthLimit), true},
		{4, 1, stack(1, unwind.Root), false},
	} {
		if got := b.limit(row.each); got != row.limit {
			t.Errorf("stack %d: got limit %d, want %d", i, got, row.limit)
		}
		b.take(row.stack)
		if got := row.stack.Err != nil; got != row.cut {
			t.Errorf("stack %d: got reason %v, want one %v", i, row.stack.Err, row.cut)
		}
	}
}
