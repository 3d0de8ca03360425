package procfs

import (
	"testing"
	"time"
)

func TestParseMonotonicOffset(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       time.Duration
	}{
		{"none", "monotonic           0         0\nboottime            0         0\n", 0},
		{"forward", "monotonic  86400 500000000\nboottime 1 0\n", 24*time.Hour + time.Second/2},
		{"backward", "monotonic -3 750000000\n", -2250 * time.Millisecond},
		{"by number", "1 7 0\n7 9 0\n", 7 * time.Second},
		{"malformed", "monotonic x y\n", 0},
		{"beyond a Duration", "monotonic 99999999999999 0\n", 0},
		{"empty", "", 0},
	} {
		if got := ParseMonotonicOffset([]byte(tc.text)); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
