//go:build linux

package v8

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm"
)

// TestTextInMemory: lines of text that a program has compiled in memory under the name of a file are those of the map
// that the text has inside. Without one, or with one that is long, they say that they are not of that file.
func TestTextInMemory(t *testing.T) {
	for _, version := range versions(t) {
		for _, tt := range []struct {
			how   string
			all   bool // source maps are wanted
			place string
		}{
			{"none", true, "inmemory.txt:5"}, // beyond the end of that file
			{"short", false, "origin.ts:2"}, {"short", true, "origin.ts:2"},
			{"long", false, "inmemory.txt:5"}, {"long", true, "origin.ts:2"},
		} {
			t.Run(fmt.Sprint(version, " ", tt.how, " ", tt.all), func(t *testing.T) {
				known := vm.NewTable(vm.Kinds, nil)
				if tt.all {
					known.Translate()
				}
				x := startWith(t, known, version, nil, "inmemory.js", tt.how)
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
				if path.Base(hold.File) != "inmemory.js" || hold.Note != "" || hold.Generated {
					t.Errorf("hold is at %s:%d, %q; want the file, which has its text", hold.File, hold.Line, hold.Note)
				}
				generated := strings.HasPrefix(tt.place, "inmemory.txt")
				if got := fmt.Sprintf("%s:%d", path.Base(spin.File), spin.Line); got != tt.place ||
					generated != strings.Contains(spin.Note, "another text") || generated != spin.Generated {
					t.Errorf("spin is at %s, %q, generated %t; want %s", got, spin.Note, spin.Generated, tt.place)
				}
			})
		}
	}
}
