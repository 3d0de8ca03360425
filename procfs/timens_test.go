package procfs

import (
	"testing"
	"time"
)

func TestParseTimeOffsets(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"monotonic           0         0\nboottime            0         0\n": 0,
		"monotonic      172800       500\nboottime       604800         0\n": 48*time.Hour + 500,
		"monotonic          -7         0\n":                                  -7 * time.Second,
		"monotonic x 0\n":                                                    0, "": 0,
	} {
		if got := ParseTimeOffsets([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
