//go:build linux && (amd64 || arm64)

package python

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// greenlet is one as it is listed.
type greenlet struct {
	kind   string // its class, or main
	state  string
	tid    int
	frames []string // of the scripts, innermost first
}

// withGreenlets runs a test for each interpreter that has package greenlet.
func withGreenlets(t *testing.T, script string, test func(t *testing.T, x *target)) {
	t.Helper()
	found := 0
	for _, in := range interpreters(t) {
		folder := "/opt/packages"
		if in.root == "" {
			folder, _ = filepath.Abs(filepath.Join(fetched, fmt.Sprintf("packages-3.%d", in.minor)))
		}
		if _, err := os.Stat(filepath.Join(in.root, folder, "greenlet")); err != nil {
			continue
		}
		found++
		t.Run(in.name, func(t *testing.T) { test(t, start(t, in, script, []string{"PYTHONPATH=" + folder})) })
	}
	if found == 0 {
		t.Skip("package greenlet is not there: scripts/build-python gets it")
	}
}

// greenlets lists the greenlets of the target as they are at one instant, and the facts of its threads.
func (x *target) greenlets(t testing.TB) (all []greenlet, facts []string) {
	t.Helper()
	s, l := x.greenletStop(t)
	fibers, err := l.Fibers(s)
	if err != nil {
		t.Error(err)
	}
	for i := range fibers {
		f := &fibers[i]
		kind, _, plain := strings.Cut(f.Name, " ")
		if !plain {
			kind = "greenlet"
		}
		g := greenlet{kind: kind, state: f.State, tid: f.TID}
		var stack unwind.Stack
		l.(vm.FiberStacker).FiberStack(f.ID, &stack)
		named := x.Names.Stack(&stack)
		for k := range named.Frames {
			f := &named.Frames[k]
			if base := filepath.Base(f.File); base == "greenlets.py" || base == "gevented.py" {
				g.frames = append(g.frames, fmt.Sprintf("%s:%d", f.Func[strings.LastIndexByte(f.Func, '.')+1:], f.Line))
			}
			if f.Note != "" {
				t.Errorf("%s has a frame %q, %s", f.Func, f.Func, f.Note)
			}
		}
		all = append(all, g)
	}
	for _, f := range x.Runtimes.ThreadFacts(s) {
		facts = append(facts, strings.Join(f.Facts, ", "))
	}
	return all, facts
}

func (x *target) greenletStop(t testing.TB) (*snapshot.Snapshot, vm.FiberLister) {
	t.Helper()
	for _, l := range x.Runtimes.FiberListers() {
		if l.FiberKind() != "greenlet" {
			continue
		}
		if present, err := l.OpenFibers(); err != nil || !present {
			t.Fatalf("no greenlets are found: %v", err)
		}
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
			ProcessTime: 900e6, ProcessCopiers: []snapshot.ProcessCopier{l.(snapshot.ProcessCopier)}})
		if err != nil {
			t.Fatal(err)
		}
		return s, l
	}
	t.Fatal("no runtime lists greenlets")
	return nil, nil
}

// TestGreenlets: each greenlet that waits is there with its frames, one that has ended is not, and the one that runs is
// on its thread; what of their stacks was moved away while another runs makes no difference.
func TestGreenlets(t *testing.T) {
	withGreenlets(t, "greenlets.py", func(t *testing.T, x *target) {
		for i := range 20 {
			walked.Pause(i)
			all, facts := x.greenlets(t)
			count := map[string]int{}
			for _, g := range all {
				count[fmt.Sprint(g.kind, " ", g.state, " ", g.frames)]++
				if g.state == "running" && len(g.frames) > 0 {
					t.Errorf("a greenlet that runs has the frames %q", g.frames)
				}
			}
			for what, n := range map[string]int{
				"greenlet parked [leaf:8 middle:12 <lambda>:16 by_sorted:16]": 3,
				"Derived parked [leaf:8 middle:12 numbers:26 run:21]":         1,
				"greenlet not started []":                                     1,
				"main parked [<module>:75]":                                   1,
				"greenlet parked [leaf:8 middle:12]":                          1,
				"main running []":                                             1,
				"greenlet running []":                                         1,
			} {
				if count[what] != n {
					t.Errorf("sample %d: %d are %s, want %d: %v", i, count[what], what, n, all)
				}
			}
			if len(all) != 10 && len(all) != 9 { // the second of those that switch may not have begun
				t.Errorf("sample %d: %d greenlets: %v", i, len(all), all)
			}
			if !strings.Contains(strings.Join(facts, "; "), "of its greenlets are parked") {
				t.Errorf("sample %d: facts %q", i, facts)
			}
		}
	})
}

// TestGreenletStack: a thread that switches all the time between greenlets on the same stack shows at each instant the
// frames of one of them, all of them and no others.
func TestGreenletStack(t *testing.T) {
	withGreenlets(t, "greenlets.py", func(t *testing.T, x *target) {
		pings, pongs := 0, 0
		for i := range *samples {
			walked.Pause(i)
			s := x.stop(t)
			stack := x.Stack(s, 0)
			names := functions(&stack)
			if len(names) == 0 && missed(s, &stack) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "switches" })
			deep := len(names) - len(rest)
			rest = slices.DeleteFunc(rest, func(n string) bool { return n == "spins" })
			switch {
			case slices.Equal(rest, []string{"ping"}) && deep <= 21:
				pings++
			case slices.Equal(rest, []string{"pong"}) && deep <= 4:
				pongs++
			default:
				t.Errorf("sample %d: %q%s", i, names, describe(&stack))
			}
			if slices.Index(names, "spins") > 0 {
				t.Errorf("sample %d: %q", i, names)
			}
		}
		t.Logf("%d samples of the one that goes deep, %d of the other", pings, pongs)
		if pings == 0 || pongs == 0 {
			t.Errorf("%d samples of the one that goes deep, %d of the other", pings, pongs)
		}
	})
}

// TestGevent: what greenlets of gevent wait in is there.
func TestGevent(t *testing.T) {
	withGreenlets(t, "gevented.py", func(t *testing.T, x *target) {
		var wrong []string
		for i := range 100 { // connections are made meanwhile
			walked.Pause(i)
			all, _ := x.greenlets(t)
			count := map[string]int{}
			for _, g := range all {
				count[fmt.Sprint(g.kind, " ", g.state, " ", g.frames)]++
			}
			wrong = nil
			for what, n := range map[string]int{"Greenlet parked [handle:10]": 4, "Greenlet parked [client:16]": 4,
				"Greenlet parked [sleeper:20]": 3, "Hub running []": 1, "main parked [<module>:29]": 1} {
				if count[what] != n {
					wrong = append(wrong, fmt.Sprintf("%d are %s, want %d: %v", count[what], what, n, all))
				}
			}
			if wrong == nil {
				return
			}
		}
		t.Error(strings.Join(wrong, "\n"))
	})
}
