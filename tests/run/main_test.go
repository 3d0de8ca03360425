//go:build linux

package run

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	fpstack string // the command under test
	scratch string // a directory of this run
	begin   func(*exec.Cmd) error
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("RUN_HELPER"); mode != "" {
		os.Exit(helper(mode))
	}
	r, err := harness.Prepare("run")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fpstack, scratch, begin = r.Fpstack, r.Scratch, r.Start
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil { // most of them sleep
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(scratch)
	os.Exit(status)
}

// job is a program that runs, and what it writes.
type job struct{ *exec.Cmd }

// start starts a program whose output is collected by a file, so that nothing that is left behind is waited for.
func start(t *testing.T, env []string, name string, args ...string) *job {
	t.Helper()
	j := &job{exec.Command(name, args...)}
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	j.Stdout, j.Stderr = out, out
	j.Env = append(without(os.Environ(), "CI"), env...)
	j.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := begin(j.Cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-j.Process.Pid, syscall.SIGKILL)
		out.Close()
	})
	return j
}

// end waits for the end, and returns what was written.
func (j *job) end(t *testing.T) (string, *os.ProcessState) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- j.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%q does not end; so far: %s", j.Args, j.text(t))
	}
	return j.text(t), j.ProcessState
}

// text is what was written so far.
func (j *job) text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(j.Stdout.(*os.File).Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// await returns when f is true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	awaitFor(t, 30*time.Second, what, f)
}

// awaitFor is await for what may take long.
func awaitFor(t *testing.T, most time.Duration, what string, f func() bool) {
	t.Helper()
	for until := time.Now().Add(most); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}

// without returns the environment without a variable.
func without(env []string, name string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			out = append(out, v)
		}
	}
	return out
}

// marked lists the processes that have a word among their arguments.
func marked(word string) []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if string(arg) == word {
				out = append(out, pid)
			}
		}
	}
	return out
}

var marks int

// mark is a time for sleep(1) that no other process has.
func mark() string {
	marks++
	return fmt.Sprintf("%d.%d", 100000+os.Getpid(), marks)
}

// file writes a script.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
