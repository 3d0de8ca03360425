package top

import (
	"strings"
	"testing"
)

// TestHelpIsReached: every line of the help can be seen, however low the terminal is.
func TestHelpIsReached(t *testing.T) {
	for _, height := range []int{8, 12, 24} {
		m := modelOf(t, Options{}, program())
		m.width, m.height = 80, height
		shown := map[string]bool{}
		keys := "?"
		for range helpText {
			typed(t, m, keys)
			keys = "<down>"
			for _, l := range m.lines() {
				for _, s := range l {
					shown[s.text] = true
				}
			}
		}
		for _, want := range helpText {
			if !shown[want] {
				t.Errorf("%d lines: never shown: %q", height, strings.TrimSpace(want))
			}
		}
	}
}
