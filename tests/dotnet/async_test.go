//go:build linux && amd64

package dotnet

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestAsync: of async methods that wait each chain is listed as often as it is there, with the lines that the source
// marks, and what it awaits; none of those that have ended is.
func TestAsync(t *testing.T) {
	const n = 50
	lines := markedLines(t, "../../testdata/dotnet/waiting.cs")
	want := map[string]int{}
	for _, chain := range []string{
		"awaits the result of a TaskCompletionSource: Fetch Load Handle",
		"awaits a timer: Sleeps",
		"awaits a SemaphoreSlim: Locks",
		"awaits all of several tasks: Both",
		"awaits the result of a TaskCompletionSource: Get Generic",
		"awaits the result of a TaskCompletionSource: Wide",
	} {
		want[chain] = n
	}
	for _, version := range folders {
		t.Run(version, func(t *testing.T) {
			s := startHost(t, filepath.Join(fetched, version), own, nil, "waiting.dll", fmt.Sprint(n))
			s.Stop(t)
			r := s.runtime(t).(interface {
				vm.FiberLister
				vm.FiberStacker
				Frames(unwind.Site) []profile.Frame
			})
			fibers, err := r.Fibers(&snapshot.Snapshot{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, f := range fibers {
				var stack unwind.Stack
				r.FiberStack(f.ID, &stack)
				var names []string
				for i := range stack.Frames {
					x := r.Frames(stack.Frames[i].Site)[0]
					name := strings.TrimSuffix(x.Func, " (async)")
					name = name[strings.LastIndexByte(name, '.')+1:]
					if x.Line != lines[name] || x.Line == 0 {
						t.Errorf("%s waits at line %d, want %d", x.Func, x.Line, lines[name])
					}
					names = append(names, name)
				}
				got[f.State+": "+strings.Join(names, " ")]++
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// markedLines are the lines of a source that end in "// NAME", by name.
func markedLines(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[string]int{}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		if words := strings.Fields(in.Text()); len(words) > 2 && slices.Contains(words[1:], "//") {
			lines[words[len(words)-1]] = n
		}
	}
	return lines
}
