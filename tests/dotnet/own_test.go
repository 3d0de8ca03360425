//go:build linux

package dotnet

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// folders are the runtimes that come as a library, which a host of our own can start: with -full that of 9.0.1 too,
// which scripts/build-dotnet --all gets.
func folders() []string {
	switch {
	case runtime.GOARCH == "arm64": // there is no other
		return []string{"10.0.12"}
	case *full:
		return []string{"9.0.1", "9.0.5", "10.0.12"}
	}
	return []string{"9.0.5", "10.0.12"}
}

// library is the one of folders that is enough where one is.
var library = folders()[0]

// patience is how long something may take that takes no time.
const patience = 20 * time.Second

// startShapes starts shapes of testdata/dotnet/shapes.cs in the runtime of a version, and waits until all of them are
// where they stay.
func startShapes(t testing.TB, version string, shapes ...string) *server {
	t.Helper()
	return startShapesIn(t, filepath.Join(fetched, version), shapes...)
}

// startShapesIn is startShapes with the runtime of that folder.
func startShapesIn(t testing.TB, folder string, shapes ...string) *server {
	t.Helper()
	return startHost(t, folder, own, []string{"DOTNET_TieredCompilation=0"},
		append([]string{"shapes.dll"}, shapes...)...)
}

// startHost runs an assembly of that folder, with arguments and an environment, in a runtime that comes as a library,
// and waits until it says that it is ready.
func startHost(t testing.TB, runtime, folder string, environment []string, assembly ...string) *server {
	t.Helper()
	host, err := filepath.Abs(filepath.Join(own, "host"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime, err = filepath.Abs(runtime); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{host, runtime, filepath.Join(folder, assembly[0])} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%v: scripts/build-dotnet makes it", err)
		}
	}
	cmd := exec.Command(host, append([]string{runtime}, assembly...)...)
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1"), environment...)
	return startReady(t, cmd)
}

// startReady runs a command, and waits until it says that it is ready.
func startReady(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	s := startWaiting(t, cmd)
	if line, err := s.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%v says %q: %v", cmd.Args, line, err)
	}
	s.open(t, cmd)
	return s
}

// TestDeadlock: of two threads that wait for each other's monitor each lock is listed with its waiter and its owner.
// A thread that waits for a task waits for no monitor.
func TestDeadlock(t *testing.T) {
	for _, version := range folders() {
		t.Run(version, func(t *testing.T) {
			s := startShapes(t, version, "deadlock", "task")
			var locks []waits.Lock
			for end := time.Now().Add(patience); len(locks) < 2 && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // they are about to take the second lock
				locks = s.locks(s.Stop(t))
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

// TestOwnedLocks: a System.Threading.Lock and the writer of a ReaderWriterLockSlim are known to their waiters; of
// readers it is said that the lock does not keep them.
func TestOwnedLocks(t *testing.T) {
	for _, version := range folders() {
		for shape, of := range map[string]string{"lock": "Lock", "writer": "ReaderWriterLockSlim",
			"upgrader": "ReaderWriterLockSlim", "reader": "ReaderWriterLockSlim"} {
			t.Run(version+"/"+shape, func(t *testing.T) {
				s := startShapes(t, version, shape)
				var locks []waits.Lock
				names := map[int]string{}
				for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
					shot := s.Stop(t)
					for i := range shot.Threads {
						names[shot.Threads[i].TID] = shot.Threads[i].Comm
					}
					if locks = s.locks(shot); len(locks) > 0 && len(locks[0].Waiters) == 2 {
						break
					}
				}
				if len(locks) != 1 || len(locks[0].Waiters) != 2 || !strings.HasPrefix(locks[0].Name, "the "+of+" 0x") {
					t.Fatalf("locks %+v, want one with two waiters", locks)
				}
				l := locks[0]
				if shape == "reader" {
					if l.Owner != 0 || l.Note != "held by readers (1), and it does not record which" {
						t.Errorf("owner %d, note %q", l.Owner, l.Note)
					}
				} else if names[l.Owner] != "holder" || l.Evidence == "" || l.Note != "" {
					t.Errorf("owner %d %q, %q, note %q", l.Owner, names[l.Owner], l.Evidence, l.Note)
				}
			})
		}
	}
}

// locks are what threads of a snapshot wait for, as their stacks prove. Where native frames are on these is not there,
// as in a dump: stacks that are equal but for that are kept once.
func (s *server) locks(shot *snapshot.Snapshot) []waits.Lock {
	stacks := map[int]*unwind.Stack{}
	for i := range shot.Threads {
		stack := s.Walk(shot, i)
		for k := range stack.Frames {
			if f := &stack.Frames[k]; f.Runtime == nil {
				f.SP, f.CFA = 0, 0
			}
		}
		stacks[shot.Threads[i].TID] = &stack
	}
	return s.Runtimes.Locks(shot, func(tid int) *unwind.Stack { return stacks[tid] })
}

// TestJoin: of a thread that waits for the end of another that one is known, where Thread.Join is not inlined.
func TestJoin(t *testing.T) {
	s := startOwn(t, own, "join", "task", "generic")
	var joins []waits.Lock
	names := map[int]string{}
	for end := time.Now().Add(patience); len(joins) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // it is about to wait
		shot := s.Stop(t)
		for i := range shot.Threads {
			names[shot.Threads[i].TID] = shot.Threads[i].Comm
		}
		joins = s.locks(shot)
	}
	if len(joins) != 1 || len(joins[0].Waiters) != 1 || !joins[0].Ends {
		t.Fatalf("joins %+v, want one", joins)
	}
	if waiter, of := names[joins[0].Waiters[0]], names[joins[0].Owner]; waiter != "join" || of != "joined" {
		t.Errorf("thread %q waits for the end of %q", waiter, of)
	}
}
