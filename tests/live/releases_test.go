//go:build linux

package live

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// releases are releases of Go whose runtimes lay their structures out in different ways, the oldest first. The newest
// is that of the other tests.
var releases = []string{"go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.7"}

var allReleases = flag.Bool("releases", false, "also build the Go targets by all older releases of Go, not only by one")

// TestGoroutinesOfReleases builds the program by older releases, which the go command downloads, and compares its
// goroutines, and the whole stacks of its calls from Go to C and back.
func TestGoroutinesOfReleases(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for i, release := range releases {
		if i > 0 && !*allReleases {
			break
		}
		for _, cgo := range []string{"0", "1"} {
			t.Run(release+"-cgo"+cgo, func(t *testing.T) {
				r := startRoutines(t, buildBy(t, release, cgo), "300")
				checkRoutines(t, r, 300)
				if cgo == "1" {
					checkCalls(t, r.pid)
				}
			})
		}
	}
}

// buildBy builds testdata/live/routines_go by a release of Go.
func buildBy(t *testing.T, release, cgo string) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Glob("../../testdata/live/routines_go/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, name := range sources {
		copyFile(t, name, filepath.Join(dir, filepath.Base(name)))
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module routines\n\ngo 1.21\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release, "CGO_ENABLED="+cgo)
		return cmd.CombinedOutput()
	}
	if out, err := run("version"); err != nil || !strings.Contains(string(out), release) {
		t.Skipf("%s cannot be had: %s", release, out)
	}
	if out, err := run("build", "-o", "routines", "."); err != nil {
		t.Fatalf("build by %s: %v\n%s", release, err, out)
	}
	return filepath.Join(dir, "routines")
}
