//go:build linux

package tracer

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer/osthread"

	"golang.org/x/sys/unix"
)

func TestOpenRefuses(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		pid  int
		want error
	}{
		{"ourselves", os.Getpid(), ErrSelf},
		{"dead process", dead.Process.Pid, ErrNoProcess},
		{"no process id", 0, ErrNoProcess},
		{"process group", -1, ErrNoProcess},
	} {
		if _, err := Open(row.pid, Options{}); !errors.Is(err, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, err, row.want)
		}
	}
}

func TestOpenRefusesOurThread(t *testing.T) {
	th := osthread.Start()
	defer th.End()
	if _, err := Open(th.TID, Options{}); !errors.Is(err, ErrSelf) {
		t.Errorf("got %v, want %v", err, ErrSelf)
	}
}

func TestOpenKernelThread(t *testing.T) {
	var kernel *KernelThreadError
	_, err := Open(2, Options{})
	if errors.Is(err, ErrNoProcess) {
		t.Skip("no kernel threads in this pid name space")
	}
	if !errors.As(err, &kernel) || kernel.Comm != "kthreadd" {
		t.Errorf("got %v, want a kernel thread", err)
	}
}

func TestOpenZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	waitState(t, cmd.Process.Pid, 'Z')
	var zombie *ZombieError
	if _, err := Open(cmd.Process.Pid, Options{}); !errors.As(err, &zombie) || zombie.Parent != os.Getpid() {
		t.Errorf("got %v, want a zombie of %d", err, os.Getpid())
	}
}

func TestOtherTracerIsNamed(t *testing.T) {
	c := start(t, "target", "sleep")
	p := openTarget(t, c.pid())
	holder := start(t, "target", "hold", c.pid())
	var traced *TracedError
	if _, err := Open(c.pid(), Options{}); !errors.As(err, &traced) || traced.Tracer != holder.pid() ||
		traced.Name != "target" {
		t.Errorf("open: got %v, want tracer %d", err, holder.pid())
	}
	if _, err := p.Snapshot(t.Context(), StopOptions{}); !errors.As(err, &traced) {
		t.Errorf("snapshot: got %v, want tracer %d", err, holder.pid())
	}
}

// TestNotPermitted inspects a process of root as another user, in a child of this test.
func TestNotPermitted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	if os.Getenv("TRACER_TEST_AS") != "" {
		t.Skip("is the child itself")
	}
	c := start(t, "target", "sleep")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TRACER_TEST_HELPER=refused", "TRACER_TEST_PID="+itoa(c.pid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"permission denied", "process " + itoa(c.pid()) + ", \"target\""} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %q, want %q in it", out, want)
		}
	}
}

func TestThreadIsNeverTheMainOne(t *testing.T) {
	for range 50 {
		th := osthread.Start()
		if th.TID == os.Getpid() {
			t.Fatal("tracer thread is the main thread")
		}
		tid := th.TID
		th.End()
		if err := unix.Tgkill(os.Getpid(), tid, 0); err == nil {
			t.Errorf("thread %d lives after end", tid)
		}
	}
}

func TestCopierGivesUp(t *testing.T) {
	c := startCopier()
	defer c.close()
	release := make(chan bool)
	defer close(release)
	if err := c.do(func() { <-release }, 5*time.Millisecond); err != errNotInTime {
		t.Error("work that does not end counts as done")
	}
	if err := c.do(func() {}, time.Second); err != errNotInTime {
		t.Error("a copier that was given up does work")
	}
}
