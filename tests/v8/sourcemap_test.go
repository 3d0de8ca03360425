//go:build linux

package v8

import (
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm"
)

// TestSourceMaps: frames of TypeScript that tsc or esbuild has compiled have the lines of its sources, as
// node --enable-source-maps prints them: the map is beside the script or inside of it.
func TestSourceMaps(t *testing.T) {
	node := slices.MaxFunc(versions(t), func(a, b string) int { return majorOf(a) - majorOf(b) })
	for script, hold := range map[string]int{"tsc/main.js": 30, "bundle.js": 29, "inline.js": 30} {
		t.Run(script, func(t *testing.T) {
			known := vm.NewTable(vm.Kinds, nil)
			known.Translate()
			x := startWith(t, known, node, nil, "../../../symbol/sourcemap/testdata/"+script)
			got := typeScript(x.Stacks(x.Stop(t))[0]) // of the main thread
			// It has written, and will wait.
			for try := 0; try < 100 && len(got) > 0 && got[0] == "main.ts:13"; try++ {
				time.Sleep(20 * time.Millisecond)
				got = typeScript(x.Stacks(x.Stop(t))[0])
			}
			want := []string{"main.ts:14", fmt.Sprintf("shapes.ts:%d", hold), "shapes.ts:21", "main.ts:6", "main.ts:10",
				"main.ts:10", "main.ts:16"}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if err := x.Runtimes.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// typeScript lists the places of a stack's frames that are in TypeScript.
func typeScript(stack profile.Stack) []string {
	var out []string
	for i := range stack.Frames {
		f := &stack.Frames[i]
		if f.Kind == profile.JavaScript && path.Ext(f.File) == ".ts" {
			out = append(out, fmt.Sprintf("%s:%d", path.Base(f.File), f.Line))
		}
	}
	return out
}
