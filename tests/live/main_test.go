//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

var (
	fpstack string // path of the command under test
	built   string // directory of the programs of testdata/live
	scratch string // directory for all of this run; others may enter it
)

func TestMain(m *testing.M) {
	switch os.Getenv("LIVE_TARGET") {
	case "spin":
		spin()
	case "hostile":
		writeHostile(os.Args[1:])
	default:
		os.Exit(run(m))
	}
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "live"); err == nil {
		err = os.Chmod(scratch, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	fpstack = filepath.Join(scratch, "fpstack")
	build := exec.Command("go", "build", "-o", fpstack, "../..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build fpstack: %v\n%s", err, out)
		return 1
	}
	if built, err = filepath.Abs("../../testdata/bin/live"); err != nil {
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

// starts takes what is to run on the thread that starts every program. The parent-death
// signal comes when the thread that forked ends (prctl(2)), so that one never ends.
var starts = make(chan func())

func startAll() {
	runtime.LockOSThread()
	for f := range starts {
		f()
	}
}

// start starts cmd from the lasting thread.
func start(cmd *exec.Cmd) error {
	err := make(chan error)
	starts <- func() { err <- cmd.Start() }
	return <-err
}

// room makes a directory that others than root may enter, as t.TempDir does not.
func room(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
