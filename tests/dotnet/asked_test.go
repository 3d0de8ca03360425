//go:build linux

package dotnet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/tests/harness"
)

// linkedFolder makes a folder with links to what another has.
func linkedFolder(t *testing.T, from string) string {
	t.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Skipf("%v: scripts/build-dotnet gets it", err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.Symlink(filepath.Join(from, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// otherVersion makes a folder with the runtime of 9.0.5 that says it is of version 7.0.5, which nobody reads.
func otherVersion(t *testing.T) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join(fetched, library))
	if err != nil {
		t.Fatal(err)
	}
	dir := linkedFolder(t, from)
	runtime := filepath.Join(dir, "libcoreclr.so")
	b, err := os.ReadFile(runtime)
	if err != nil {
		t.Fatal(err)
	}
	const version, other = "@(#)Version 9.0.5", "@(#)Version 7.0.5"
	if !bytes.Contains(b, []byte(version)) {
		t.Fatalf("%q is not in the runtime", version)
	}
	if err := os.Remove(runtime); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runtime, bytes.ReplaceAll(b, []byte(version), []byte(other)), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestUnknownVersion: a version that is not known is refused with its number; methods have the names of a perf map that
// the runtime is asked for, and none before.
func TestUnknownVersion(t *testing.T) {
	folder := otherVersion(t)
	s := startShapesIn(t, folder, "generic", "task")
	path := fmt.Sprintf("/tmp/perf-%d.map", s.PID())
	t.Cleanup(func() { os.Remove(path) })
	const method = "Shapes.Box`1+Inner`1[System.Int32,System.__Canon]::Hold"
	var out, complaints bytes.Buffer
	status := cmd.Execute([]string{"-p", fmt.Sprint(s.PID())}, &out, &complaints)
	if status != 1 || !strings.Contains(complaints.String(), "version 7.0.5") ||
		strings.Contains(out.String(), method) {
		t.Errorf("status %d, %q;\n%s", status, complaints.String(), out.String())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the runtime writes a perf map, and was not asked to")
	}
	out.Reset()
	complaints.Reset()
	status = cmd.Execute([]string{"-p", fmt.Sprint(s.PID()), "--dotnet-perf-map"}, &out, &complaints)
	if status != 1 || !strings.Contains(complaints.String(), "version 7.0.5") ||
		!strings.Contains(out.String(), method) {
		t.Errorf("status %d, %q;\n%s", status, complaints.String(), out.String())
	}
	out.Reset()
	complaints.Reset()
	status = cmd.Execute([]string{"record", "-p", fmt.Sprint(s.PID()), "--dotnet-perf-map", "-d", "1", "-f", "folded"},
		&out, &complaints)
	if status != 0 || !strings.Contains(out.String(), method) {
		t.Errorf("record: status %d, %q;\n%s", status, complaints.String(), out.String())
	}
}

// TestAskedInVain: a process that is no .NET, and one that is stopped, are reported with what may be done.
func TestAskedInVain(t *testing.T) {
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := harness.Start(other); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	var out, complaints bytes.Buffer
	status := cmd.Execute([]string{"-p", fmt.Sprint(other.Process.Pid), "--dotnet-perf-map"}, &out, &complaints)
	if status != 1 || !strings.Contains(complaints.String(), "no diagnostic socket in") ||
		!strings.Contains(out.String(), "  #0  ") { // wherever it is by now
		t.Errorf("status %d, %q\n%s", status, complaints.String(), out.String())
	}
}
