//go:build linux

package tracer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
)

func TestSnapshotOfSleeper(t *testing.T) {
	c := start(t, "target", "sleep")
	waitState(t, c.pid(), 'S')
	p := openTarget(t, c.pid())
	s := takeSnapshot(t, p, StopOptions{})
	if len(s.Threads) != 1 || s.Process.Comm != "target" || s.Process.PID != c.pid() {
		t.Fatalf("got %d threads of process %+v", len(s.Threads), s.Process)
	}
	th := s.Threads[0]
	if th.Registers == nil || th.State != 'S' || th.Comm != "target" || th.Syscall == nil {
		t.Fatalf("got %+v", th)
	}
	pc, _ := th.Registers.PC()
	sp, _ := th.Registers.SP()
	if pc != th.Syscall.PC || sp != th.Syscall.SP {
		t.Errorf("registers pc %#x sp %#x, /proc/TID/syscall says %#x %#x", pc, sp, th.Syscall.PC, th.Syscall.SP)
	}
	end := p.memory.Load().initial + arguments
	if m := s.Maps.Find(sp); th.StackErr != nil || m == nil || th.Stack.Start != sp-128 || end <= sp || end > m.End ||
		th.Stack.End() != end {
		t.Errorf("stack [%#x, %#x) %v, want [%#x, %#x)", th.Stack.Start, th.Stack.End(), th.StackErr, sp-128, end)
	}
	now := make([]byte, len(th.Stack.Data))
	if _, err := p.ReadMem(now, th.Stack.Start); err != nil || !bytes.Equal(now, th.Stack.Data) {
		t.Errorf("copied stack differs from the memory of the sleeper (%v)", err)
	}
	if th.Stopped <= 0 || s.Stopped < th.Stopped || s.Stopped > 10*time.Second {
		t.Errorf("stopped: thread %v, all %v", th.Stopped, s.Stopped)
	}
}

func TestManyThreads(t *testing.T) {
	c := start(t, "threads", 1000, 30)
	p := openTarget(t, c.pid())
	for _, opt := range []StopOptions{{}, {Rolling: true}, {Rolling: true, Batch: 1}} {
		s := takeSnapshot(t, p, opt)
		if len(s.Threads) != 1001 || s.Exited != 0 || s.Rolling != opt.Rolling {
			t.Fatalf("%+v: %d threads, %d exited, rolling %v, %v", opt, len(s.Threads), s.Exited, s.Rolling, s.Problems)
		}
		for _, th := range s.Threads {
			if th.Registers == nil || th.StackErr != nil || len(th.Stack.Data) < 128 {
				t.Fatalf("%+v: thread %d: %q, stack of %d bytes, %v", opt, th.TID, th.NotStopped, len(th.Stack.Data),
					th.StackErr)
			}
		}
	}
}

func TestOnlySomeThreads(t *testing.T) {
	c := start(t, "threads", 5, 1)
	p := openTarget(t, c.pid())
	all, err := p.ThreadIDs()
	if err != nil || len(all) != 6 {
		t.Fatalf("ThreadIDs: %v, %v", all, err)
	}
	s := takeSnapshot(t, p, StopOptions{TIDs: []int{all[2], all[4], 1 << 22, all[2]}})
	if len(s.Threads) != 2 || s.Threads[0].TID != all[2] || s.Threads[1].TID != all[4] || s.Exited != 1 {
		t.Errorf("got %d threads, %d exited", len(s.Threads), s.Exited)
	}
}

func TestDeepRecursionIsCopiedWhole(t *testing.T) {
	for _, mode := range []string{"deep", "deep-thread"} {
		t.Run(mode, func(t *testing.T) {
			c := start(t, "target", mode, 100000)
			s := takeSnapshot(t, openTarget(t, c.pid()), StopOptions{})
			th := &s.Threads[len(s.Threads)-1]
			if th.StackErr != nil || len(th.Stack.Data) < 100000*16 {
				t.Fatalf("copied %d bytes: %v", len(th.Stack.Data), th.StackErr)
			}
			fp, _ := th.Registers.FP()
			r, frames := s.Reader(th, nil), 0
			for ; frames <= 200000; frames++ { // the chain ends outside the copy
				next, err := mem.Uint(r, fp, th.Registers.Arch.WordSize, th.Registers.Arch.Order)
				if err != nil || mem.Addr(next) <= fp {
					break
				}
				fp = mem.Addr(next)
			}
			if frames < 100000 {
				t.Errorf("chain of frame pointers has %d frames in the copy, want 100000", frames)
			}
		})
	}
}

func TestStackLimitIsReported(t *testing.T) {
	c := start(t, "target", "deep", 100000)
	p, err := Open(c.pid(), Options{StackLimit: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	th := takeSnapshot(t, p, StopOptions{}).Threads[0]
	if len(th.Stack.Data) != 64<<10 || th.StackErr == nil {
		t.Errorf("copied %d bytes: %v", len(th.Stack.Data), th.StackErr)
	}
}

// TestPageThatNeverComes has a page in a stack that process_vm_readv would wait for in
// state D. With few threads it is met by /proc/PID/mem, with many by the copier.
func TestPageThatNeverComes(t *testing.T) {
	for _, others := range []int{0, 80} {
		t.Run(fmt.Sprint(others, " others"), func(t *testing.T) {
			c := start(t, "target", "fault", others)
			begun := time.Now()
			s := takeSnapshot(t, openTarget(t, c.pid()), StopOptions{})
			if took := time.Since(begun); took > 20*time.Second { // the page never comes
				t.Errorf("took %v", took)
			}
			cut := 0
			for _, th := range s.Threads {
				if th.Registers == nil || len(th.Stack.Data) == 0 {
					t.Errorf("thread %d: %q, no stack: %v", th.TID, th.NotStopped, th.StackErr)
				}
				if th.StackErr != nil {
					cut++
				}
			}
			if len(s.Threads) != others+2 || cut != 1 {
				t.Errorf("%d threads, %d stacks cut, want %d and 1; %v", len(s.Threads), cut, others+2, s.Problems)
			}
		})
	}
}

func Test32BitTarget(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "target32")
	if out, err := exec.Command("gcc", "-m32", "-idirafter", "/usr/include/x86_64-linux-gnu", "-pthread", "-o", bin,
		"testdata/target.c").CombinedOutput(); err != nil {
		t.Skipf("a 32-bit program is not built: %v: %.80s", err, out)
	}
	c := launch(t, exec.Command(bin, "sleep"))
	waitState(t, c.pid(), 'S')
	th := takeSnapshot(t, openTarget(t, c.pid()), StopOptions{}).Threads[0]
	if th.Registers == nil || th.Registers.Arch.Name != "386" || th.StackErr != nil {
		t.Fatalf("got %+v", th)
	}
	if pc, _ := th.Registers.PC(); th.Syscall == nil || pc != th.Syscall.PC {
		t.Errorf("pc %#x, /proc/TID/syscall says %+v", pc, th.Syscall)
	}
}

// TestGoTarget has goroutine stacks, which lie in an arena that goes on above them.
func TestGoTarget(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TRACER_TEST_HELPER=spin")
	c := launch(t, cmd)
	s := takeSnapshot(t, openTarget(t, c.pid()), StopOptions{})
	total := 0
	for _, th := range s.Threads {
		total += len(th.Stack.Data)
		if th.Registers == nil || len(th.Stack.Data) == 0 {
			t.Errorf("thread %d: %q, no stack: %v", th.TID, th.NotStopped, th.StackErr)
		}
	}
	if limit := len(s.Threads)*wholeWindow + 4<<20; total > limit {
		t.Errorf("copied %d bytes of the stacks of %d threads", total, len(s.Threads))
	}
}
