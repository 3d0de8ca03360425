package profile

import (
	"slices"
	"testing"
)

// TestTelling: the line of a thread that is idle is left out and counted, but not all lines that there are.
func TestTelling(t *testing.T) {
	odd := func(tid int) bool { return tid%2 == 1 }
	for _, x := range []struct {
		threads []int
		lines   []string
		want    []string
		left    int
	}{
		{[]int{1, 2, 3, 4}, []string{"a", "b", "c", "d"}, []string{"b", "d"}, 2},
		{[]int{1, 2, 3, 4}, []string{"a", "b"}, []string{"b"}, 1},
		{[]int{1, 3}, []string{"a", "b"}, []string{"a", "b"}, 0},
		{[]int{2}, []string{"a"}, []string{"a"}, 0},
		{nil, nil, nil, 0},
	} {
		c := WaitCycle{Threads: x.threads, Lines: x.lines}
		if lines, left := c.Telling(odd); !slices.Equal(lines, x.want) || left != x.left {
			t.Errorf("of %v %q: %q and %d, want %q and %d", x.threads, x.lines, lines, left, x.want, x.left)
		}
	}
}
