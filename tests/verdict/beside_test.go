//go:build linux

package verdict

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// need skips a test where a tool is not installed, or a file that a package brings.
func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if !filepath.IsAbs(tool) {
			harness.Need(t, tool)
		} else if found, _ := filepath.Glob(tool); len(found) == 0 {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// silent is a server that accepts connections and never answers, of silent.py.
func silent(t testing.TB, dir string) {
	t.Helper()
	beside([]string{"python3", "silent.py"}, "port")(t, dir)
}

// beside starts commands, in sessions of their own, in the folder of a program: pairs of a command and the file that it
// writes when it is ready.
func beside(pairs ...any) func(t testing.TB, dir string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			launch(t, dir, pairs[i].([]string)...)
			if file := pairs[i+1].(string); file != "" {
				harness.Await(t, filepath.Join(dir, file), "")
			}
		}
	}
}

// launch starts a command in a folder and a session of its own. What it writes goes to a file beside.
func launch(t testing.TB, dir string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := os.OpenFile(filepath.Join(dir, "beside"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// until waits for a condition.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 2400 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not in two minutes: %s", what)
}

// freePort is a port on which nobody listens now.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
