//go:build linux

package dotnet

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/unwind"
)

// TestPlainWalk counts how the stacks of a busy server differ from those that a walk gives which knows nothing of .NET:
// by the tables of native code, and by frame pointers and instructions in managed code; and from the bare chain of
// frame pointers. With the runtime no fewer are complete.
func TestPlainWalk(t *testing.T) {
	if !*full {
		t.Skip("it measures: -full")
	}
	for _, version := range versions(t) {
		if slices.Contains(quick, version) {
			t.Run(version, func(t *testing.T) { plainWalk(t, version) })
		}
	}
}

func plainWalk(t *testing.T, version string) {
	s := start(t, version)
	go s.work()
	plain := unwind.NewWalker(s.Set, s.Names)
	var all, complete, plainComplete, bareComplete, same, bareSame int
	for i := 0; all < 3000; i++ {
		walked.Pause(i)
		shot := s.Stop(t)
		plain.Renew()
		for k := range shot.Threads {
			th := &shot.Threads[k]
			m := shot.Reader(th, s.Process)
			exact := s.Walker.Walk(th, m, unwind.Options{})
			if !slices.ContainsFunc(exact.Frames, func(f unwind.Frame) bool { return f.Site != 0 }) {
				continue
			}
			other := plain.Walk(th, m, unwind.Options{})
			bare := plain.Walk(th, m, unwind.Options{Mode: unwind.FramePointersOnly})
			all++
			complete += one(exact.Stop == unwind.Root)
			plainComplete += one(other.Stop == unwind.Root)
			bareComplete += one(bare.Stop == unwind.Root)
			same += one(slices.EqualFunc(exact.Frames, other.Frames, samePC))
			bareSame += one(slices.EqualFunc(exact.Frames, bare.Frames, samePC))
		}
	}
	t.Logf("%d stacks with managed code: %d complete; without the runtime %d complete, %d the same; "+
		"by frame pointers alone %d complete, %d the same", all, complete, plainComplete, same, bareComplete, bareSame)
	if complete < plainComplete || complete < all-max(1, all/1000) {
		t.Errorf("%d of %d stacks are complete, without the runtime %d", complete, all, plainComplete)
	}
}

func samePC(a, b unwind.Frame) bool { return a.PC == b.PC }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
