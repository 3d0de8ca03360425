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
	"time"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/tests/harness"
)

// TestAheadOfTime: of a program that was compiled ahead of time one note says so, and its methods have the names of
// symbols. With -full the library is a real one, loaded by Python.
func TestAheadOfTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "managed")
	build := exec.Command("gcc", "-O1", "-o", program, "../../testdata/dotnet/managed.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	checkAheadOfTime(t, exec.Command(program), "managed", "Waits_ForSignal")
	library, err := filepath.Abs(filepath.Join(fetched, "nativeaot", "Spire.Doc.Base.so"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(library); !*full || err != nil {
		t.Logf("the library is made by scripts/build-dotnet nativeaot, and used with -full: %v", err)
		return
	}
	const script = `
import ctypes, sys
call = ctypes.CDLL(sys.argv[1])
room = (ctypes.c_int64 * 16)()
while True:
    call.Document_CreateDocument(ctypes.byref(room))
`
	checkAheadOfTime(t, exec.Command("python3", "-c", script, library), "Spire.Doc.Base.so", "Document_CreateDocument")
}

func checkAheadOfTime(t *testing.T, c *exec.Cmd, module, function string) {
	t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := harness.Start(c); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	var out, complaints bytes.Buffer
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		out.Reset()
		cmd.Execute([]string{"-p", fmt.Sprint(c.Process.Pid)}, &out, &complaints)
		note := fmt.Sprintf("%q is .NET compiled ahead of time (NativeAOT)", module)
		if strings.Count(out.String(), note) == 1 && strings.Contains(out.String(), function) &&
			!strings.Contains(out.String(), "not shown") {
			return
		}
	}
	t.Errorf("%q and %s are not shown: %s\n%s", module, function, complaints.String(), out.String())
}
