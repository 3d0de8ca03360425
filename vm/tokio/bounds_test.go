package tokio

import (
	"errors"
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// TestWaysAreBounded: what a hostile program makes a run go through is neither compared nor kept without end, and what
// is left out says why.
func TestWaysAreBounded(t *testing.T) {
	steps := make([]step, 2000)
	for _, left := range []int64{placeCost, int64(len(steps)-1) * placeCost} {
		b := (&Runtime{budget: work.New(left, 1<<20)}).newBook()
		b.at[0] = []*function{b.function(profile.Frame{Func: "mine::poll", File: "src/main.rs", Line: 1})}
		if got := b.waits(&trace{steps: steps}, false); got != nil || b.err == nil {
			t.Errorf("of %d steps of work: %v, %v, want nothing and a reason", left, got, b.err)
		}
	}

	d := &dry{r: &Runtime{budget: work.New(1<<20, stepBytes)}, seed: maphash.MakeSeed(), known: map[uint64]int{}}
	d.at = trace{steps: []step{{pc: 1}}}
	if n, err := d.number(); n != 0 || err != nil {
		t.Fatalf("the first way is %d, %v", n, err)
	}
	d.at = trace{steps: []step{{pc: 2}}}
	if n, err := d.number(); n != -1 || !errors.Is(err, work.ErrMemory) {
		t.Errorf("without memory: %d, %v", n, err)
	}
	d.release()
	if _, left := d.r.budget.Left(); left != stepBytes {
		t.Errorf("%d bytes are left after release, want %d", left, stepBytes)
	}
	d.traces = make([]trace, maxTraces)
	if n, err := d.number(); n != -1 || !errors.Is(err, errWays) {
		t.Errorf("with %d ways: %d, %v", maxTraces, n, err)
	}
}

// TestDeepChain: of a chain that is deeper than is shown the innermost functions are shown, and it says so.
func TestDeepChain(t *testing.T) {
	for _, depth := range []int{maxFrames, maxFrames + 50} {
		r := &Runtime{sites: newSites(nil)}
		b := r.newBook()
		tr := trace{steps: []step{{depth - 1, mem.Addr(depth - 1)}}}
		for i := range depth {
			b.at[mem.Addr(i)] = []*function{b.function(profile.Frame{Func: fmt.Sprint("mine::f", i), File: "main.rs"}),
				b.function(profile.Frame{Func: "tokio::poll", File: "/registry/src/tokio-1/src/a.rs"})}
			if i < depth-1 {
				tr.calls = append(tr.calls, call{from: i, ret: mem.Addr(i + 1)})
			}
		}
		found := b.waits(&tr, false)
		if len(found) != 1 || found[0].frames[0].Func != fmt.Sprint("mine::f", depth-1) {
			t.Fatalf("%+v", found)
		}
		s := (&listing{r: r}).stack(found[0].frames, found[0].cut)
		if want := depth > maxFrames; len(s.Frames) != maxFrames || (s.Stop == unwind.DepthLimit) != want {
			t.Errorf("depth %d: %d frames, %v", depth, len(s.Frames), s.Stop)
		}
	}
}

// TestStacksAreHeld: what the stacks of tasks take is taken from the budget; without room a task has none, and says so.
func TestStacksAreHeld(t *testing.T) {
	r := &Runtime{sites: newSites(nil), budget: work.New(1<<20, 3*frameSize)}
	w := listing{r: r}
	two := []profile.Frame{{Func: "a"}, {Func: "b"}}
	if s := w.stack(two, false); len(s.Frames) != 2 || s.Err != nil {
		t.Errorf("got %+v", s)
	}
	s := w.stack(two, false)
	if len(s.Frames) != 0 || s.Stop != unwind.DepthLimit || !errors.Is(s.Err, work.ErrMemory) {
		t.Errorf("without room: %+v", s)
	}
	if r.held != 2*frameSize {
		t.Errorf("%d bytes are held, want %d", r.held, 2*frameSize)
	}
}
