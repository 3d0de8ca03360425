//go:build linux && (amd64 || arm64)

package python

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/snapshot"
)

// TestTaskLocks: of tasks that wait for a Lock of asyncio it is known which one has it, where that one is inside of a
// block of it; nobody has one that was taken otherwise, nor a semaphore.
func TestTaskLocks(t *testing.T) {
	type lock struct {
		locked bool // it waits for a lock
		by     []string
		timed  bool
	}
	keeps := []string{"keeps"}
	want := map[string]lock{
		"keeps": {}, "keeps-above": {}, "calls": {}, "kept-before": {}, "wants-full": {},
		"wants-0": {true, keeps, false}, "acquires-0": {true, keeps, false},
		"wants-1":        {true, []string{"keeps-above"}, false},
		"wants-2":        {true, nil, false},
		"limited-inside": {true, keeps, true}, "unlimited": {true, keeps, false},
		"one": {true, []string{"other"}, false}, "other": {true, []string{"one"}, false},
		"again": {true, []string{"again"}, false},
	}
	each(t, 8, func(t *testing.T, in interpreter) {
		inOne := in.minor >= 12 // wait_for awaits it in the same task, before in one that it makes
		want["limited"] = lock{inOne, nil, true}
		if inOne {
			want["limited"] = lock{true, keeps, true}
		}
		x := start(t, in, "tasklocks.py", nil)
		_, fibers, _ := x.fibers(t)
		names := taskNames(fibers)
		met := 0
		for i := range fibers {
			f := &fibers[i]
			w, known := want[f.Name]
			if !known && f.HeldBy != nil && !inOne {
				w, known = lock{true, keeps, true}, true
			}
			if !known {
				continue
			}
			met++
			got := lock{locked: f.Wait == snapshot.FiberLock && f.Object != 0, timed: f.Timed}
			for _, id := range f.HeldBy {
				got.by = append(got.by, names[id])
			}
			if got.locked != w.locked || got.timed != w.timed || !slices.Equal(got.by, w.by) {
				t.Errorf("task %q [%s]: %+v, want %+v", f.Name, f.State, got, w)
			}
		}
		if inOne && met != len(want) || !inOne && met != len(want)+1 {
			t.Errorf("%d tasks were met of %d", met, len(want))
		}
	})
}
