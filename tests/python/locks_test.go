//go:build linux && (amd64 || arm64)

package python

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// locks are those that the threads of the target wait for, and their names by id.
func (x *target) locks(t *testing.T, noStop bool) ([]waits.Lock, map[int]string) {
	t.Helper()
	const tries = 5 // on a busy machine a thread may stop later than the others
	for range tries {
		all, names := x.locksOnce(t, noStop)
		if noStop || !slices.ContainsFunc(all, func(l waits.Lock) bool { return l.Owner != 0 && !l.Instant }) {
			return all, names
		}
	}
	return x.locksOnce(t, noStop)
}

func (x *target) locksOnce(t *testing.T, noStop bool) ([]waits.Lock, map[int]string) {
	t.Helper()
	var s *snapshot.Snapshot
	if noStop {
		asleep, err := tracer.Open(x.PID(), tracer.Options{NoStop: true})
		if err != nil {
			t.Fatal(err)
		}
		defer asleep.Close()
		if s, err = asleep.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers()}); err != nil {
			t.Fatal(err)
		}
	} else {
		s = x.stop(t)
	}
	names := map[int]string{}
	for tid, f := range x.Runtimes.ThreadFacts(s) {
		names[tid] = f.Name
	}
	var all []waits.Lock
	for _, l := range x.Runtimes.Locks(s, func(int) *unwind.Stack { return nil }) {
		if !strings.Contains(l.Name, "GIL") {
			all = append(all, l)
		}
	}
	return all, names
}

// TestLocks: an RLock knows who has it, written in C and in Python; of a Lock it is who is inside of its block, but for
// interpreters without a GIL, and nobody whose block has ended; who joins a thread waits for its end; a fork's child
// waits for a thread that it has not.
func TestLocks(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains([]int{9, 12, 13, 14}, in.minor) {
			return // of each way to find a lock one
		}
		for _, what := range []string{"rlock", "python", "lock", "ended", "itself", "joins"} {
			for _, noStop := range []bool{false, true} {
				x := start(t, in, "locks.py", []string{"WHAT=" + what})
				all, names := x.locks(t, noStop)
				got := map[string]string{} // who waits for what whom has
				for _, l := range all {
					for _, tid := range l.Waiters {
						kind, _, _ := strings.Cut(l.Name, " 0x")
						got[names[tid]] = kind + " " + names[l.Owner]
					}
					if l.Owner != 0 && l.Instant == noStop {
						t.Errorf("%s: %+v", what, l)
					}
				}
				kind := map[string]string{"rlock": "threading.RLock ", "python": "threading.RLock in Python "}[what]
				want := map[string]string{"one": kind + "other", "other": kind + "one"}
				switch what {
				case "lock":
					want = map[string]string{"one": "threading.Lock ", "other": "threading.Lock "}
					if !in.free { // inside of whose block a frame is can be seen
						want = map[string]string{"one": "threading.Lock other", "other": "threading.Lock one"}
					}
				case "ended":
					want = map[string]string{"waits": "threading.Lock "}
				case "itself":
					want = map[string]string{"again": "threading.Lock again"}
					if in.free {
						want["again"] = "threading.Lock "
					}
				case "joins":
					want = map[string]string{"joiner": `the end of thread "sleeper" of Python sleeper`}
				}
				for who, w := range want {
					if got[who] != w {
						t.Errorf("%s, no stop %t: %q waits for %q, want %q; %+v", what, noStop, who, got[who], w, all)
					}
				}
				x.end()
			}
		}
		x := start(t, in, "locks.py", []string{"WHAT=forks"})
		child := childOf(t, x.PID())
		t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
		x.open(t, child)
		all, _ := x.locks(t, false)
		if len(all) != 1 || !all[0].Gone || all[0].Owner != 0 || !strings.Contains(all[0].Note, "fork") {
			t.Errorf("a fork's child waits for %+v", all)
		}
	})
}

// TestAwaited: who waits in a function of the standard library by a lock that nobody holds waits for what that function
// is for, not for a lock without an owner.
func TestAwaited(t *testing.T) {
	want := map[string]string{"notify": "a notify of a Condition", "event": "an Event",
		"barrier": "the others of a Barrier", "semaphore": "a Semaphore", "item": "an item of a queue",
		"mine": "an item of a queue", "room": "room in a queue", "done": "the work of a queue to be done",
		"result": "the result of a Future", "results": "the results of Futures"}
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "locks.py", []string{"WHAT=awaits"})
		// A wait with a time limit is another call once it was stopped.
		for look, noStop := range []bool{true, false, false, true} {
			all, names := x.locks(t, noStop)
			got := map[string]string{}
			for _, l := range all {
				for _, tid := range l.Waiters {
					got[names[tid]], _, _ = strings.Cut(l.Name, " 0x")
				}
				if l.Owner != 0 || l.Note != "" || l.Kind == (waits.Kind{}) {
					t.Errorf("look %d, no stop %t: %+v, want no owner and no lock", look, noStop, l)
				}
			}
			for who, w := range want {
				if got[who] != w {
					t.Errorf("look %d, no stop %t: %q waits for %q, want %q; %+v", look, noStop, who, got[who], w, all)
				}
			}
		}
	})
}

// TestStarvedPool: who waits for the result of work waits for the thread that runs it; of work in the queue of a pool
// it is known that no thread has begun it, of another Future nothing.
func TestStarvedPool(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		for _, noStop := range []bool{false, true} {
			x := start(t, in, "locks.py", []string{"WHAT=starves"})
			all, names := x.locks(t, noStop)
			got := map[string]waits.Lock{}
			for _, l := range all {
				for _, tid := range l.Waiters {
					got[names[tid]] = l
				}
			}
			for _, who := range []string{"worker_0", "worker_1"} {
				if l := got[who]; l.Kind != waits.Unbegun || l.Owner != 0 || l.Note == "" {
					t.Errorf("no stop %t: %q waits for %+v, want work that is not begun", noStop, who, l)
				}
			}
			if l := got["of-one"]; l.Kind != waits.Result || !strings.HasPrefix(names[l.Owner], "worker_") {
				t.Errorf("no stop %t: the owner is %q, want one of the pool: %+v", noStop, names[l.Owner], l)
			}
			if l := got["of-nobody"]; l.Kind != waits.Result || l.Owner != 0 || l.Note != "" {
				t.Errorf("no stop %t: %+v, want nothing that is known", noStop, l)
			}
			x.end()
		}
	})
}

// TestIdlePool: of a pool the thread that has no work is idle, one that waits in its work or on its own is not.
func TestIdlePool(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "locks.py", []string{"WHAT=awaits"})
		idle := map[string]int{}
		for i := 0; i < 20 && idle["Python pool"] == 0; i++ {
			walked.Pause(i)
			s := x.stop(t)
			clear(idle)
			for k := range s.Threads {
				stack := x.Walk(s, k)
				idle[x.Walker.Idle(&s.Threads[k], &stack)]++
			}
		}
		if idle["Python pool"] != 1 || len(idle) != 2 || idle[""] != 12 {
			t.Errorf("idle are %v, want one of the pool, and 12 threads that are not", idle)
		}
	})
}

// childOf is the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	if err != nil {
		t.Skipf("children are not shown: %v", err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return child
}
