package dump

import (
	"fmt"

	"github.com/fpstack/fpstack/unwind"
)

// maxFrames bounds the frames of one process, some hundred bytes each: 20,000 threads may have 100 each.
const maxFrames = 2 << 20

// frameBudget is how many frames the threads of one process may yet have together.
type frameBudget int

// limit is the limit of the next stack, given that of each, which is 0 for none.
func (b frameBudget) limit(each int) int {
	left := max(int(b), 1) // where a thread is now is always shown
	if each <= 0 {
		return left
	}
	return min(each, left)
}

// take takes the frames of s off, and says in s if it was cut because there were no more.
func (b *frameBudget) take(s *unwind.Stack) {
	*b -= frameBudget(len(s.Frames))
	if *b <= 0 && s.Stop == unwind.DepthLimit {
		s.Err = fmt.Errorf("limit of %d frames for all threads together", maxFrames)
	}
}
