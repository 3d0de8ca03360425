//go:build linux

package manners

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// patience bounds every wait for something that will come. Only a test that fails uses it
// up.
const patience = 30 * time.Second

// target is a program that a test started.
type target struct {
	pid   int
	cmd   *exec.Cmd
	lines chan string // what it prints, closed at its end
	ready string      // what followed "R" on the first line
}

// start starts a program and waits until it is ready. It is killed at the end of the test.
func start(t testing.TB, name string, args ...string) *target {
	t.Helper()
	c := launch(t, exec.Command(program(t, name), args...))
	c.pid = c.cmd.Process.Pid
	c.awaitReady(t)
	return c
}

// launch starts cmd with its output going to lines. It is in a process group of its own,
// which is not orphaned, as the stop signals of a terminal have no effect in one that is.
func launch(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true
	if err := begin(cmd); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		r.Close()
	})
	return &target{cmd: cmd, lines: linesOf(r)}
}

func linesOf(r io.Reader) chan string {
	lines := make(chan string, 4096)
	go func() {
		defer close(lines)
		for b := bufio.NewScanner(r); b.Scan(); {
			lines <- b.Text()
		}
	}()
	return lines
}

// awaitReady waits for the line "R ...". Of a target that says "n", the kernel does not
// let its situation be made.
func (c *target) awaitReady(t testing.TB) {
	t.Helper()
	line := c.next(t, patience)
	switch {
	case line == "n":
		t.Skip("the kernel does not let this situation be made")
	case line != "R" && !strings.HasPrefix(line, "R "):
		t.Fatalf("target is not ready: %q", line)
	}
	c.ready = strings.TrimSpace(line[1:])
}

// next is the next line that the target prints.
func (c *target) next(t testing.TB, bound time.Duration) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatalf("target %d ended before it said more", c.pid)
		}
		return line
	case <-time.After(bound):
		t.Fatalf("target %d said nothing within %v; its threads: %s", c.pid, bound, threadStates(c.pid))
	}
	return ""
}

// open opens a process for in-process stops.
func open(t testing.TB, pid int) *tracer.Process {
	t.Helper()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// takeSnapshot makes a Snapshot that must succeed, and checks that all was let go.
func takeSnapshot(t testing.TB, p *tracer.Process, opt tracer.StopOptions) *snapshot.Snapshot {
	t.Helper()
	s, err := p.Snapshot(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	checkFree(t, p.PID())
	return s
}

// viewer is called while the threads are stopped, once for each of them.
type viewer func(*snapshot.Thread)

func (v viewer) Copy(t *snapshot.Thread, _ *snapshot.Fetcher) { v(t) }

// holding runs f while the threads are stopped, once.
func holding(f func()) tracer.StopOptions {
	var once sync.Once
	return tracer.StopOptions{Copiers: []snapshot.Copier{viewer(func(*snapshot.Thread) { once.Do(f) })}}
}

// result is what one run of the command gave.
type result struct {
	out, err string
	status   int // exit status, -1 after a signal
	took     time.Duration
}

// fpstackOn runs the command on a process and checks afterwards that all was let go.
func fpstackOn(t testing.TB, pid int, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, fpstack, append([]string{"-p", itoa(pid)}, args...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err := begin(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	checkFree(t, pid)
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(begun)}
}
