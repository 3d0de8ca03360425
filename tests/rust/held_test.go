//go:build linux && (amd64 || arm64)

package rust

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// startHeld starts a program of testdata/rust/held with those scenarios, n tasks in each.
func startHeld(t *testing.T, program, scheduler string, n int, scenarios ...string) int {
	t.Helper()
	argv := append([]string{binary(t, program), scheduler, strconv.Itoa(n)}, scenarios...)
	p := harness.Program{Argv: argv, Ready: "ready"}
	return p.Begin(t)
}

// told are the tasks of a dump, each as its marks, its state, whether a timer lets it go on, and the marks of those
// that have what it waits for and of those that wait for it. Numbers of tasks are those that the program has.
func told(d *profile.Dump, lines map[string]int) []string {
	marks := map[int]string{}
	for mark, line := range lines {
		marks[line] = mark
	}
	of := map[uint64]string{}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		var all []string
		for _, x := range d.FiberStacks[f.Stack].Stack.Frames {
			if mark := marks[x.Line]; mark != "" {
				all = append(all, mark)
			}
		}
		of[f.ID] = strings.Join(all, ", ")
	}
	names := func(ids []uint64) string {
		var all []string
		for _, id := range ids {
			all = append(all, of[id])
		}
		slices.Sort(all)
		return strings.Join(all, "+")
	}
	var out []string
	for i := range d.Fibers {
		f := &d.Fibers[i]
		// names that are not inlined have none
		state := strings.NewReplacer("<u64>", "", "<held::Pool>", "").Replace(f.State)
		if head, number, ok := strings.Cut(state, ", held by async task "); ok {
			id, _ := strconv.ParseUint(number, 10, 64)
			state = head + ", held by " + of[id]
		}
		s := of[f.ID] + ": " + state
		if f.Timed {
			s += " (timed)"
		}
		if len(f.HeldBy) > 0 {
			s += " <- " + names(f.HeldBy)
		}
		if len(f.AwaitedBy) > 0 {
			s += " for " + names(f.AwaitedBy)
		}
		out = append(out, s)
	}
	return out
}

// held is what each scenario is to show, with how many of n tasks show it: -1 for n.
var held = map[string]map[string]int{
	"pool": {
		"refill 1: awaits a sender of a channel, held by itself <- refill 1": 1,
		"pool 1: awaits a Mutex, held by refill 1 <- refill 1":               -1,
	},
	"pair": {
		"deposit 1: awaits a Mutex, held by withdraw 1, withdraw 2 <- withdraw 1, withdraw 2": 1,
		"withdraw 1, withdraw 2: awaits a Mutex, held by deposit 1 <- deposit 1":              1,
	},
	"asked": {"asked 1: awaits a sender of a oneshot channel, held by itself <- asked 1": -1},
	"twice": {"twice 1: awaits a Mutex, held by itself <- twice 1": -1},
	"timed": {
		"deposit 1: awaits a Mutex, held by timed 1 <- timed 1":           1,
		"timed 1: awaits a Mutex, held by deposit 1 (timed) <- deposit 1": 1,
	},
	"readers": {
		"reader 1: awaits a sender of a oneshot channel <- sender 1":            -1,
		"writer 1: awaits a RwLock, held by 2 async tasks <- reader 1+reader 1": 1,
		"sender 1: awaits a Notify":                                             1,
	},
	"permits": {
		"boxed 1: awaits a timer": 2,
		"permit 1: awaits a Semaphore, held by 2 async tasks <- boxed 1+boxed 1": -1,
	},
	"given": {
		"keeps 1: awaits a Notify":                            1,
		"knows 1: awaits a Notify":                            -1,
		"given 1: awaits a Mutex, held by keeps 1 <- keeps 1": 1,
	},
	"sets": {
		"item 1, unordered 1: awaits a timer":                                    -1,
		"item 1, ordered 1: awaits a timer":                                      -1,
		"item 1, buffered 1: awaits a timer":                                     -1,
		"item 1, few 1: awaits a timer":                                          -1,
		"item 1, many 1: awaits a timer, and perhaps others of a set of futures": -1,
		"spawned 1: awaits a task":                                               -1,
		"item 1: awaits a timer for spawned 1":                                   -3,
	},
}

// TestHeld: who has what a task waits for is told by what dropping its tasks would give back: a guard behind a
// reference, in a box, owned, given to another function; nobody who only knows of the lock. Futures in sets are shown
// though nothing has woken them. All scenarios are there at once: each is known by its own functions.
func TestHeld(t *testing.T) {
	t.Parallel()
	eachScheduler(t, harness.With([]string{"held"}, "held-debug"), listsHeld)
}

// eachScheduler runs a test of each program with both schedulers.
func eachScheduler(t *testing.T, programs []string, run func(t *testing.T, program, scheduler string)) {
	for _, program := range programs {
		for _, scheduler := range []string{"current", "multi"} {
			t.Run(program+" "+scheduler, func(t *testing.T) {
				t.Parallel()
				run(t, program, scheduler)
			})
		}
	}
}

func listsHeld(t *testing.T, program, scheduler string) {
	const n = 2
	lines := marksOf(t, "held/main.rs")
	scenarios := slices.Sorted(maps.Keys(held))
	got := map[string]int{}
	for _, s := range told(dump(t, startHeld(t, program, scheduler, n, scenarios...)), lines) {
		got[s]++
	}
	for _, scenario := range scenarios {
		for s, number := range held[scenario] {
			if number < 0 {
				number *= -n
			}
			if got[s] != number {
				t.Errorf("%s: %d of %q, want %d", scenario, got[s], s, number)
			}
			delete(got, s)
		}
	}
	if len(got) > 0 {
		t.Errorf("also %s", fmt.Sprint(got))
	}
}

// TestObjects: tasks that wait for the same thing have the same address, and others have not.
func TestObjects(t *testing.T) {
	t.Parallel()
	const n = 3
	d := dump(t, start(t, "tasks", "current", n))
	shared := []string{"awaits a Mutex<u64>", "awaits a Semaphore", "awaits a RwLock<u64>", "awaits room in a channel",
		"awaits a Notify"}
	alone := []string{"awaits a sender of a oneshot channel", "awaits a sender of a channel", "awaits a socket",
		"awaits a connection"}
	objects := map[string]map[uint64]int{}
	all := map[uint64]string{}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if objects[f.State] == nil {
			objects[f.State] = map[uint64]int{}
		}
		objects[f.State][f.Object]++
		if was, ok := all[f.Object]; f.Object != 0 && ok && was != f.State {
			t.Errorf("%#x is what %q and %q are about", f.Object, was, f.State)
		}
		all[f.Object] = f.State
	}
	for _, state := range shared {
		if got := objects[state]; len(got) != 1 || got[0] != 0 {
			t.Errorf("%s: objects %v, want one", state, got)
		}
	}
	for _, state := range alone {
		for object, number := range objects[state] {
			if number != 1 || object == 0 {
				t.Errorf("%s: %d at %#x, want one each", state, number, object)
			}
		}
	}
}

// TestDebugFile: of a stripped program the debug file beside it says where its tasks wait, and who has what.
func TestDebugFile(t *testing.T) {
	t.Parallel()
	harness.Need(t, "objcopy", "strip")
	const n = 2
	dir := t.TempDir()
	program, debug := filepath.Join(dir, "held"), filepath.Join(dir, "held.debug")
	source := binary(t, "held")
	harness.Output(t, "objcopy", "--only-keep-debug", source, debug)
	harness.Output(t, "strip", "-o", program+".stripped", source)
	harness.Output(t, "objcopy", "--add-gnu-debuglink="+debug, program+".stripped", program)
	p := harness.Program{Argv: []string{program, "multi", strconv.Itoa(n), "pool"}, Ready: "ready"}
	got := told(dump(t, p.Begin(t)), marksOf(t, "held/main.rs"))
	for s, number := range held["pool"] {
		if number < 0 {
			number *= -n
		}
		if have := count(got, s); have != number {
			t.Errorf("%d of %q in %q, want %d", have, s, got, number)
		}
	}
}

func count(all []string, s string) (n int) {
	for _, x := range all {
		if x == s {
			n++
		}
	}
	return n
}

// TestVerdict: the sentence has who waits for what, and who has that; tasks that wait for each other are a deadlock,
// and none where one gives up after a time.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		scenario string
		kind     string
		want     []string
	}{
		{"pool", "waiting", []string{"12 async tasks in held::checkout [awaits a Mutex<held::Pool>, ",
			"held by async task ", ", which is in held::refill (main.rs:", ", held by itself]"}},
		{"pair", "deadlock", []string{"deadlock: 2 async tasks wait for each other, in held::deposit (main.rs:"}},
		{"asked", "deadlock", []string{"waits for itself, in held::asks (main.rs:"}},
		{"twice", "deadlock", []string{"waits for itself, in held::twice (main.rs:"}},
		{"timed", "unknown", []string{"waits for async functions, and these for a time"}},
	} {
		t.Run(row.scenario, func(t *testing.T) {
			t.Parallel()
			pid := startHeld(t, "held", "multi", 12, row.scenario)
			settled(t, pid)
			v := verdict(t, pid)
			if v.Kind != row.kind {
				t.Errorf("%s: %s", v.Kind, v.Sentence)
			}
			for _, want := range row.want {
				if !strings.Contains(v.Sentence, want) {
					t.Errorf("%q, want %q in it", v.Sentence, want)
				}
			}
		})
	}
}

// judged is a verdict.
type judged struct{ Kind, Sentence string }

// verdict is that of hang on a process.
func verdict(t *testing.T, pid int) judged {
	t.Helper()
	out, _ := exec.Command(fpstack, "hang", "-f", "json", strconv.Itoa(pid)).Output()
	var doc struct{ Verdict judged }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return doc.Verdict
}
