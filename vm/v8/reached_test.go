package v8

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestAgreed: that nobody settles a promise takes two searches, and up to four where the heap moves; one of them that
// finds somebody is enough to say that there is somebody.
func TestAgreed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		moved  []bool // after each search
		found  int    // the search that finds somebody for the second promise; 0 for none
		left   []mem.Addr
		passes int
	}{
		{"nothing moves", []bool{false, false}, 0, []mem.Addr{1, 2}, 2},
		{"the second search finds somebody", []bool{false, false}, 2, []mem.Addr{1}, 2},
		{"the heap moves once", []bool{true, false}, 0, []mem.Addr{1, 2}, 2},
		{"it moves in the second", []bool{false, true, false}, 3, []mem.Addr{1}, 3},
		{"it moves always", []bool{true, true, true, true}, 4, []mem.Addr{1}, 4},
	} {
		passes := 1 // the first was before
		again := func() bool { return tt.moved[passes-1] }
		left := agreed([]mem.Addr{1, 2}, again, func(of []mem.Addr) []mem.Addr {
			if passes++; passes == tt.found {
				return slices.DeleteFunc(of, func(p mem.Addr) bool { return p == 2 })
			}
			return of
		})
		if passes != tt.passes || !slices.Equal(left, tt.left) {
			t.Errorf("%s: %d searches, %v left, want %d, %v", tt.name, passes, left, tt.passes, tt.left)
		}
	}
	if agreed(nil, func() bool { t.Error("it is looked again for nothing"); return false }, nil) != nil {
		t.Error("of no promise something is left")
	}
}
