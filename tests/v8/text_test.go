//go:build linux && amd64

package v8

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm"
)

// TestTextInMemory: lines of text that a program has compiled in memory under the name of a file say that they are not
// of that, and with source maps are those of the map that the text has inside.
func TestTextInMemory(t *testing.T) {
	for _, version := range versions(t) {
		for _, translate := range []bool{false, true} {
			t.Run(fmt.Sprint(version, " ", translate), func(t *testing.T) {
				known := vm.NewTable(vm.Kinds, nil)
				if translate {
					known.Translate()
				}
				x := startWith(t, known, version, nil, "inmemory.js")
				var spin, hold *profile.Frame
				stacks := x.Stacks(x.Stop(t))
				for i := range stacks[0].Frames {
					switch f := &stacks[0].Frames[i]; f.Func {
					case "spin":
						spin = f
					case "hold":
						hold = f
					}
				}
				if spin == nil || hold == nil {
					t.Fatalf("no spin or no hold in %+v", stacks[0].Frames)
				}
				if path.Base(hold.File) != "inmemory.js" || hold.Note != "" {
					t.Errorf("hold is at %s:%d, %q; want the file, which has its text", hold.File, hold.Line, hold.Note)
				}
				want := "inmemory.txt:5" // beyond the end of that file
				if translate {
					want = "origin.ts:2"
				}
				if got := fmt.Sprintf("%s:%d", path.Base(spin.File), spin.Line); got != want ||
					!translate != strings.Contains(spin.Note, "another text") {
					t.Errorf("spin is at %s, %q; want %s", got, spin.Note, want)
				}
			})
		}
	}
}
