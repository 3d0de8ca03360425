//go:build linux

package manners

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	fpstack   string                // path of the command under test
	built     string                // directory of the programs of testdata/live
	scratch   string                // directory of this run; others than root may enter it
	begin     func(*exec.Cmd) error // on the lasting thread
	onStarter func(func())          // calls there
)

// soak asks for the long runs.
var soak = os.Getenv("FPSTACK_SOAK") == "1"

// rounds is the length of a run: a part of short, short with harness.All, or long with FPSTACK_SOAK=1.
func rounds(short, long int) int {
	if soak {
		return long
	}
	return harness.Times(short)
}

func TestMain(m *testing.M) {
	if mode := os.Getenv("MANNERS_HELPER"); mode != "" {
		helper(mode)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	r, err := harness.Prepare("manners")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(r.Scratch)
	fpstack, built, scratch, begin, onStarter = r.Fpstack, r.Built, r.Scratch, r.Start, r.Do
	if err := buildOwn(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildOwn builds the programs of testdata, and the tracer's bare loop in C, into scratch.
// Without gcc there are none, and the tests that want them skip: "is not built", which fails in CI.
func buildOwn() error {
	if _, err := exec.LookPath("gcc"); err != nil {
		return nil
	}
	sources, err := filepath.Glob("testdata/*.c")
	if err != nil {
		return err
	}
	for _, source := range append(sources, "../../tracer/testdata/cstop.c") {
		name := filepath.Join(scratch, strings.TrimSuffix(filepath.Base(source), ".c"))
		out, err := exec.Command("gcc", "-std=gnu11", "-O2", "-pthread", "-o", name, source).CombinedOutput()
		if err != nil {
			return fmt.Errorf("build %s: %v\n%s", source, err, out)
		}
	}
	return nil
}

// program gives the path of a program of testdata, here or of the live targets.
func program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{scratch, built} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("%s is not built: gcc and scripts/build-live are needed", name)
	return ""
}

// rootOnly skips a test that an unprivileged user cannot run.
func rootOnly(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("not root: %s", what)
	}
}
