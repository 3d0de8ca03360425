//go:build linux

package agent

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	full = flag.Bool("full", false, "200 killed agents, not some")
	run  *harness.Run
)

// patience is how long something may take that takes no time.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(prepare(m))
}

func prepare(m *testing.M) int {
	var err error
	if run, err = harness.Prepare("agent"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(run.Scratch)
	return m.Run()
}

// folder makes a folder of this test alone.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(run.Scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// await waits until f is true.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// checker is a selfcheck of a name of its own: a program that notices what is not as it should be, see
// testdata/live/selfcheck.c. It ends by itself after two minutes.
type checker struct {
	name  string
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startChecker starts one that sends itself a signal so often.
func startChecker(t testing.TB, name string) *checker {
	t.Helper()
	image, err := os.ReadFile(filepath.Join(run.Built, "selfcheck"))
	if err != nil {
		t.Skipf("selfcheck is not built: %v", err)
	}
	path := filepath.Join(folder(t), name)
	if err := os.WriteFile(path, image, 0o755); err != nil {
		t.Fatal(err)
	}
	c := &checker{name: name, cmd: exec.Command(path, "-i", "2000")}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := run.Start(c.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	c.lines = bufio.NewScanner(out)
	if !c.lines.Scan() || !strings.HasPrefix(c.lines.Text(), "R") {
		t.Fatalf("selfcheck says %q", c.lines.Text())
	}
	return c
}

// finish ends it; it waits for all the signals that it sent, and says whether it noticed anything.
func (c *checker) finish(t testing.TB) {
	t.Helper()
	c.cmd.Process.Signal(syscall.SIGTERM)
	if !c.lines.Scan() || !strings.HasPrefix(c.lines.Text(), "ok ") {
		t.Errorf("%s noticed: %s", c.name, c.lines.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
}

// agent is a running `fpstack agent`.
type agent struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said strings.Builder
}

func (a *agent) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said.Write(b)
}

// text is what it wrote to standard error.
func (a *agent) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said.String()
}

// startAgent starts one that records the checkers.
func startAgent(t testing.TB, store *store, spool string, checkers []*checker, more ...string) *agent {
	t.Helper()
	args := []string{"agent", "--push", "pyroscope://" + store.address, "--spool", spool}
	for _, c := range checkers {
		args = append(args, "--name", c.name)
	}
	a := &agent{cmd: exec.Command(run.Fpstack, append(args, more...)...)}
	a.cmd.Stderr, a.cmd.Stdout = a, a
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := run.Start(a.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.cmd.Process.Kill(); a.cmd.Wait() })
	return a
}

// end ends it as a service manager does, and fails if that is not in order.
func (a *agent) end(t testing.TB) {
	t.Helper()
	a.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- a.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the agent ends with %v:\n%s", err, a.text())
		}
	case <-time.After(patience):
		a.cmd.Process.Signal(syscall.SIGABRT) // where its goroutines are is worth more than that it hangs
		<-ended
		t.Fatalf("the agent does not end:\n%s", a.text())
	}
}

// kill ends it at once.
func (a *agent) kill() {
	a.cmd.Process.Kill()
	a.cmd.Wait()
}
