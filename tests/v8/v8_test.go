//go:build linux

package v8

import (
	"flag"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/tests/walked"
)

var (
	full    = memory.Full
	samples = flag.Int("samples", 60, "samples of each script")
)

// quick are the versions, modes and scripts of each run without -full.
var (
	quickMajors  = harness.Last([]int{18, 22, 26})
	quickModes   = harness.With([]string{"default"}, "sparkplug")
	quickScripts = []string{"loop.js", "mutual.js", "classes.js", "closures.js", "names.js", "worker.js", "natives.js",
		"lines.js", "regexp.js"}
	// others have tests of their own.
	others = []string{"fresh.js", "newlines.js", "inmemory.js", "truth.js", "sleeper.js", "handles.js", "wasm.js",
		"suspended.js"}
)

func majorOf(version string) int {
	n, _ := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	return n
}

// TestScripts compares every sample of each script with what the script knows.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scripts, "*.*js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, version := range versions(t) {
		major := majorOf(version)
		if !*full && !slices.Contains(quickMajors, major) {
			continue
		}
		for _, m := range modes(major) {
			if !*full && !slices.Contains(quickModes, m.name) {
				continue
			}
			for _, f := range files {
				name := filepath.Base(f)
				if slices.Contains(others, name) || !*full && !slices.Contains(quickScripts, name) {
					continue
				}
				t.Run(version+"/"+m.name+"/"+name, func(t *testing.T) { runScript(t, version, m, name) })
			}
		}
	}
}

// runScript samples one script.
func runScript(t *testing.T, version string, m mode, script string) {
	n := *samples
	x := start(t, version, m.flags, script)
	counts, seen := map[verdict]int{}, map[string]int{}
	for i := 0; i < n; i++ {
		walked.Pause(i)
		s := x.Stop(t)
		v, why := x.best(t, s.Process.PID, x.Stacks(s), threadIDs(s))
		counts[v]++
		if why != "" {
			seen[string(v)+": "+why]++
		}
	}
	t.Logf("%d right, %d with a line unsure, %d without JavaScript, %d unsure, %d in the deoptimizer, %d not named, "+
		"%d cut, %d wrong", counts[right], counts[vague], counts[elapsed], counts[unsure], counts[deoptimized],
		counts[unnamed], counts[cut], counts[wrong])
	results.add(version, m.name, counts)
	for why, n := range seen {
		t.Logf("%d × %s", n, why)
	}
	if bad := counts[wrong] + counts[unnamed] + counts[cut]; counts[wrong] > 0 || bad > max(1, n/1000) {
		t.Errorf("%d of %d samples are not right", bad, n)
	}
	if counts[deoptimized]*50 > n {
		t.Errorf("%d of %d stacks end in the deoptimizer", counts[deoptimized], n)
	}
	if some := counts[right] + counts[vague] + counts[unsure]; some < n/2 {
		t.Errorf("%d of %d samples have JavaScript on the stack", some, n)
	}
}
