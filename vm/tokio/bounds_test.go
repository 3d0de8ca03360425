package tokio

import (
	"errors"
	"hash/maphash"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

// TestWaysAreBounded: what a hostile program makes a run go through is neither compared nor kept without end, and what
// is left out says why.
func TestWaysAreBounded(t *testing.T) {
	steps := make([]step, 2000)
	b := &book{named: map[module.Vaddr][]profile.Frame{}}
	m := new(module.Module)
	b.named[m.Vaddr(0)] = []profile.Frame{{Func: "mine::poll", File: "src/main.rs", Line: 1}}
	for _, left := range []int64{placeCost, int64(len(steps)) * placeCost} {
		b.r, b.err = &Runtime{m: m, budget: work.New(left, 1<<20)}, nil
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
