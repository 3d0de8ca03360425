//go:build linux && amd64

package v8

import (
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// TestSourceMaps: frames of TypeScript that tsc or esbuild has compiled have the lines of its sources, as
// node --enable-source-maps prints them: the map is beside the script or inside of it.
func TestSourceMaps(t *testing.T) {
	node := slices.MaxFunc(versions(t), func(a, b string) int { return majorOf(a) - majorOf(b) })
	for script, hold := range map[string]int{"tsc/main.js": 30, "bundle.js": 29, "inline.js": 30} {
		t.Run(script, func(t *testing.T) {
			known := vm.NewTable(vm.Kinds)
			known.Translate(work.New(work.Steps, work.Memory))
			x := startWith(t, known, node, nil, "../../../symbol/sourcemap/testdata/"+script)
			s := x.stop(t)
			var got []string
			stack := x.stacks(s)[0] // of the main thread
			for i := range stack.Frames {
				f := &stack.Frames[i]
				if f.Kind == profile.JavaScript && path.Ext(f.File) == ".ts" {
					got = append(got, fmt.Sprintf("%s:%d", path.Base(f.File), f.Line))
				}
			}
			want := []string{"main.ts:14", fmt.Sprintf("shapes.ts:%d", hold), "shapes.ts:21", "main.ts:6", "main.ts:10",
				"main.ts:10", "main.ts:16"}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if err := x.runtimes.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
