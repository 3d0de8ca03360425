//go:build linux

package manners

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// guarded is a target whose parent writes down what wait4 reports of it.
type guarded struct {
	*target
	events chan string
	log    []string
}

// guard starts a program below a parent of its own.
func guard(t testing.TB, name string, args ...string) *guarded {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", append([]string{program(t, name)}, args...)...)
	cmd.Env = append(os.Environ(), "MANNERS_HELPER=guardian")
	cmd.ExtraFiles = []*os.File{w}
	g := &guarded{target: launch(t, cmd), events: linesOf(r)}
	w.Close()
	t.Cleanup(func() { r.Close() })
	if g.pid, err = strconv.Atoi(g.event(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(g.pid, unix.SIGKILL) })
	g.awaitReady(t)
	return g
}

// event is the next thing that the parent was told.
func (g *guarded) event(t testing.TB) string {
	t.Helper()
	select {
	case e, ok := <-g.events:
		if ok {
			return e
		}
		t.Fatalf("parent of %d has ended after %q", g.pid, g.log)
	case <-time.After(patience):
		t.Fatalf("parent of %d was told nothing more after %q; threads: %s", g.pid, g.log, threadStates(g.pid))
	}
	return ""
}

// told waits for the next event, which must be want.
func (g *guarded) heard(t testing.TB, want string) {
	t.Helper()
	got := g.event(t)
	g.log = append(g.log, got)
	if got != want {
		t.Fatalf("parent was told %q, want %q; all of it: %q", got, want, g.log)
	}
}

// finish ends the target by SIGTERM and compares all that its parent was told.
func (g *guarded) finish(t testing.TB, want []string) {
	t.Helper()
	if n := len(want); n == 0 || !strings.HasPrefix(want[n-1], "killed") && !strings.HasPrefix(want[n-1], "exited") {
		unix.Kill(g.pid, unix.SIGTERM)
		want = append(slices.Clone(want), "killed 15")
	}
	for len(g.log) == 0 || !isEnd(g.log[len(g.log)-1]) {
		g.log = append(g.log, g.event(t))
	}
	if !slices.Equal(g.log, want) {
		t.Errorf("parent was told %q, want %q", g.log, want)
	}
}

func isEnd(event string) bool {
	return strings.HasPrefix(event, "killed") || strings.HasPrefix(event, "exited")
}

// guardian is the parent: it starts the program named and writes to descriptor 3 the
// program's id, then what wait4 reports of it.
func guardian(args []string) {
	out := os.NewFile(3, "events")
	unix.CloseOnExec(3)
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	check(err)
	fmt.Fprintln(out, pid)
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, unix.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			check(err)
		case ws.Stopped():
			fmt.Fprintln(out, "stopped", int(ws.StopSignal()))
		case ws.Continued():
			fmt.Fprintln(out, "continued")
		case ws.Signaled():
			fmt.Fprintln(out, "killed", int(ws.Signal()))
			return
		case ws.Exited():
			fmt.Fprintln(out, "exited", ws.ExitStatus())
			return
		}
	}
}
