//go:build linux

package tracer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot"
)

// patience bounds every wait for what will come. Only a test that fails uses it up.
const patience = 30 * time.Second

var built string // directory of the programs of testdata

func TestMain(m *testing.M) {
	if mode := os.Getenv("TRACER_TEST_HELPER"); mode != "" {
		helper(mode)
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tracer")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"target", "threads", "waits", "clook"} {
		args := []string{"-O1", "-fno-omit-frame-pointer", "-fno-stack-clash-protection",
			"-fno-optimize-sibling-calls", "-pthread", "-o", filepath.Join(dir, name), "testdata/" + name + ".c"}
		if runtime.GOARCH == "386" {
			args = append(args, "-m32")
		}
		out, err := exec.Command("gcc", args...).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return m.Run()
		}
	}
	built = dir
	return m.Run()
}

// target is a process started by a test.
type target struct {
	*exec.Cmd
	out *bufio.Reader
}

func (c *target) pid() int { return c.Process.Pid }

// start starts a program of testdata and waits until it says that it is stopped where it
// should. It is killed at the end of the test.
func start(t testing.TB, name string, args ...any) *target {
	t.Helper()
	if built == "" {
		t.Skip("the targets are not built: gcc is not installed")
	}
	var text []string
	for _, a := range args {
		text = append(text, fmt.Sprint(a))
	}
	return launch(t, exec.Command(filepath.Join(built, name), text...))
}

// launch starts cmd in a process group of its own. Ours may be orphaned, as in a session without a terminal's
// shell, and then the stop signals of a terminal have no effect.
func launch(t testing.TB, cmd *exec.Cmd) *target {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c := &target{cmd, bufio.NewReader(pipe)}
	if b, err := c.out.ReadByte(); err != nil || b != 'r' {
		if b == 'n' {
			t.Skip("the kernel does not let this situation be made")
		}
		t.Fatalf("target is not ready: byte %q, %v", b, err)
	}
	return c
}

func openTarget(t testing.TB, pid int) *Process {
	t.Helper()
	p, err := Open(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// takeSnapshot makes a Snapshot that must succeed, and checks that the target was let go.
func takeSnapshot(t testing.TB, p *Process, opt StopOptions) *snapshot.Snapshot {
	t.Helper()
	s, err := p.Snapshot(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	checkFree(t, p.pid)
	return s
}

// checkFree fails if a thread of process pid is traced or in a trace stop.
func checkFree(t testing.TB, pid int) {
	t.Helper()
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		st, err := procfile.Status(dir + "/status")
		if err == nil && st.TracerPid != 0 {
			t.Errorf("%s: TracerPid is %d after the stop", dir, st.TracerPid)
		}
	}
}

func stateOf(t testing.TB, tid int) byte {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		t.Fatal(err)
	}
	return st.State
}

// waitState waits until a thread is in a state.
func waitState(t testing.TB, tid int, want byte) {
	t.Helper()
	var got byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = stateOf(t, tid); got == want {
			return
		}
	}
	t.Fatalf("thread %d is in state %c, want %c", tid, got, want)
}

// threadOf finds a thread of a Snapshot.
func threadOf(t testing.TB, s *snapshot.Snapshot, tid int) *snapshot.Thread {
	t.Helper()
	for i := range s.Threads {
		if s.Threads[i].TID == tid {
			return &s.Threads[i]
		}
	}
	t.Fatalf("no thread %d in the snapshot", tid)
	return nil
}
