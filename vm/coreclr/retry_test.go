package coreclr

import "testing"

// TestRetry: what failed is tried again, at once after the first time, then more seldom, but never put off for more
// than a bound.
func TestRetry(t *testing.T) {
	var r retry
	last, longest := -1, 0
	for now := range 8 * maxWait {
		if !r.due(now) {
			continue
		}
		r.failed(now)
		if last >= 0 {
			longest = max(longest, now-last)
		}
		last = now
	}
	if longest != maxWait || last < 6*maxWait {
		t.Errorf("the longest wait was %d walks, want %d; the last try was in walk %d", longest, maxWait, last)
	}
	if r = (retry{}); !r.due(0) {
		t.Error("what did not fail is not due")
	}
}
