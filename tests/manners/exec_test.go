//go:build linux

package manners

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// execBound is far more than any stop may take while the process executes itself. A stop
// that the exec waits for, and which waits for the exec, would never end; one that waits
// for a thread which forgot in the exec that it was to stop would take execPause.
const (
	execBound = 5 * time.Second
	execPause = 15 * time.Second
)

// TestExec inspects processes that execute themselves, by the main thread or by another,
// with many or few threads that must go first. In some stops threads are held on purpose
// while the exec wants them gone; in those with many threads an exec often begins while
// PTRACE_SEIZE is under way, and each waits for the other until the ended threads are
// reaped.
func TestExec(t *testing.T) {
	pause := viewer(func(*snapshot.Thread) { time.Sleep(time.Millisecond) })
	hold := tracer.StopOptions{Copiers: []snapshot.Copier{pause}}
	for _, row := range []struct {
		name          string
		who, interval string
		extra         string
		opt           tracer.StopOptions
	}{
		{"leader, sampled", "leader", "1000", "3", tracer.StopOptions{}},
		{"leader, in batches", "leader", "1000", "3", tracer.StopOptions{Rolling: true, Batch: 1}},
		{"leader, held", "leader", "500", "3", hold},
		{"leader, while many are seized", "leader", "300", "100", tracer.StopOptions{}},
		{"thread, sampled", "thread", "1000", "3", tracer.StopOptions{}},
		{"thread, in batches", "thread", "1000", "3", tracer.StopOptions{Rolling: true, Batch: 1}},
		{"thread, held", "thread", "500", "3", hold},
		{"thread, while many are seized", "thread", "300", "100", tracer.StopOptions{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := rounds(100, 1000)
			c := start(t, "execer", row.who, itoa(n), row.interval, row.extra)
			snapshotUntilDone(t, c, row.opt)
			checkFree(t, c.pid)
			unix.Kill(c.pid, unix.SIGTERM)
			c.cmd.Wait()
			if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != unix.SIGTERM {
				t.Errorf("ended by %v, want SIGTERM", c.cmd.ProcessState)
			}
		})
	}
}

// snapshotUntilDone takes snapshots over and over until the target says that it is done. The main thread
// is left alone in every other stop, so that another can begin an exec while some are stopped.
func snapshotUntilDone(t *testing.T, c *target, opt tracer.StopOptions) {
	t.Helper()
	p := open(t, c.pid)
	good, bad, longest := 0, 0, time.Duration(0)
	limit := time.After(4 * patience)
	for i := 0; ; i++ {
		opt.TIDs, opt.MaxPause = nil, execPause
		if tids := threadIDs(c.pid); i%2 == 1 && len(tids) > 1 {
			opt.TIDs = tids[1:]
		}
		begun := time.Now()
		_, err := p.Snapshot(t.Context(), opt)
		took := time.Since(begun)
		longest = max(longest, took)
		switch {
		case err == nil:
			good++
		case errors.Is(err, tracer.ErrExec) || errors.Is(err, tracer.ErrNoProcess) && opt.TIDs != nil:
			bad++
		default:
			t.Fatalf("snapshot %d: %v", i, err)
		}
		if took > execBound {
			t.Fatalf("snapshot %d took %v: %v", i, took, err)
		}
		select {
		case line := <-c.lines:
			if line != "D" {
				t.Fatalf("target said %q", line)
			}
			t.Logf("%d snapshots, %d of them lost to an exec; the longest took %v", good+bad, bad,
				longest.Round(time.Millisecond))
			return
		case <-limit:
			t.Fatalf("target does not come to its end: %s", threadStates(c.pid))
		default:
		}
	}
}

// TestExecSetuid has an unprivileged fpstack inspect a process of the same user that then
// executes a setuid program: a tracer that stayed attached would cost it its privileges.
func TestExecSetuid(t *testing.T) {
	rootOnly(t, "a setuid program of root is needed")
	dir := openRoom(t)
	plain, set := filepath.Join(dir, "euid"), filepath.Join(dir, "euid-root")
	for path, mode := range map[string]os.FileMode{plain: 0o755, set: 0o755 | os.ModeSetuid} {
		copyFile(t, program(t, "euid"), path, mode)
	}
	command := filepath.Join(dir, "fpstack")
	copyFile(t, fpstack, command, 0o755)
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	for range 10 {
		cmd := exec.Command(plain, set)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		c := launch(t, cmd)
		c.pid = cmd.Process.Pid
		c.awaitReady(t)
		takeSnapshot := exec.Command(command, "-p", itoa(c.pid))
		takeSnapshot.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		out, err := takeSnapshot.CombinedOutput()
		if err != nil {
			t.Fatalf("fpstack as nobody: %v\n%s", err, out)
		}
		io.WriteString(in, "x")
		if got := c.next(t, patience); got != "euid 0" {
			t.Fatalf("setuid program of root says %q, want euid 0", got)
		}
	}
}

// openRoom makes a directory that others may enter, on a file system that heeds the setuid
// bit.
func openRoom(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Flags&unix.ST_NOSUID != 0 {
		t.Skipf("%s is mounted nosuid", dir)
	}
	return dir
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err == nil {
		err = os.Chmod(to, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}
