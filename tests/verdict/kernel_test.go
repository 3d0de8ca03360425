//go:build linux

package verdict

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// Waits that the kernel makes.
var kernelRows = []row{
	{name: "D behind a FUSE server that is stopped", needs: append(gcc, "cat"), start: stuckFolder, ready: "ready",
		argv: []string{"sh", "-c", "echo ready; cat served/file"},
		is:   truth{state: hangs, culprit: "stuckfs|^cat served"}},
	{name: "stopped by a debugger", needs: append(gcc, "gdb"), files: one("tick.c"), ready: "ready",
		argv: []string{"sh", "-c", "./tick; true"}, then: debug,
		is: truth{state: hangs, kinds: []string{"stopped"}, culprit: "^./tick|^gdb"}},
}

// stuckFolder mounts a file system whose server is stopped.
func stuckFolder(t testing.TB, dir string) {
	t.Helper()
	program, err := filepath.Abs("../../testdata/bin/live/stuckfs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("stuckfs is not built: scripts/build-live")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Getuid() != 0 {
		t.Skipf("no file system of ours can be mounted here: %v", err)
	}
	served := filepath.Join(dir, "served")
	if err := os.Mkdir(served, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "file"), "text")
	t.Cleanup(func() { syscall.Unmount(served, syscall.MNT_DETACH) })
	server := launch(t, dir, program, served, filepath.Join(dir, "file"))
	harness.Await(t, filepath.Join(dir, "beside"), "R")
	if err := server.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// debug lets gdb stop tick, and keeps it stopped.
func debug(t testing.TB, dir string) int {
	t.Helper()
	for _, pid := range processesIn(dir) {
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		if filepath.Base(exe) != "tick" {
			continue
		}
		launch(t, dir, "sh", "-c", "sleep 1000 | gdb -nx -q -p "+strconv.Itoa(pid))
		until(t, "gdb stops it", func() bool {
			status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
			return strings.Contains(string(status), "\nState:\tt")
		})
		return 0
	}
	t.Fatal("tick does not run")
	return 0
}
