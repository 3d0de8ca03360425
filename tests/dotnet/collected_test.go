//go:build linux

package dotnet

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

// TestCollected: threads that the garbage collector stops all the time, by putting an address of its own in the place
// of a return address, have whole stacks of the methods that they run.
func TestCollected(t *testing.T) {
	stops := 60
	if *full {
		stops = 5000
	}
	for _, version := range folders() {
		if !*full && version != library {
			continue
		}
		t.Run(version, func(t *testing.T) {
			s := startShapes(t, version, "collected")
			whole, replaced := 0, 0
			for i := range stops {
				walked.Pause(i)
				shot := s.Stop(t)
				for k, stack := range s.Stacks(shot) {
					if shot.Threads[k].Comm != "collected" {
						continue
					}
					got := methodsOf(&stack)
					if !stack.Complete {
						t.Logf("stop %d: %s %s%s", i, stack.Stop, stack.Detail, tail(&stack))
						continue
					}
					whole++
					if !isBranches(got) {
						t.Errorf("stop %d: %q", i, got)
					}
					if stack.Frames[0].Kind != profile.DotNet && len(got) > 0 {
						replaced++
					}
				}
			}
			t.Logf("%d of %d stacks are whole, %d of them were stopped by the collector", whole, 2*stops, replaced)
			if whole < 2*stops-max(1, 2*stops/1000) || replaced == 0 {
				t.Errorf("%d of %d stacks are whole, %d stopped by the collector", whole, 2*stops, replaced)
			}
		})
	}
}

// isBranches reports whether methods are those of Collected.Run: it calls Branch, to a depth of 13, and that Leaf.
func isBranches(methods []string) bool {
	const deepest = 13
	n := len(methods)
	if n == 0 || methods[n-1] != "Shapes.Collected.Run" {
		return false
	}
	methods = methods[:n-1]
	if len(methods) == deepest+1 && methods[0] == "Shapes.Collected.Leaf" {
		methods = methods[1:]
	}
	return len(methods) <= deepest && !slices.ContainsFunc(methods, func(m string) bool {
		return m != "Shapes.Collected.Branch"
	})
}
