//go:build linux && amd64

package dotnet

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// folders are the runtimes that come as a library, which a host of our own can start.
var folders = []string{"9.0.1", "9.0.5"}

// patience is how long something may take that takes no time.
const patience = 20 * time.Second

// startShapes starts shapes of testdata/dotnet/shapes.cs in the runtime of a folder, and waits until all of them are
// where they stay.
func startShapes(t testing.TB, version string, shapes ...string) *server {
	t.Helper()
	return startShapesIn(t, filepath.Join(fetched, version), shapes...)
}

// startShapesIn is startShapes with the runtime of that folder.
func startShapesIn(t testing.TB, folder string, shapes ...string) *server {
	t.Helper()
	host, assembly := filepath.Join(fetched, "own", "host"), filepath.Join(fetched, "own", "shapes.dll")
	for _, path := range []string{host, assembly, folder} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%v: scripts/build-dotnet makes it", err)
		}
	}
	cmd := exec.Command(host, append([]string{folder, assembly}, shapes...)...)
	cmd.Env = append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", "DOTNET_TieredCompilation=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s := &server{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startLasting(cmd); err != nil {
		t.Fatal(err)
	}
	s.in, s.end = in, func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(func() { s.end() })
	s.out = bufio.NewReader(out)
	if line, err := s.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("shapes %v said %q: %v", shapes, line, err)
	}
	if s.Process, err = tracer.Open(cmd.Process.Pid, tracer.Options{}); err != nil {
		t.Skipf("the program cannot be looked into: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	s.look(t)
	return s
}

// TestDeadlock: of two threads that wait for each other's monitor each lock is listed with its waiter and its owner.
// A thread that waits for a task waits for no monitor.
func TestDeadlock(t *testing.T) {
	for _, version := range folders {
		t.Run(version, func(t *testing.T) {
			s := startShapes(t, version, "deadlock", "task")
			var locks []waits.Lock
			for end := time.Now().Add(patience); len(locks) < 2 && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // they are about to take the second lock
				locks = s.runtimes.Locks(s.stop(t))
			}
			if len(locks) != 2 {
				t.Fatalf("%d locks: %+v", len(locks), locks)
			}
			for i, l := range locks {
				other := locks[1-i]
				if len(l.Waiters) != 1 || l.Owner == 0 || l.Owner != other.Waiters[0] || l.Owner == l.Waiters[0] {
					t.Errorf("%q: waiters %v, owner %d; the other one's waiters %v", l.Name, l.Waiters, l.Owner,
						other.Waiters)
				}
				if !strings.HasPrefix(l.Name, "the monitor of object 0x") || l.Evidence == "" || !l.Instant {
					t.Errorf("lock %q, %q, of the stop: %t", l.Name, l.Evidence, l.Instant)
				}
			}
		})
	}
}

// TestJoin: of a thread that waits for the end of another that one is known, where Thread.Join is not inlined.
func TestJoin(t *testing.T) {
	s := startOwn(t, own, "join", "task", "generic")
	var joins []waits.Lock
	names := map[int]string{}
	for end := time.Now().Add(patience); len(joins) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // it is about to wait
		shot := s.stop(t)
		walked := map[int]*unwind.Stack{}
		for i := range shot.Threads {
			th := &shot.Threads[i]
			stack := s.walker.Walk(th, shot.Reader(th, s.Process), unwind.Options{})
			walked[th.TID], names[th.TID] = &stack, th.Comm
		}
		joins = s.runtimes.Joins(shot, func(tid int) *unwind.Stack { return walked[tid] })
	}
	if len(joins) != 1 || len(joins[0].Waiters) != 1 || !joins[0].Ends {
		t.Fatalf("joins %+v, want one", joins)
	}
	if waiter, of := names[joins[0].Waiters[0]], names[joins[0].Owner]; waiter != "join" || of != "joined" {
		t.Errorf("thread %q waits for the end of %q", waiter, of)
	}
}
