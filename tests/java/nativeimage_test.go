//go:build linux && (amd64 || arm64)

package java

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
	"github.com/fpstack/fpstack/tests/walked"
)

// managed is a program with the section that native-image gives its programs: what was compiled is C.
const managed = `
#include <unistd.h>
__attribute__((section(".svm_heap"), used)) static char heap[4096] = {1};
__attribute__((noinline, noclone)) void Waits_forSignal(void) { for (;;) pause(); }
int main(void) { Waits_forSignal(); return 0; }
`

// TestNativeImage: of a program that native-image has made one note says so, and its methods have the names of symbols.
// With -full it is a real one, static and stripped, as scripts/build-java native-image gets it.
func TestNativeImage(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "managed.c"), filepath.Join(dir, "managed")
	if err := os.WriteFile(source, []byte(managed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	noted(t, exec.Command(program), "managed", "Waits_forSignal")
	compiler, err := filepath.Abs(filepath.Join(fetched, "native-image", "compiler"))
	if err != nil {
		t.Fatal(err)
	}
	if !*full || !exists(compiler) {
		t.Log("a real one is fetched by scripts/build-java native-image, and used with -full")
		return
	}
	c := exec.Command(compiler) // it reads its standard input, which does not end
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	noted(t, c, "compiler", `"gnal Dispatcher"`) // what is left of its name in the kernel
}

// noted waits until a dump of c has the note about module, and text.
func noted(t *testing.T, c *exec.Cmd, module, text string) {
	t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := harness.Start(c); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	note := fmt.Sprintf("%q is Java compiled ahead of time (GraalVM's native-image)", module)
	var out, complaints bytes.Buffer
	for i := range 400 {
		walked.Pause(i)
		out.Reset()
		cmd.Execute([]string{"-p", fmt.Sprint(c.Process.Pid)}, &out, &complaints)
		if s := out.String(); strings.Count(s, note) == 1 && strings.Contains(s, text) &&
			!strings.Contains(s, "not shown") {
			return
		}
	}
	t.Errorf("%q and %s are not shown: %s\n%s", module, text, complaints.String(), out.String())
}
