//go:build linux && (amd64 || arm64)

package python

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// task is a task as it is listed, in the words of the script.
type task struct {
	state     string
	frames    []string // innermost first, those of the script: "leaf:18"
	awaitedBy []string
	onThread  bool
	loop      string // name of the thread whose loop runs it, "" if not known
}

// lister is what lists the tasks of the target.
func (x *target) lister(t testing.TB) vm.FiberLister {
	t.Helper()
	for _, l := range x.Runtimes.FiberListers() {
		if present, err := l.OpenFibers(); err != nil {
			t.Fatal(err)
		} else if present && l.FiberKind() == "task" {
			return l
		}
	}
	t.Fatal("no runtime lists tasks")
	return nil
}

// fibers lists the tasks of the target as they are at one instant, with what was copied then.
func (x *target) fibers(t testing.TB) (vm.FiberLister, []snapshot.Fiber, *snapshot.Snapshot) {
	t.Helper()
	l := x.lister(t)
	s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
		ProcessCopiers: []snapshot.ProcessCopier{l.(snapshot.ProcessCopier)}})
	if err != nil {
		t.Fatal(err)
	}
	fibers, err := l.Fibers(s)
	if err != nil {
		t.Error(err)
	}
	return l, fibers, s
}

// taskNames are the names of fibers by their ids.
func taskNames(fibers []snapshot.Fiber) map[uint64]string {
	names := map[uint64]string{}
	for i := range fibers {
		names[fibers[i].ID] = fibers[i].Name
	}
	return names
}

// tasks lists the tasks of the target, by name, as they are at one instant.
func (x *target) tasks(t testing.TB) map[string]task {
	t.Helper()
	l, fibers, s := x.fibers(t)
	facts, names := x.Runtimes.ThreadFacts(s), taskNames(fibers)
	all := map[string]task{}
	for i := range fibers {
		f := &fibers[i]
		got := task{state: f.State, onThread: f.TID != 0, loop: facts[f.LoopTID].Name}
		for _, id := range f.AwaitedBy {
			got.awaitedBy = append(got.awaitedBy, names[id])
		}
		var stack unwind.Stack
		l.(vm.FiberStacker).FiberStack(f.ID, &stack)
		named := x.Names.Stack(&stack)
		for k := range named.Frames {
			if g := &named.Frames[k]; filepath.Base(g.File) == "tasks.py" && !strings.Contains(g.File, "asyncio") {
				name := g.Func[strings.LastIndexByte(g.Func, '.')+1:]
				got.frames = append(got.frames, fmt.Sprintf("%s:%d", name, g.Line))
			} else if g.Kind != profile.Python || g.Note != "" {
				t.Errorf("task %q has a frame %q, %s", f.Name, g.Func, g.Note)
			}
		}
		if _, twice := all[f.Name]; twice {
			t.Errorf("task %q is listed twice", f.Name)
		}
		all[f.Name] = got
	}
	return all
}

// parkedTasks are those that tasks.py makes in all releases.
func parkedTasks() map[string]task {
	const future = "waits for a future"
	leaf := []string{"leaf:18"}
	deep := []string{"leaf:18", "middle:22", "top:26"}
	return map[string]task{
		"main":       {state: future, frames: []string{"main:112"}},
		"alpha":      {state: future, frames: deep, awaitedBy: []string{"waiter"}},
		"waiter":     {state: `waits for task "alpha"`, frames: []string{"waits_for:41"}},
		"iterator":   {state: future, frames: []string{"leaf:18", "numbers:31", "iterates:36"}},
		"by-object":  {state: future, frames: []string{"__await__:14", "by_object:45"}},
		"gatherer":   {state: "waits for gather", frames: []string{"gathers:49"}},
		"gathered-1": {state: future, frames: leaf, awaitedBy: []string{"gatherer"}},
		"gathered-2": {state: future, frames: leaf, awaitedBy: []string{"gatherer"}},
		"shielder":   {state: future, frames: []string{"shields:53"}},
		"shielded":   {state: future, frames: leaf, awaitedBy: []string{"shielder"}},
		"wait":       {state: future, frames: []string{"waits:57"}},
		"waited":     {state: future, frames: leaf, awaitedBy: []string{"wait"}},
		"sleeper":    {state: future, frames: []string{"sleeps:67"}},
		"of-python":  {state: future, frames: deep},
	}
}

// TestMonitoredTasks: tasks have their whole chains also while something listens to what the interpreter executes, as
// profilers, coverage and debuggers do.
func TestMonitoredTasks(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "tasks.py", nil, "-m", "cProfile")
		all := x.tasks(t)
		for name, want := range parkedTasks() {
			if got := all[name]; !slices.Equal(got.frames, want.frames) {
				t.Errorf("task %q is in %q, want %q", name, got.frames, want.frames)
			}
		}
	})
}

// TestTasks: each task that waits is there with its whole chain, and who waits for it; one that runs is on the stack of
// its thread; each belongs to the loop of its thread.
func TestTasks(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "tasks.py", []string{"BLOCK=1", "TWO=1", "EAGER=1"})
		want := parkedTasks()
		want["blocker"] = task{state: "running", onThread: true}
		want["lonely"] = task{state: "waits for a future", frames: []string{"lonely:120"}, loop: "other-loop"}
		if in.minor >= 11 {
			want["group"] = task{state: "waits for a future", frames: []string{"groups:61"}}
			want["grouped-1"] = task{state: "waits for a future", frames: []string{"leaf:18"},
				awaitedBy: []string{"group"}}
			want["grouped-2"] = want["grouped-1"]
		}
		if in.minor >= 12 {
			want["eager"] = task{state: "waits for a future", frames: []string{"leaf:18", "middle:22", "top:26"}}
		}
		got := x.tasks(t)
		for name, w := range want {
			g, ok := got[name]
			w.loop = cmp.Or(w.loop, "MainThread")
			if !ok || g.state != w.state || g.onThread != w.onThread || !slices.Equal(g.frames, w.frames) ||
				!slices.Equal(g.awaitedBy, w.awaitedBy) || g.loop != w.loop {
				t.Errorf("task %q is %+v, want %+v", name, g, w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d tasks, want %d: %v", len(got), len(want), got)
		}
	})
}

// BenchmarkTasks copies 10,000 tasks that wait.
func BenchmarkTasks(b *testing.B) {
	for _, in := range interpreters(b) {
		if !slices.Contains([]int{9, 12, 14}, in.minor) {
			continue
		}
		b.Run(in.name, func(b *testing.B) {
			x := start(b, in, "tasks.py", []string{"MANY=10000"})
			l := x.lister(b)
			for b.Loop() {
				g := snapshot.Gatherer{Budget: snapshot.Budget{Bytes: 64 << 20, Time: 10e9}}
				g.Ready([]snapshot.ProcessCopier{l.(snapshot.ProcessCopier)})
				g.Run([]snapshot.ProcessCopier{l.(snapshot.ProcessCopier)}, pieces{x})
				if _, short := g.Copied(); len(short) > 0 {
					b.Fatal(short)
				}
			}
		})
	}
}

// pieces reads the memory of the target as a Gatherer does.
type pieces struct{ *target }

func (p pieces) ReadPieces(list []snapshot.Piece) error {
	for i := range list {
		list[i].Got, _ = p.ReadMem(list[i].Data, list[i].Addr)
	}
	return nil
}
