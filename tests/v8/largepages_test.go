//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/profile"
)

// TestLargePages: where Node.js has copied its text to memory without a file, the functions of C++ and the builtins
// there have their names, and those of the script their lines.
func TestLargePages(t *testing.T) {
	for _, version := range versions(t) {
		if major := majorOf(version); major > 22 { // those have the option no more
			continue
		}
		t.Run(version, func(t *testing.T) {
			x := start(t, version, []string{"--use-largepages=on", "--no-opt"}, "natives.js")
			s := x.Stop(t)
			if !slices.ContainsFunc(s.Maps.All(), func(m maps.Mapping) bool {
				return m.Perm&maps.Exec != 0 && m.Path == "" && m.End-m.Start > 16<<20
			}) {
				t.Skip("the kernel gives no large pages")
			}
			native := 0
			for range *samples {
				s := x.Stop(t)
				stacks := x.Stacks(s)
				v, why := x.best(t, s.Process.PID, stacks, threadIDs(s))
				if v == wrong || v == cut || v == unnamed {
					t.Errorf("%s: %s", v, why)
				}
				if slices.ContainsFunc(stacks[0].Frames, func(f profile.Frame) bool {
					return f.Kind == profile.Native && strings.HasPrefix(f.Func, "node::") && f.Module >= 0
				}) {
					native++
				}
			}
			if native < *samples*9/10 {
				t.Errorf("%d of %d stacks have functions of C++", native, *samples)
			}
		})
	}
}
