//go:build linux && (amd64 || arm64)

package java

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/vm"
)

// TestList: compiled methods of a program that is hot are listed, with code that is theirs.
func TestList(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "Ring")
			p.threadIn(t, "Ring.round")
			var all []vm.Function
			for range 50 {
				var err error
				if all, _, err = p.Runtimes.Functions(); err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(all, func(f vm.Function) bool { return f.Name == "Ring.round" }) {
					break
				}
				p.Stop(t)
			}
			for _, want := range []string{"Ring.a", "Ring.round", "java.lang.Object.<init>"} {
				if !slices.ContainsFunc(all, func(f vm.Function) bool { return f.Name == want }) {
					t.Errorf("%s is not among %d functions", want, len(all))
				}
			}
			interpreter := 0
			for _, f := range all {
				if strings.HasPrefix(f.Name, "Interpreter ") {
					interpreter++
				}
			}
			if interpreter < 200 {
				t.Errorf("%d pieces of the interpreter", interpreter)
			}
		})
	}
}
