//go:build linux

package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for a condition. Only a test that fails uses it up.
const patience = 60 * time.Second

// target is a program that a test started.
type target struct {
	pid int
	out *bufio.Reader
	cmd *exec.Cmd
}

// program gives the path of a program of testdata/live.
func program(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(built, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built: scripts/build-live says why", name)
	}
	return path
}

// installed gives the path of a program of the system, the first that is there.
func installed(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

// asRoot skips a test of what only root can set up.
func asRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can set this up")
	}
}

// launch starts cmd in a process group of its own, which is killed at the end of the test,
// or by the kernel if the test cannot.
func launch(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 5 * time.Second
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("%s said: %s", filepath.Base(cmd.Path), stderr.Bytes())
		}
	})
	return &target{pid: cmd.Process.Pid, out: bufio.NewReader(pipe), cmd: cmd}
}

// ready waits for the line that says that the target is where it should be.
func (p *target) ready(t testing.TB) *target {
	t.Helper()
	if line := p.line(t); line != "R" {
		t.Fatalf("process %d is not ready: it wrote %q", p.pid, line)
	}
	return p
}

// line reads one line of the target's output.
func (p *target) line(t testing.TB) string {
	t.Helper()
	type answer struct {
		text string
		err  error
	}
	c := make(chan answer, 1)
	go func() {
		text, err := p.out.ReadString('\n')
		c <- answer{text, err}
	}()
	select {
	case a := <-c:
		if a.err != nil && a.err != io.EOF {
			t.Fatalf("read output of process %d: %v", p.pid, a.err)
		}
		return strings.TrimSuffix(a.text, "\n")
	case <-time.After(patience):
		t.Fatalf("process %d wrote nothing in %v", p.pid, patience)
	}
	return ""
}

// run starts a program of testdata/live, and waits until it is ready and asleep.
func runTarget(t testing.TB, name string, args ...string) *target {
	t.Helper()
	p := launch(t, exec.Command(program(t, name), args...)).ready(t)
	asleep(t, p.pid)
	return p
}

// await waits until condition holds.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so after %v", what, patience)
		}
	}
}

// asleep waits until every thread of process pid sleeps.
func asleep(t testing.TB, pid int) {
	t.Helper()
	await(t, fmt.Sprintf("all threads of process %d sleep", pid), func() bool {
		tids := threadsOf(pid)
		for _, tid := range tids {
			if stateOf(tid) != 'S' {
				return false
			}
		}
		return len(tids) > 0
	})
}

// threadsOf lists the threads of process pid, the first one first, none if there is no such process.
func threadsOf(pid int) []int {
	tids := numbers(fmt.Sprintf("/proc/%d/task", pid))
	slices.SortFunc(tids, func(a, b int) int {
		switch {
		case a == pid:
			return -1
		case b == pid:
			return 1
		}
		return a - b
	})
	return tids
}

// numbers lists the entries of dir that are numbers.
func numbers(dir string) []int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var ns []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

// stateOf gives the letter of proc_pid_stat(5), 0 if there is no such thread.
func stateOf(tid int) byte {
	if f := statOf(tid); len(f) > 0 {
		return f[0][0]
	}
	return 0
}

// statOf gives the fields of /proc/TID/stat from the state on. The name before it may hold
// anything, so the last parenthesis counts.
func statOf(tid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// duty starts the program of that name and waits until its threads run. They are made behind the
// line that says it is ready.
func duty(t testing.TB, args ...string) *target {
	t.Helper()
	p := launch(t, exec.Command(program(t, "duty"), args...)).ready(t)
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the threads of duty run", func() bool {
		return len(threadsOf(p.pid)) == 1+threads && ticksOf(p.pid) > 0
	})
	return p
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) []int {
	var found []int
	for _, p := range numbers("/proc") {
		if f := statOf(p); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			found = append(found, p)
		}
	}
	return found
}

// copyFile copies a program, so that a test may do to the copy what it likes.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	// A file that this process has open for writing may be so in a child that is being started, too: then it cannot be
	// executed.
	if out, err := exec.Command("cp", "--", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}
