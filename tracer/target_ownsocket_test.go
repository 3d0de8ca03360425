//go:build linux

package tracer

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDialOwn: a socket of another process, a link to one, and a file that is none are refused; of a process that
// listens itself the connection is made.
func TestDialOwn(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "listener"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.Symlink("listener", filepath.Join(dir, "link")),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	p, err := Open(other.Process.Pid, Options{NoStop: true})
	if err != nil {
		t.Skipf("the process cannot be opened: %v", err)
	}
	defer p.Close()
	dial := func(p *Process, name string) error {
		c, err := p.DialOwn(t.Context(), dir, func(n string) bool { return n == name }, time.Now().Add(10*time.Second))
		if err == nil {
			c.Close()
		}
		return err
	}
	for name, want := range map[string]string{"listener": "listens at it", "link": "it is no socket",
		"file": "it is no socket"} {
		if err := dial(p, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := dial(p, "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a socket: %v", err)
	}
	own := &Process{pid: os.Getpid(), dir: p.dir}
	own.memory.Store(p.memory.Load())
	if err := dial(own, "listener"); err != nil {
		t.Errorf("its own socket: %v", err)
	}
	l.Close()
	if err := os.WriteFile(filepath.Join(dir, "listener"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dial(own, "listener"); err == nil {
		t.Error("a file in the place of the socket is taken for it")
	}
}
