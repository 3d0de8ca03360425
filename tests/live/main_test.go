//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	fpstack string                // path of the command under test
	built   string                // directory of the programs of testdata/live
	scratch string                // directory for all of this run; others may enter it
	start   func(*exec.Cmd) error // on the lasting thread
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
	r, err := harness.Prepare("live")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(r.Scratch)
	fpstack, built, scratch, start = r.Fpstack, r.Built, r.Scratch, r.Start
	return m.Run()
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
