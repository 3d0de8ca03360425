//go:build linux

package tracer

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/tracer/ptrace"

	"golang.org/x/sys/unix"
)

func TestJobControlStopStays(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			c := start(t, "threads", 3, 1)
			p := openTarget(t, c.pid())
			unix.Kill(c.pid(), sig)
			ids, _ := p.ThreadIDs()
			for _, tid := range ids {
				waitState(t, tid, 'T')
			}
			for _, opt := range []StopOptions{{}, {Rolling: true, Batch: 2}} {
				s := takeSnapshot(t, p, opt)
				for _, th := range s.Threads {
					if th.Registers == nil || th.State != 'T' {
						t.Errorf("thread %d: state %c, %q", th.TID, th.State, th.NotStopped)
					}
					waitState(t, th.TID, 'T')
				}
			}
			unix.Kill(c.pid(), unix.SIGCONT)
			waitState(t, c.pid(), 'S')
		})
	}
}

// TestStopSignalAtDelivery sends SIGSTOP while the process is inspected: it must stop.
func TestStopSignalAtDelivery(t *testing.T) {
	c := start(t, "threads", 3, 1, 1)
	p := openTarget(t, c.pid())
	for range 40 {
		go unix.Kill(c.pid(), unix.SIGSTOP)
		for range 3 {
			takeSnapshot(t, p, StopOptions{})
		}
		waitState(t, c.pid(), 'T')
		unix.Kill(c.pid(), unix.SIGCONT)
		waitState(t, c.pid(), 'S')
	}
}

// TestNoSignalIsLost counts real-time signals, of which each sent is delivered once.
func TestNoSignalIsLost(t *testing.T) {
	c := start(t, "target", "count")
	p := openTarget(t, c.pid())
	const sent = 2000
	var done = make(chan bool)
	go func() {
		defer close(done)
		for i := range sent {
			for !queue(c.pid(), 36) { // SIGRTMIN+2 of glibc; the queue may be full
				time.Sleep(time.Millisecond)
			}
			if i%8 == 0 {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}()
	rounds := 0
	for sending := true; sending; rounds++ {
		takeSnapshot(t, p, StopOptions{Rolling: rounds%2 == 1})
		select {
		case <-done:
			sending = false
		default:
		}
	}
	got := ""
	for range 100 { // the last ones may still be queued
		unix.Kill(c.pid(), unix.SIGUSR1)
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if got = strings.TrimSpace(line); got == strconv.Itoa(sent) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("target got %s signals of %d in %d stops", got, sent, rounds)
}

// queue sends a signal that is queued even if one is pending. It is false if no more can be queued.
func queue(pid int, sig unix.Signal) bool {
	var info ptrace.Siginfo
	info[0], info[2] = int32(sig), -1              // si_signo; si_code: SI_QUEUE
	info[3+ptrace.WordSize/8] = int32(os.Getpid()) // si_pid
	_, _, e := unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(&info)))
	return e != unix.EAGAIN
}

func TestThreadsThatComeAndGo(t *testing.T) {
	c := start(t, "target", "churn")
	p := openTarget(t, c.pid())
	for i := range 60 {
		s := takeSnapshot(t, p, StopOptions{Rolling: i%2 == 1})
		if th := threadOf(t, s, c.pid()); th.Registers == nil {
			t.Fatalf("leader: %q", th.NotStopped)
		}
	}
	eventually(t, "the list has no more than the 9 that live at most, and some on their way out", func() bool {
		ids, err := p.ThreadIDs()
		return err == nil && len(ids) <= 12
	})
}

func TestExecMeanwhile(t *testing.T) {
	for _, mode := range []string{"exec-leader", "exec-thread"} {
		t.Run(mode, func(t *testing.T) {
			c := start(t, "target", mode)
			p := openTarget(t, c.pid())
			good := 0
			limit := time.Now().Add(patience) // how many an exec takes away depends on who has the CPUs
			for i := 0; i < 60 || good < 20 && time.Now().Before(limit); i++ {
				begun := time.Now()
				s, err := p.Snapshot(context.Background(), StopOptions{Rolling: i%2 == 1})
				if err == nil && len(s.Threads) > 0 {
					good++
				} else if !errors.Is(err, ErrExec) {
					t.Fatalf("got %v", err)
				}
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			}
			if good < 20 {
				t.Errorf("%d snapshots could be made, want 20", good)
			}
			if err := unix.Kill(c.pid(), 0); err != nil {
				t.Errorf("target: %v", err)
			}
		})
	}
}

// TestVforkParent has a leader that waits in state D for a child that sleeps.
func TestVforkParent(t *testing.T) {
	const longest = 2 * time.Second // others are let go long before
	c := start(t, "target", "vfork", 600)
	waitState(t, c.pid(), 'D')
	p := openTarget(t, c.pid())
	begun := time.Now()
	s := takeSnapshot(t, p, StopOptions{MaxPause: longest})
	if took := time.Since(begun); took > 10*longest {
		t.Errorf("took %v", took)
	}
	th := threadOf(t, s, c.pid())
	if th.Registers != nil || th.NotStopped == "" || th.State != 'D' || th.Wchan == "" || th.Syscall == nil {
		t.Errorf("leader: %+v", th)
	}
	if len(th.Stack.Data) == 0 || th.Stack.Start > th.Syscall.SP {
		t.Errorf("leader: %d bytes of stack at %#x: %v", len(th.Stack.Data), th.Stack.Start, th.StackErr)
	}
	for _, other := range s.Threads {
		if other.TID != c.pid() && (other.Registers == nil || other.Stopped > longest/2) {
			t.Errorf("other thread was stopped %v: %q", other.Stopped, other.NotStopped)
		}
	}
	endVfork(t, c)
	if b, err := c.out.ReadByte(); b != 'r' || err != nil {
		t.Errorf("target did not go on: %q, %v", b, err)
	}
}

// endVfork ends the child that the leader of the target waits for.
func endVfork(t *testing.T, c *target) {
	t.Helper()
	children, err := ChildrenOf(c.pid())
	if err != nil || len(children) != 1 {
		t.Fatalf("children %v, %v, want one", children, err)
	}
	unix.Kill(children[0], unix.SIGKILL)
}

func TestCancel(t *testing.T) {
	c := start(t, "target", "vfork", 600)
	waitState(t, c.pid(), 'D')
	p := openTarget(t, c.pid())
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := p.Snapshot(ctx, StopOptions{MaxPause: 100 * time.Second})
	if took := time.Since(begun); took > 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v after %v", err, took)
	}
	checkFree(t, c.pid())
	endVfork(t, c)
	if _, err := p.Snapshot(ctx, StopOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled before: got %v", err)
	}
}

func TestLeaderHasEnded(t *testing.T) {
	c := start(t, "target", "leaderless")
	waitState(t, c.pid(), 'Z')
	p := openTarget(t, c.pid())
	s := takeSnapshot(t, p, StopOptions{})
	if len(s.Threads) != 2 || len(s.Maps.All()) == 0 {
		t.Fatalf("%d threads, %d mappings", len(s.Threads), len(s.Maps.All()))
	}
	leader, other := s.Threads[0], s.Threads[1]
	if leader.State != 'Z' || leader.Registers != nil || leader.NotStopped == "" {
		t.Errorf("leader: %+v", leader)
	}
	if other.Registers == nil || other.StackErr != nil || len(other.Stack.Data) == 0 {
		t.Errorf("other: %q %v", other.NotStopped, other.StackErr)
	}
}

// TestOwnChildIsNotReaped lets targets end while they are inspected; their end belongs to
// who started them.
func TestOwnChildIsNotReaped(t *testing.T) {
	for i := range 20 {
		c := start(t, "target", "exit", 100*i)
		p, err := Open(c.pid(), Options{})
		for err == nil {
			_, err = p.Snapshot(context.Background(), StopOptions{})
		}
		var zombie *ZombieError
		if !errors.Is(err, ErrNoProcess) && !errors.As(err, &zombie) && !errors.Is(err, ErrExec) {
			t.Errorf("got %v", err)
		}
		c.Wait()
		if code := c.ProcessState.ExitCode(); code != 7 {
			t.Errorf("exit status %d, want 7", code)
		}
		if p != nil {
			p.Close()
		}
	}
}

func TestKilledMeanwhile(t *testing.T) {
	for i := range 20 {
		c := start(t, "threads", 40, 3, 1)
		p := openTarget(t, c.pid())
		time.AfterFunc(time.Duration(i)*100*time.Microsecond, func() { c.Process.Kill() })
		begun := time.Now()
		var err error
		for err == nil {
			_, err = p.Snapshot(context.Background(), StopOptions{Rolling: i%2 == 0})
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("took %v until %v", took, err)
		}
		c.Wait()
	}
}

// TestNoLeak makes many stops and counts descriptors and threads of this program.
func TestNoLeak(t *testing.T) {
	c := start(t, "threads", 4, 1)
	count := func() int {
		fds, _ := os.ReadDir("/proc/self/fd")
		return len(fds)
	}
	before := 0
	for i := range 30 {
		p, err := Open(c.pid(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		takeSnapshot(t, p, StopOptions{})
		p.Close()
		if i == 0 {
			before = count()
		}
	}
	if after := count(); after > before { // what earlier tests left to the collector may have gone
		t.Errorf("%d descriptors after the first stop, %d after 30", before, after)
	}
}
