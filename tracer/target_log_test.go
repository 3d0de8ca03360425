//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"golang.org/x/sys/unix"
)

// liveOf is the live side of a process as its runtimes get it.
func liveOf(t *testing.T, c *target) *module.Live {
	t.Helper()
	live, err := openTarget(t, c.pid()).Image().Live()
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// readLog reads what is there.
func readLog(t *testing.T, l module.Log) string {
	t.Helper()
	defer l.Close()
	st, err := l.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, st.Size)
	if n, err := l.ReadAt(b, 0); n != len(b) {
		t.Fatalf("read %d of %d bytes: %v", n, len(b), err)
	}
	return string(b)
}

// logFolder is a folder that others can reach too: those of t.TempDir are closed.
func logFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fpstack-log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLogRefuses: what a hostile process, or another user, may put where a profiler looks is not read, and pipes and
// devices are not even opened.
func TestLogRefuses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of others")
	}
	const other = 12345
	live := liveOf(t, start(t, "target", "sleep"))
	dir := logFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	secret := at("secret")
	writer := make(chan error, 1)
	for _, row := range []struct {
		name string
		make func(path string) error
		want string // in the reason, "" for none
	}{
		{"plain", func(p string) error { return os.WriteFile(p, []byte("in"), 0o600) }, ""},
		{"symlink", func(p string) error { return os.Symlink(secret, p) }, "symbolic link"},
		{"folder-link/file", func(p string) error {
			return errors.Join(os.Mkdir(at("real"), 0o755), os.WriteFile(at("real/file"), []byte("x"), 0o644),
				os.Symlink(at("real"), at("folder-link")))
		}, "symbolic link"},
		{"hard-link", func(p string) error { return os.Link(secret, p) }, "several names"},
		{"pipe", func(p string) error {
			if err := unix.Mkfifo(p, 0o666); err != nil {
				return err
			}
			go func() { // it goes on only if somebody opens the other end
				f, err := os.OpenFile(p, os.O_WRONLY, 0)
				f.Close()
				writer <- err
			}()
			return nil
		}, "no regular file"},
		{"device", func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) },
			"no regular file"},
		{"socket", func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o666, 0) }, "no regular file"},
		{"folder", func(p string) error { return os.Mkdir(p, 0o755) }, "no regular file"},
		{"foreign", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("x"), 0o644), os.Chown(p, other, other))
		}, "belongs to user 12345"},
		{"missing", func(string) error { return nil }, unix.ENOENT.Error()},
	} {
		if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := row.make(at(row.name)); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		l, err := live.Log(dir + "/" + row.name)
		if err == nil {
			if got := readLog(t, l); got != "in" {
				t.Errorf("%s: read %q", row.name, got)
			}
		}
		if (row.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
		if err := os.Remove(secret); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-writer:
		t.Errorf("the pipe was opened: its writer goes on with %v", err)
	case <-time.After(100 * time.Millisecond):
		fd, err := unix.Open(at("pipe"), unix.O_RDONLY|unix.O_NONBLOCK, 0) // lets the writer end
		if err == nil {
			<-writer
			unix.Close(fd)
		}
	}
}

// TestLogOwner: the user that a process runs as is whom its files belong to, or root; not whoever it was before.
func TestLogOwner(t *testing.T) {
	if os.Getuid() != 0 || built == "" {
		t.Skip("only root can start a process of another user")
	}
	dir := logFolder(t)
	program := filepath.Join(dir, "target")
	content, err := os.ReadFile(filepath.Join(built, "target"))
	if err == nil {
		err = os.WriteFile(program, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "sleep")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	live := liveOf(t, launch(t, cmd))
	for uid, want := range map[int]string{0: "", 12345: "", 12346: "belongs to user 12346"} {
		path := filepath.Join(dir, fmt.Sprint("of-", uid))
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
		l, err := live.Log(path)
		if err == nil {
			l.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("file of user %d: got %v, want %q", uid, err, want)
		}
	}
}

// TestLogStaysBelowRoot: a path is one in the root of the process, and no link there leads to ours.
func TestLogStaysBelowRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change the root of a process")
	}
	root := logFolder(t)
	if err := errors.Join(os.Mkdir(filepath.Join(root, "tmp"), 0o777), os.Mkdir(filepath.Join(root, "proc"), 0o755),
		os.Symlink("/etc/hostname", filepath.Join(root, "tmp/link")),
		os.WriteFile(filepath.Join(root, "tmp/perf-1.map"), []byte("inside"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TRACER_TEST_HELPER=rooted", "TRACER_TEST_ROOT=" + root}
	live := liveOf(t, launch(t, cmd))
	l, err := live.Log("/tmp/perf-1.map")
	if err != nil {
		t.Fatal(err)
	}
	if got := readLog(t, l); got != "inside" {
		t.Errorf("read %q", got)
	}
	for _, path := range []string{"/tmp/link", "/../etc/hostname", "/etc/hostname"} {
		if l, err := live.Log(path); err == nil {
			t.Errorf("%s leads out: %q", path, readLog(t, l))
		}
	}
}

// TestLogOfServedFileSystem: a file system that a process answers for is not asked, also where nobody answers: who asks
// waits for ever.
func TestLogOfServedFileSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	dir := logFolder(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TRACER_TEST_HELPER=served", "TRACER_TEST_ROOT=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	live := liveOf(t, launch(t, cmd))
	done := make(chan error, 1)
	go func() {
		_, err := live.Log(dir + "/perf-1.map")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "file system of type fuse") {
			t.Errorf("got %v, want that its file system is not asked", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for who answers for the file system")
	}
}

// TestLive: number and clock of a process are its own.
func TestLive(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make namespaces")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TRACER_TEST_HELPER=rooted", "TRACER_TEST_ROOT=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	begun := time.Now()
	live := liveOf(t, launch(t, cmd))
	if live.PID != 1 {
		t.Errorf("it has number %d for itself, want 1", live.PID)
	}
	now, err := clock(unix.CLOCK_MONOTONIC)
	if err != nil {
		t.Fatal(err)
	}
	const tick = 20 * time.Millisecond
	if d := live.Began.Sub(begun); d < -tick || d > time.Since(begun)+tick {
		t.Errorf("it began %v after its start", d)
	}
	if ago := live.Monotonic(begun) - live.Start; ago > tick || now-live.Start > time.Since(begun)+tick {
		t.Errorf("its start was at %v, it is %v, and it was started at %v", live.Start, now, live.Monotonic(begun))
	}
}

// TestLogAfterEnd: what was opened can be read when the process has ended and is closed; nothing more can be opened.
func TestLogAfterEnd(t *testing.T) {
	c := start(t, "target", "sleep")
	p := openTarget(t, c.pid())
	live, err := p.Image().Live()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := live.Log(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Process.Kill()
	c.Wait()
	p.Close()
	if _, err := live.Log(path); err == nil {
		t.Error("a file was opened in the view of a process that has ended")
	}
	if err := os.WriteFile(path, []byte("last words"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readLog(t, l); got != "last words" {
		t.Errorf("read %q", got)
	}
}
