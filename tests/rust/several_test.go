//go:build linux && (amd64 || arm64)

package rust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// several is what each scenario of testdata/rust/held/several.rs is to show of one task: what it waits for, each with
// the marks of its functions, innermost first; with how often it is there for one task.
var several = map[string]map[string]int{
	"direct": {"direct 1: awaits a timer": 1, "direct 1: awaits a sender of a channel (timed)": 1,
		"direct 1: awaits a Notify (timed)": 1},
	"mixed": {"answers 1, mixed 1: awaits a sender of a oneshot channel": 1, "mixed 1: awaits a Mutex": 1},
	"alike": {"alike 1: awaits a sender of a channel": 2},
	"tasks": {"tasks 1: awaits a task": 2, "first 1: what it awaits is not known": 2},
	"looped": {"answers 1, looped 1: awaits a sender of a oneshot channel": 1,
		"looped 1: awaits a sender of a channel": 1},
	"switched": {"switched 1: awaits a Notify": 1},
	"nested": {"naps 1, nested 1: awaits a timer": 1, "inner 1, nested 1: awaits a Notify": 1,
		"inner 1, nested 1: awaits a sender of a oneshot channel": 1},
	"limited": {"limited 1: awaits a sender of a channel (timed)": 1},
	"bounded": {"inner 1, bounded 1: awaits a Notify (timed)": 1,
		"inner 1, bounded 1: awaits a sender of a oneshot channel (timed)": 1},
	"set": {"naps 1, set 1: awaits a timer": 1, "note 1, set 1: awaits a Notify": 1,
		"answers 1, set 1: awaits a sender of a oneshot channel": 2},
	"large":  {"naps 1, large 1: awaits a timer": 1},
	"all_of": {"locks 1, all_of 1: awaits a Mutex, held by async task": 2},
	"either": {"answers 1, either 1: awaits a sender of a oneshot channel": 1,
		"drains 1, either 1: awaits a sender of a channel": 1},
	"stranger": {"stranger 1: awaits a Mutex": 1, "stranger 1: what it awaits is not known": 1},
	"hand": {"hand 1a, hand 2: awaits a timer": 1,
		"hand 1b, hand 2: awaits a sender of a oneshot channel": 1},
}

// ways are what all tasks of a dump wait for: each chain with the functions of the task behind, as it is written in
// several.
func ways(d *profile.Dump, lines map[string]int) map[string]int {
	marks := map[int]string{}
	for mark, line := range lines {
		marks[line] = mark
	}
	of := func(f *profile.Fiber) (all []string) {
		for _, x := range d.FiberStacks[f.Stack].Stack.Frames {
			if mark := marks[x.Line]; mark != "" {
				all = append(all, mark)
			}
		}
		return all
	}
	tasks, branches := map[uint64]*profile.Fiber{}, map[uint64]bool{}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.Kind == profile.AsyncTask {
			tasks[f.ID] = f
		} else {
			branches[f.AwaitedBy[0]] = true
		}
	}
	out := map[string]int{}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if branches[f.ID] {
			continue
		}
		functions := of(f)
		if f.Kind == profile.AsyncCall {
			functions = append(functions, of(tasks[f.AwaitedBy[0]])...)
		}
		state := strings.TrimRight(strings.ReplaceAll(f.State, "<u64>", ""), "0123456789 ")
		state, _, _ = strings.Cut(state, ", and perhaps others of a set")
		if f.Timed {
			state += " (timed)"
		}
		out[strings.Join(functions, ", ")+": "+state]++
	}
	return out
}

// TestSeveral: a task that waits for several things at once is shown with all of them, or says that one is not known.
func TestSeveral(t *testing.T) {
	eachScheduler(t, harness.With([]string{"several"}, "several-debug"), listsSeveral)
}

func listsSeveral(t *testing.T, program, scheduler string) {
	const n = 3
	lines := marksOf(t, "held/several.rs")
	scenarios := slices.Sorted(maps.Keys(several))
	d := dump(t, startHeld(t, program, scheduler, n, scenarios...))
	got := ways(d, lines)
	for _, scenario := range scenarios {
		for w, number := range several[scenario] {
			if got[w] != number*n {
				t.Errorf("%s: %d of %q, want %d", scenario, got[w], w, number*n)
			}
			delete(got, w)
		}
	}
	delete(got, "owner 1: awaits a Notify")
	if len(got) > 0 {
		t.Errorf("also %s", fmt.Sprint(got))
	}
	cut := 0
	for i := range d.Fibers {
		if strings.Contains(d.Fibers[i].State, "others of a set") {
			cut++
		}
	}
	if cut != n {
		t.Errorf("%d tasks say that not all of a set were looked at, want %d", cut, n)
	}
}

// TestSeveralIsNoDeadlock: tasks that wait for each other's locks are no deadlock where one may go on by another branch
// of its select!.
func TestSeveralIsNoDeadlock(t *testing.T) {
	pid := startHeld(t, "several", "multi", 1, "escape")
	got := ways(dump(t, pid), marksOf(t, "held/several.rs"))
	for _, w := range []string{"takes 1: awaits a Mutex, held by async task", "escapes 1: awaits a Notify",
		"escapes 1: awaits a Mutex, held by async task"} {
		if got[w] != 1 {
			t.Errorf("%d of %q in %v, want 1", got[w], w, got)
		}
	}
	if v := verdict(t, pid); v.Kind == "deadlock" || v.Kind == "" {
		t.Errorf("%s: %s", v.Kind, v.Sentence)
	}
}
