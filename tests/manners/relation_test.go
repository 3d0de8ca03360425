//go:build linux

package manners

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestOwnChild inspects children of this program while they end: their end belongs to
// who started them, and comes once.
func TestOwnChild(t *testing.T) {
	for i := range rounds(30, 300) {
		c := start(t, "witness", "2")
		p := open(t, c.pid)
		go func() {
			atRandom(4_000_000)
			unix.Kill(c.pid, unix.SIGUSR2)
		}()
		var err error
		for n := i; err == nil; n++ {
			_, err = p.Snapshot(t.Context(), ways[n%len(ways)])
		}
		c.cmd.Wait()
		if status := c.cmd.ProcessState.ExitCode(); status != 7 {
			t.Fatalf("exit status %d after %v, want 7", status, err)
		}
	}
}

// TestOwnParent has the command inspect its parent, which waits for it in wait4 without a
// loop around.
func TestOwnParent(t *testing.T) {
	for range 20 {
		c := launch(t, exec.Command(program(t, "family"), "parent", fpstack, "-p", "@"))
		expectFamily(t, c, "waited 0", "parent")
	}
}

// TestTargetTracesUs has the command inspect the process that traces it: both would be stopped for good, so that it is
// shown without a stop.
func TestTargetTracesUs(t *testing.T) {
	c := launch(t, exec.Command(program(t, "family"), "tracer", fpstack, "-p", "@"))
	expectFamily(t, c, "waited 0", fmt.Sprintf("process %d traces this one", c.cmd.Process.Pid))
	c.cmd.Wait()
}

// expectFamily reads up to the last line of a family, and wants a word on the way.
func expectFamily(t *testing.T, c *target, last, word string) {
	t.Helper()
	c.pid = c.cmd.Process.Pid
	seen := word == ""
	for {
		line := c.next(t, patience)
		seen = seen || strings.Contains(line, word)
		if strings.HasPrefix(line, "waited") {
			if line != last || !seen {
				t.Fatalf("got %q, want %q; %q was seen: %v", line, last, word, seen)
			}
			return
		}
	}
}

// TestTracedByAnother names who traces; the tracer itself can be inspected.
func TestTracedByAnother(t *testing.T) {
	c := start(t, "family", "debugger")
	var child int
	if _, err := fmt.Sscan(c.ready, &child); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fpstack, "-p", itoa(child))
	out, _ := cmd.CombinedOutput()
	want := fmt.Sprintf("process %d is traced by process %d \"family\": shown without a stop", child, c.pid)
	if cmd.ProcessState.ExitCode() != 0 || !strings.Contains(string(out), want) {
		t.Errorf("status %d, said %q, want %q", cmd.ProcessState.ExitCode(), out, want)
	}
	if state := stateOf(child); state != 't' {
		t.Errorf("the child of the debugger is in state %c, want t", state)
	}
	if r := fpstackOn(t, c.pid); r.status != 0 {
		t.Errorf("debugger: status %d: %s", r.status, r.err)
	}
}

// TestRefused has processes that nobody can inspect.
func TestRefused(t *testing.T) {
	ended := start(t, "witness", "1")
	unix.Kill(ended.pid, unix.SIGKILL)
	waitState(t, ended.pid, "Z")
	gone := start(t, "witness", "1")
	unix.Kill(gone.pid, unix.SIGKILL)
	gone.cmd.Wait()
	self := os.Getpid()
	for _, row := range []struct {
		name, pid, want string
	}{
		{"kernel thread", "2", "is a kernel thread"},
		{"ended, not reaped", itoa(ended.pid), "has ended and was not reaped by its parent " + itoa(self)},
		{"no such process", itoa(gone.pid), "no such process"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "kernel thread" && !isKernelThread(2) {
				t.Skip("process 2 is no kernel thread here")
			}
			cmd := exec.Command(fpstack, "-p", row.pid)
			out, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), row.want) {
				t.Errorf("status %d, said %q, want %q", cmd.ProcessState.ExitCode(), out, row.want)
			}
		})
	}
	t.Run("ourselves", func(t *testing.T) {
		if _, err := tracer.Open(self, tracer.Options{}); !errors.Is(err, tracer.ErrSelf) {
			t.Errorf("got %v, want %v", err, tracer.ErrSelf)
		}
	})
	t.Run("one of our threads", func(t *testing.T) {
		tid := make(chan int)
		onStarter(func() { tid <- unix.Gettid() }) // others may end meanwhile
		if _, err := tracer.Open(<-tid, tracer.Options{}); !errors.Is(err, tracer.ErrSelf) {
			t.Errorf("got %v, want %v", err, tracer.ErrSelf)
		}
	})
}

func isKernelThread(pid int) bool {
	b, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	st, err := procfs.ParseStat(b)
	return err == nil && st.KernelThread()
}

// TestReusedID opens a process whose id is later given to another: it must not be taken
// for the first.
func TestReusedID(t *testing.T) {
	rootOnly(t, "a process with a chosen id is made")
	c := start(t, "witness", "1")
	p := open(t, c.pid)
	takeSnapshot(t, p, tracer.StopOptions{})
	unix.Kill(c.pid, unix.SIGKILL)
	c.cmd.Wait()
	start(t, "family", "reuse", itoa(c.pid))
	if state := stateOf(c.pid); state == 0 {
		t.Fatalf("no process %d was made", c.pid)
	}
	snap, err := p.Snapshot(t.Context(), tracer.StopOptions{})
	if !errors.Is(err, tracer.ErrNoProcess) {
		t.Errorf("got %v, %v; want %v", snap, err, tracer.ErrNoProcess)
	}
	checkFree(t, c.pid)
}
