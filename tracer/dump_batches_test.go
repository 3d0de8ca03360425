//go:build linux

package tracer

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/fpstack/fpstack/snapshot"
)

// TestBatches inspects a process whose stacks are more than may be copied at once: each thread is inspected once, with
// its stack, and no snapshot holds more than the bound.
func TestBatches(t *testing.T) {
	const threads, bound = 61, 64 << 10
	c := start(t, "threads", threads-1, 30)
	for _, row := range []struct {
		name  string
		total int
		opt   StopOptions
		least int // batches
		most  int
	}{
		{"all at once", 0, StopOptions{}, 1, 1},
		{"a few at once", bound, StopOptions{}, 3, threads},
		{"rolling", bound, StopOptions{Rolling: true}, 3, threads},
		{"one at a time", 1, StopOptions{}, threads, threads},
	} {
		p, err := Open(c.pid(), Options{StackTotal: row.total})
		if err != nil {
			t.Fatal(err)
		}
		seen, batches := map[int]int{}, 0
		var copied weak.Pointer[byte]
		whole, err := p.Batches(context.Background(), row.opt, func(s *snapshot.Snapshot) {
			held := 0
			batches++
			for i := range s.Threads {
				th := &s.Threads[i]
				held += len(th.Stack.Data)
				if len(th.Stack.Data) > 0 {
					seen[th.TID]++
					copied = weak.Make(&th.Stack.Data[0])
				}
			}
			if row.total > 0 && held > row.total {
				t.Errorf("%s: a snapshot held %d bytes of %d", row.name, held, row.total)
			}
		})
		p.Close()
		if err != nil {
			t.Fatal(err)
		}
		checkFree(t, c.pid())
		if batches < row.least || batches > row.most || whole.Batches != batches || len(whole.Threads) != threads ||
			len(seen) != threads {
			t.Errorf("%s: %d batches, reported %d, %d threads, %d with stacks; %q", row.name, batches, whole.Batches,
				len(whole.Threads), len(seen), whole.Problems)
		}
		for tid, n := range seen {
			if n != 1 {
				t.Errorf("%s: thread %d was inspected %d times", row.name, tid, n)
			}
		}
		if want := row.least > 1 || row.opt.Rolling; whole.Rolling != want {
			t.Errorf("%s: rolling %v", row.name, whole.Rolling)
		}
		if runtime.GC(); copied.Value() != nil {
			t.Errorf("%s: what was copied is held still", row.name)
		}
		for i := range whole.Threads {
			if th := &whole.Threads[i]; len(th.Stack.Data) > 0 {
				t.Errorf("%s: thread %d has its stack still", row.name, th.TID)
			}
			if th := &whole.Threads[i]; th.NotStopped != "" || th.Registers == nil || i > 0 &&
				whole.Threads[i-1].TID >= th.TID {
				t.Errorf("%s: thread %d: %q, registers %v", row.name, th.TID, th.NotStopped, th.Registers != nil)
			}
		}
	}
}
