//go:build linux && (amd64 || arm64)

package python

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// stateOf are the releases that TestRecordState records: CFrames, and shims.
var stateOf = map[string]bool{"3.11": true, "3.13-debian": true}

// TestRecordState writes, or without -record into a folder that is removed, a snapshot with all that a dump has of the
// state of the interpreter, and that as text: tasks, greenlets, who holds the GIL, local variables.
func TestRecordState(t *testing.T) {
	to := snapshots
	if !*record {
		to = t.TempDir()
	}
	withGreenlets(t, "state.py", func(t *testing.T, x *target) {
		if !stateOf[x.name] {
			return // two are enough
		}
		for i := 0; ; i++ {
			if i == 1000 {
				t.Fatal("no sample has a thread that holds the GIL and one that waits for it")
			}
			walked.Pause(i)
			x.recognise(t)
			s, text := x.state(t)
			if !strings.Contains(text, "holds the GIL") || !strings.Contains(text, "waits for the GIL, held by") {
				continue
			}
			for _, want := range []string{"task first waits for a future", `held by task "first"`, "task runs running",
				"greenlet", "main", "number = ", "text = 'abc'", "pair = (1, None)", `"other"`} {
				if !strings.Contains(text, want) {
					t.Errorf("the state has no %q:\n%s", want, text)
				}
			}
			writeState(t, x, s, text, filepath.Join(to, fmt.Sprintf("state-3.%d", x.minor)))
			return
		}
	})
}

// state stops the target, and says what a dump has of its state.
func (x *target) state(t *testing.T) (*snapshot.Snapshot, string) {
	t.Helper()
	copiers := x.Runtimes.LocalsCopiers()
	var listers []vm.FiberLister
	for _, l := range x.Runtimes.FiberListers() {
		if present, err := l.OpenFibers(); err != nil || !present {
			t.Fatalf("no %s is found: %v", l.FiberKind(), err)
		}
		copiers, listers = append(copiers, l.(snapshot.ProcessCopier)), append(listers, l)
	}
	s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(), ProcessCopiers: copiers})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range listers {
		fibers, err := l.Fibers(s)
		if err != nil {
			t.Error(err)
		}
		for i := range fibers {
			fmt.Fprintf(&b, "%s %s %s\n", fibers[i].Kind, fibers[i].Name, fibers[i].State)
		}
	}
	facts := x.Runtimes.ThreadFacts(s)
	for i := range s.Threads {
		th := &s.Threads[i]
		fmt.Fprintf(&b, "thread %d %q %s\n", th.TID, facts[th.TID].Name, strings.Join(facts[th.TID].Facts, ", "))
		walked := x.Walker.Walk(th, s.Reader(th, x.Process), unwind.Options{})
		all := x.Runtimes.Locals(mem.NewOverlay(nil, s.Whole...), &walked)
		for k := range walked.Frames {
			for _, v := range all[k] {
				fmt.Fprintf(&b, "  %s = %s\n", v.Name, v.Value)
			}
		}
	}
	return s, b.String()
}

// scrub overwrites where on this machine files are: the folder of the sources, and the home of its user.
func scrub(t *testing.T, ranges []mem.Range) {
	t.Helper()
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{here, os.Getenv("HOME")} {
		if len(path) < 2 {
			continue
		}
		other := []byte("/" + strings.Repeat("x", len(path)-1))
		for i := range ranges {
			ranges[i].Data = bytes.ReplaceAll(ranges[i].Data, []byte(path), other)
		}
	}
}

// writeState writes s without what is of the machine that it was made on.
func writeState(t *testing.T, x *target, s *snapshot.Snapshot, text, name string) {
	t.Helper()
	out := &snapshot.Snapshot{Process: snapshot.Process{PID: 1}, Threads: s.Threads, Whole: s.Whole,
		Memory: x.Runtimes.Facts()}
	var kept []maps.Mapping
	for _, m := range s.Maps.All() {
		if m.Path == "[stack]" || strings.HasPrefix(filepath.Base(m.Path), "_greenlet.") {
			m.Path = filepath.Base(m.Path)
			kept = append(kept, m)
		}
	}
	out.Maps = maps.NewTable(kept)
	scrub(t, out.Whole)
	scrub(t, out.Memory)
	for i := range out.Threads {
		th := &out.Threads[i]
		const most = 12 << 10
		if len(th.Stack.Data) > most {
			th.Stack = mem.Range{Start: th.Stack.Start, Data: th.Stack.Data[:most]}
		}
	}
	for i := range out.Threads {
		scrub(t, out.Threads[i].Copied)
	}
	file, err := os.Create(name + ".snap")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := snapshot.Write(file, out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
