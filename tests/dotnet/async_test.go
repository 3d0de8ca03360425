//go:build linux

package dotnet

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// waitingChains are the chains of testdata/dotnet/waiting.cs, which has so many of each.
var waitingChains = []string{
	"awaits the result of a TaskCompletionSource: Fetch Load Handle",
	"awaits a timer: Sleeps",
	"awaits a SemaphoreSlim: Locks",
	"awaits all of several tasks: Both",
	"awaits the result of a TaskCompletionSource: Get Generic",
	"awaits the result of a TaskCompletionSource: Wide",
}

// withSingle are the runtimes that waiting.cs is run in: also one that comes as a single file. For arm64 there is only
// one without what waiting.cs uses.
func withSingle() []string {
	if runtime.GOARCH == "arm64" {
		return folders()
	}
	return append(folders(), single)
}

const single = "8.0.30"

// startWaiters starts testdata/dotnet/waiting.cs in the runtime of a version.
func startWaiters(t *testing.T, version string, arguments ...string) *server {
	t.Helper()
	if version == single {
		return startReady(t, inPlace(t, version, "waiting.dll", arguments...))
	}
	return startHost(t, filepath.Join(fetched, version), own, nil, append([]string{"waiting.dll"}, arguments...)...)
}

// TestAsync: of async methods that wait each chain is listed as often as it is there, with the lines that the source
// marks, and what it awaits; none of those that have ended is.
func TestAsync(t *testing.T) {
	lines := markedLines(t, "../../testdata/dotnet/waiting.cs")
	for _, version := range withSingle() {
		for _, tt := range []struct {
			name, moved string
			n           int
		}{{"", "", 50}, {"moved", "moved", 50}, {"many wait for one", "", 3000}} {
			moved, n := tt.moved, tt.n
			want := map[string]int{}
			for _, chain := range waitingChains {
				want[chain] = n
			}
			t.Run(version+tt.name, func(t *testing.T) {
				s := startWaiters(t, version, fmt.Sprint(n), moved)
				got, err := s.asyncs(t, lines)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%v, want %v", got, want)
				}
			})
		}
	}
}

// TestAsyncChurn: beside methods that begin and end, and a collector that moves all, the list has the same methods, or
// says that it is not whole: then it has no more of them, and parts of their chains. No chain is one that the program
// cannot make.
func TestAsyncChurn(t *testing.T) {
	const n = 20
	scans := 12
	if *full {
		scans = 400
	}
	lines := markedLines(t, "../../testdata/dotnet/waiting.cs")
	for _, version := range withSingle() {
		t.Run(version, func(t *testing.T) {
			s := startWaiters(t, version, fmt.Sprint(n), "churn")
			whole, churned := 0, 0
			for range scans {
				got, err := s.asyncs(t, lines)
				if err == nil {
					whole++
				}
				for chain, count := range got {
					known := slices.Contains(waitingChains, chain)
					_, methods, _ := strings.Cut(chain, ": ")
					switch {
					case known && (count > n || err == nil && count != n):
						t.Errorf("%d × %q, want %d (%v)", count, chain, n, err)
					case known:
					case methods == "Churned Churner" || methods == "Churner" || methods == "Churned":
						churned++
					case err == nil || !isPartOfWaiting(methods):
						t.Errorf("%d × %q: the program cannot make it (%v)", count, chain, err)
					}
				}
				if err == nil && len(got) < len(waitingChains) {
					t.Errorf("whole, it is said: %v", got)
				}
			}
			t.Logf("%d of %d scans whole, %d saw others", whole, scans, churned)
			if churned == 0 {
				t.Error("none saw a method that begins and ends")
			}
		})
	}
}

// isPartOfWaiting reports whether methods wait for each other in some chain of the program.
func isPartOfWaiting(methods string) bool {
	return slices.ContainsFunc(append([]string{"Sleeps Both", "Locks Both"}, waitingChains...), func(c string) bool {
		return strings.Contains(" "+c+" ", " "+methods+" ")
	})
}

// asyncRuntime is a runtime that lists async methods.
type asyncRuntime interface {
	vm.FiberLister
	vm.FiberStacker
	Frames(unwind.Site) []profile.Frame
}

// suspended are the async methods that wait.
func (s *server) suspended(t *testing.T) (asyncRuntime, []snapshot.Fiber, error) {
	t.Helper()
	s.Stop(t)
	r := s.runtime(t).(asyncRuntime)
	fibers, err := r.Fibers(&snapshot.Snapshot{})
	return r, fibers, err
}

// asyncs counts the chains of async methods that wait, which are to wait at those lines, by method.
func (s *server) asyncs(t *testing.T, lines map[string]int) (map[string]int, error) {
	t.Helper()
	r, fibers, err := s.suspended(t)
	got := map[string]int{}
	for _, f := range fibers {
		var stack unwind.Stack
		r.FiberStack(f.ID, &stack)
		var names []string
		for i := range stack.Frames {
			all := r.Frames(stack.Frames[i].Site)
			if len(all) == 0 {
				t.Errorf("frame %d of a call that %s has no name: %s", i, f.State, stack.Frames[i].Note)
				continue
			}
			x := all[0]
			name := strings.TrimSuffix(x.Func, " (async)")
			name = name[strings.LastIndexByte(name, '.')+1:]
			if x.Line != lines[name] || x.Line == 0 {
				t.Errorf("%s waits at line %d, want %d", x.Func, x.Line, lines[name])
			}
			names = append(names, name)
		}
		got[f.State+": "+strings.Join(names, " ")]++
	}
	return got, err
}

var update = flag.Bool("update", false, "save processes of .NET again for tests of vm/coreclr")

// TestSavedAsync: a saved dump has the async methods that the process had, and what they wait for.
func TestSavedAsync(t *testing.T) {
	for _, version := range withSingle() {
		t.Run(version, func(t *testing.T) {
			runtime, to := filepath.Join(fetched, version), filepath.Join(t.TempDir(), "saved")
			if _, err := os.Stat(runtime); *update && err == nil {
				to, _ = filepath.Abs("../../testdata/snapshots/dotnet/async-" + version + ".snapshot")
				elsewhere(t, own, runtime)
			}
			s := startWaiters(t, version, "3")
			var live, saved, complaints bytes.Buffer // frames of libraries without symbols have no names
			cmd.Execute([]string{"-p", fmt.Sprint(s.PID()), "--fibers", "all", "--save", to}, &live, &complaints)
			cmd.Execute([]string{to}, &saved, &complaints)
			want, got := asyncText(live.String()), asyncText(saved.String())
			if got != want || strings.Count(want, "3 async calls") < len(waitingChains) {
				t.Errorf("saved:\n%s\nlive:\n%s\n%s", got, want, complaints.String())
			}
			if *update {
				s.tell(t, strings.TrimSuffix(to, ".snapshot")+".txt", version)
			}
		})
	}
}

// TestAsyncOfCore: a core has the async methods that the process had, where the file of their assembly is believed;
// else it says why they are not there.
func TestAsyncOfCore(t *testing.T) {
	for _, version := range withSingle() {
		t.Run(version, func(t *testing.T) {
			s := startWaiters(t, version, "3")
			core := filepath.Join(t.TempDir(), "core")
			var live, believed, not, complaints bytes.Buffer
			cmd.Execute([]string{"-p", fmt.Sprint(s.PID()), "--fibers", "all"}, &live, &complaints)
			writeCore(t, s.PID(), core)
			cmd.Execute([]string{core, "--fibers", "all", "--sysroot", "/"}, &believed, &complaints)
			want, got := asyncText(live.String()), asyncText(believed.String())
			if got != want || strings.Count(want, "3 async calls") < len(waitingChains) {
				t.Errorf("core:\n%s\nlive:\n%s\n%s", got, want, complaints.String())
			}
			complaints.Reset()
			cmd.Execute([]string{core, "--fibers", "all"}, &not, &complaints)
			got = asyncText(not.String())
			if version == single { // it was decompressed, so the memory has it
				if got != want {
					t.Errorf("core without files:\n%s\nlive:\n%s\n%s", got, want, complaints.String())
				}
			} else if strings.Contains(got, "Waiting.") ||
				!strings.Contains(complaints.String(), "async methods may be missing") {
				t.Errorf("not believed:\n%s\n%s", got, complaints.String())
			}
		})
	}
}

// asyncText are the parts of a dump that show async methods.
func asyncText(dump string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, " ") {
			inside = strings.Contains(line, " async calls ")
		}
		if inside {
			b.WriteString(line)
		}
	}
	return b.String()
}

// elsewhere goes to a place that has copies of folders where they are from here: what is saved has no path of this
// machine.
func elsewhere(t *testing.T, folders ...string) {
	t.Helper()
	to, err := os.MkdirTemp("", "net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(to) })
	here := filepath.Join(to, "tests/dotnet")
	for _, f := range folders {
		err = errors.Join(err, os.CopyFS(filepath.Join(here, f), os.DirFS(f)))
	}
	if err = errors.Join(err, os.MkdirAll(here, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
}

// tell writes where the runtime of s has what a replay without its file begins with, and the chains.
func (s *server) tell(t *testing.T, path, version string) {
	t.Helper()
	text := fmt.Sprintf("version %s\n", version)
	for _, m := range s.Set.Table().All() {
		found := s.Set.Find(m.Start)
		if base := filepath.Base(m.Path); base != "libcoreclr.so" && base != programs[single].name || found == nil ||
			m.Offset != 0 {
			continue
		}
		for word, name := range map[string]string{"slots": "g_dacTable",
			"contract": "DotNetRuntimeContractDescriptor"} {
			if at, _, ok := symbol.OpenDynamic(found).Lookup(name); ok {
				text += fmt.Sprintf("%s %#x\n", word, uint64(found.Addr(at)))
			}
		}
	}
	for _, chain := range waitingChains {
		text += "chain " + chain + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
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

// TestAsyncServer: a server that waits for messages awaits a sender of the channel that has them, below the host that
// runs it, which awaits that somebody ends it.
func TestAsyncServer(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			s := start(t, version)
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
			channel := "awaits a sender of a channel"
			if !strings.HasPrefix(version, "10.") {
				channel = "awaits a channel" // who reads and who waits for room are alike
			}
			found, all := false, ""
			for _, f := range fibers {
				var stack unwind.Stack
				r.FiberStack(f.ID, &stack)
				var names []string
				for i := range stack.Frames {
					for _, x := range r.Frames(stack.Frames[i].Site) {
						names = append(names, x.Func)
					}
				}
				chain := strings.Join(names, " < ")
				all += f.State + ": " + chain + "\n"
				found = found || f.State == channel && strings.Contains(chain, ".ReadAllAsync (async iterator) < ") &&
					strings.Contains(chain, "ProcessMessages")
			}
			if !found {
				t.Errorf("nothing %s to read all of it:\n%s", channel, all)
			}
		})
	}
}
