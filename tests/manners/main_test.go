//go:build linux

package manners

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

var (
	fpstack string // path of the command under test
	built   string // directory of the programs of testdata/live
	scratch string // directory of this run; others than root may enter it
)

// soak asks for the long runs.
var soak = os.Getenv("FPSTACK_SOAK") == "1"

// rounds is the length of a run: short, or long with FPSTACK_SOAK=1.
func rounds(short, long int) int {
	if soak {
		return long
	}
	return short
}

func TestMain(m *testing.M) {
	if mode := os.Getenv("MANNERS_HELPER"); mode != "" {
		helper(mode)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "manners"); err == nil {
		err = os.Chmod(scratch, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	fpstack = filepath.Join(scratch, "fpstack")
	build := exec.Command("go", "build", "-o", fpstack, "../..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released, and as package live has built it
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build fpstack: %v\n%s", err, out)
		return 1
	}
	if built, err = filepath.Abs("../../testdata/bin/live"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := buildOwn(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	heedSignals()
	go startAll()
	return m.Run()
}

// heedSignals lets programs that are started here heed what a terminal sends, also where these tests were told
// to ignore it, by nohup or as a job in the background of a script: that would be inherited. A signal that is
// caught is not.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
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

// starts takes what is to run on the thread that starts every program. The parent-death
// signal comes when the thread that forked ends (prctl(2)), so that one never ends.
var starts = make(chan func())

func startAll() {
	runtime.LockOSThread()
	for f := range starts {
		f()
	}
}

// begin starts cmd from the lasting thread.
func begin(cmd *exec.Cmd) error {
	err := make(chan error)
	starts <- func() { err <- cmd.Start() }
	return <-err
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
