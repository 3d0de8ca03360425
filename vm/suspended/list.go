package suspended

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
)

// Frame is a function that waits.
type Frame struct {
	unwind.Frame
	Own bool // of the program rather than of the runtime
	// Test is the name of the test that it runs for a test runner, "" for none or if unknown.
	Test string
}

// Wait is what one waits for, in the words of its runtime.
type Wait struct {
	Text string
	Kind snapshot.FiberWait
}

// List is those that were listed last. It implements the part of vm.FiberLister and vm.FiberStacker that is alike in
// all runtimes.
type List struct {
	stacks map[uint64][]unwind.Frame
}

// FiberKind implements vm.FiberLister.
func (l *List) FiberKind() string { return profile.AsyncCall }

// FiberStack implements vm.FiberStacker.
func (l *List) FiberStack(id uint64, to *unwind.Stack) {
	to.Frames, to.Stop = append(to.Frames, l.stacks[id]...), unwind.Root
}

// Clear forgets them.
func (l *List) Clear() { l.stacks = nil }

// Make makes a fiber of each function with those that wait for it alone, those that show the same behind each other,
// those of which there are most first. awaiting says of each which others wait for it; wait what a chain waits for.
func (l *List) Make(frames []Frame, awaiting [][]int, wait func(*chains.Chain) Wait) []snapshot.Fiber {
	all := chains.Of(len(frames), awaiting)
	waits := make([]Wait, len(all))
	for i := range all {
		waits[i] = wait(&all[i])
	}
	groups := chains.Groups(all, func(i int) string {
		var b strings.Builder
		for _, k := range all[i].Nodes {
			fmt.Fprintf(&b, "%d ", frames[k].Site)
		}
		return b.String() + waits[i].Text
	})
	order, ids := chains.Order(groups), make([]uint64, len(all))
	for id, i := range order {
		ids[i] = uint64(id + 1)
	}
	l.stacks = make(map[uint64][]unwind.Frame, len(all))
	var out []snapshot.Fiber
	for _, i := range order {
		f := snapshot.Fiber{Kind: profile.AsyncCall, ID: ids[i], State: waits[i].Text, Wait: waits[i].Kind,
			System: true}
		for _, by := range all[i].AwaitedBy {
			f.AwaitedBy = append(f.AwaitedBy, ids[by])
		}
		var stack []unwind.Frame
		for _, k := range all[i].Nodes {
			stack = append(stack, frames[k].Frame)
			f.System = f.System && !frames[k].Own
			f.Test = cmp.Or(f.Test, frames[k].Test)
		}
		l.stacks[f.ID] = stack
		out = append(out, f)
	}
	return out
}
