//go:build linux && (amd64 || arm64)

package rust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// truth is what a program of testdata/rust/taskdump tells of itself: the lines of each chain, innermost first, by task.
func truth(t *testing.T, file string) map[string][]string {
	t.Helper()
	if err := os.WriteFile(file+".ask", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, file, "")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, line := range strings.Split(string(b), "\n") {
		if id, lines, ok := strings.Cut(line, ":"); ok && lines != "" {
			out[id] = append(out[id], lines)
		}
	}
	return out
}

// waitingLines are the lines of each chain that a dump has of a task, by task: those of branches with those of the task
// behind.
func waitingLines(d *profile.Dump) map[string][]string {
	lines := func(f *profile.Fiber) string {
		s := ""
		for _, x := range d.FiberStacks[f.Stack].Stack.Frames {
			s += fmt.Sprintf(" %d", x.Line)
		}
		return s
	}
	out, branches := map[string][]string{}, map[uint64][]string{}
	for i := range d.Fibers {
		if f := &d.Fibers[i]; f.Kind == profile.AsyncCall {
			branches[f.AwaitedBy[0]] = append(branches[f.AwaitedBy[0]], lines(f))
		}
	}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.Kind != profile.AsyncTask || f.Wait == profile.FiberRuns || f.Missing != "" ||
			strings.HasPrefix(f.State, "where it waits is not known") {
			continue
		}
		id := fmt.Sprint(f.ID)
		for _, branch := range branches[f.ID] {
			out[id] = append(out[id], branch+lines(f))
		}
		if len(branches[f.ID]) == 0 {
			out[id] = append(out[id], lines(f))
		}
	}
	return out
}

// TestTaskdump: a task waits where tokio says so in a build that can tell: taskdump polls it in the process, and the
// dry run beside. What taskdump knows nothing of, because its future does not tell, is left out. That a timer is beside
// what is waited for has no chain of its own here.
func TestTaskdump(t *testing.T) {
	t.Parallel()
	harness.Long(t)
	const n, kinds = 3, 13
	for _, scheduler := range []string{"current", "multi"} {
		t.Run(scheduler, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "told")
			p := harness.Program{Argv: []string{binary(t, "taskdump"), scheduler, fmt.Sprint(n), file}, Ready: "ready"}
			pid := p.Begin(t)
			time.Sleep(300 * time.Millisecond) // until all tasks wait
			got := waitingLines(settled(t, pid))
			want := truth(t, file)
			compared, ways := 0, map[string]bool{}
			for id, chains := range want {
				if got[id] == nil { // it comes and goes
					continue
				}
				compared++
				for _, c := range got[id] {
					ways[c] = true
					if !slices.Contains(chains, c) {
						t.Errorf("task %s waits at%s, and by taskdump at%q", id, c, chains)
					}
				}
				for _, c := range chains {
					if !slices.ContainsFunc(got[id], func(g string) bool { return strings.HasSuffix(g, c) }) {
						t.Errorf("task %s waits at%s by taskdump, and not at%q", id, c, got[id])
					}
				}
			}
			if compared < n*kinds || len(ways) < kinds {
				t.Errorf("%d tasks in %d ways were compared, want %d in %d", compared, len(ways), n*kinds, kinds)
			}
		})
	}
}
