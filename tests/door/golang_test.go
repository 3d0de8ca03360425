//go:build linux && amd64

package door

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestGoroutineBelowSystemStack stops a program whose goroutine needs a larger stack nearly all the time: then the
// thread is on its system stack, and the goroutine is found by its g and m. They and its stack are copied in the
// stop.
func TestGoroutineBelowSystemStack(t *testing.T) {
	pid, _ := start(t, "grow-go")
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the program cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := p.Image()
	set, runtimes := module.NewSet(table, image), vm.NewTable(vm.Kinds, nil).Process(image)
	defer set.Close()
	runtimes.Scan(set)
	names := resolve.New(set, resolve.Options{NoLines: true})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	grown, late := 0, 0
	for end := time.Now().Add(time.Minute); grown < 30 && time.Now().Before(end); {
		s, err := p.Snapshot(context.Background(), tracer.StopOptions{Copiers: runtimes.Copiers()})
		if err != nil {
			t.Fatal(err)
		}
		if s.Late > 0 || len(s.Problems) > 0 { // others have the CPUs: it is reported that not all was copied in time
			continue
		}
		set.Update(s.Maps)
		for i := range s.Threads {
			th := &s.Threads[i]
			stack := w.Walk(th, s.Reader(th, p), unwind.Options{})
			var got []string
			for _, f := range names.Stack(&stack).Frames {
				got = append(got, f.Func)
			}
			below := slices.Index(got, "runtime.morestack")
			if below < 0 || !slices.Contains(got[:below], "runtime.newstack") ||
				slices.Contains(got[:below], "runtime.gopreempt_m") {
				continue
			}
			grown++
			if stack.Late {
				late++
				t.Logf("%d bytes of stack, %d ranges, %v", len(th.Stack.Data), len(th.Copied), th.Shortfalls)
			}
			if stack.Stop != unwind.Root || !slices.Contains(got[below:], "main.grow") {
				t.Errorf("%d frames end with %v (%v): %q", len(got), stack.Stop, stack.Err, got[:min(len(got), 12)])
			}
		}
	}
	t.Logf("%d stacks that grow, %d of them read in part when the thread ran again", grown, late)
	if grown < 30 || late > 0 {
		t.Errorf("%d stacks that grow, %d read late; want 30, none late", grown, late)
	}
}
