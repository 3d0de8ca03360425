//go:build linux

package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestManyThreads(t *testing.T) {
	p := runTarget(t, "threads", "2000", "10")
	d := dumpJSON(t, p.pid)
	if len(d.Threads) != 2001 {
		t.Errorf("%d threads, want 2001", len(d.Threads))
	}
	for i := range d.Threads {
		th := &d.Threads[i]
		if n := len(th.Stack.Frames); !th.Stack.Complete || th.TID != p.pid && n != 15 {
			t.Errorf("thread %d: %d frames, complete %v; want 15, true", th.TID, n, th.Stack.Complete)
		}
	}
	if out := text(t, "-p", strconv.Itoa(p.pid)); !strings.Contains(out, "\n2000 threads ") {
		t.Errorf("2000 threads are not one entry:\n%.1000s", out)
	}
	checkFree(t, p.pid)
}

// checkFree fails if a thread of process pid is still held after a dump.
func checkFree(t *testing.T, pid int) {
	t.Helper()
	for _, tid := range threadsOf(pid) {
		if tracer := tracerOf(strconv.Itoa(tid)); tracer != "0" && tracer != "" || stateOf(tid) == 't' {
			t.Errorf("thread %d: tracer %s, state %c", tid, tracer, stateOf(tid))
		}
	}
}

// TestThreadsComeAndGo: threads that are born and die meanwhile are no fault, and the program loses nothing. One that
// has only just begun has a whole stack: nobody has called it.
func TestThreadsComeAndGo(t *testing.T) {
	p := launch(t, exec.Command(program(t, "churn"), "4")).ready(t)
	for round := range 50 {
		d, o := tryJSON(t, p.pid)
		if d == nil || o.status != 0 {
			t.Fatalf("round %d: status %d\n%s", round, o.status, o.stderr)
		}
		d.thread(t, p.pid)
		for i := range d.Threads {
			if th := &d.Threads[i]; len(th.Stack.Frames) == 0 && th.NotStopped == "" {
				t.Errorf("round %d: thread %d has no frames, and nothing says why", round, th.TID)
			} else if len(th.Stack.Frames) == 1 && strings.HasPrefix(th.Stack.Frames[0].Function, "clone") &&
				!th.Stack.Complete {
				t.Errorf("round %d: the stack of thread %d, which begins, is cut: %+v", round, th.TID, th.Stack)
			}
		}
	}
	checkFree(t, p.pid)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if line := p.line(t); !strings.HasPrefix(line, "churned ") {
		t.Errorf("the program said %q at its end", line)
	}
}

// TestEndsMeanwhile kills the target at any moment of a dump.
func TestEndsMeanwhile(t *testing.T) {
	for range 40 {
		p := launch(t, exec.Command(program(t, "threads"), "50", "20")).ready(t)
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(15*time.Millisecond))), func() { p.cmd.Process.Kill() })
		o := show(t, "-p", strconv.Itoa(p.pid))
		timer.Stop()
		checkTold(t, o)
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

// checkTold checks that a run which may have failed in any way says so in the form that it
// owes: each line of standard error is a complaint or its remedy.
func checkTold(t *testing.T, o outcome) {
	t.Helper()
	if o.status > 2 || (o.status == 0) != (o.stderr == "") || (o.status == 2) != (o.stdout == "") {
		t.Errorf("status %d, output of %d bytes, standard error %q", o.status, len(o.stdout), o.stderr)
	}
	for line := range strings.Lines(o.stderr) {
		if !strings.HasPrefix(line, "fpstack: ") && !strings.HasPrefix(line, "  ") {
			t.Errorf("line of standard error: %q", line)
		}
	}
}

// TestExecMeanwhile: the target becomes another program all the time.
func TestExecMeanwhile(t *testing.T) {
	for _, who := range []string{"leader", "thread"} {
		t.Run(who, func(t *testing.T) {
			const rounds = 300
			p := launch(t, exec.Command(program(t, "execer"), who, strconv.Itoa(rounds), "2000", "4")).ready(t)
			shown, runs := 0, 0
			for ; runs < 40; runs++ {
				o := show(t, "-p", strconv.Itoa(p.pid))
				checkTold(t, o)
				if o.status < 2 {
					shown++
				}
			}
			if shown == 0 {
				t.Errorf("none of %d dumps showed anything", runs)
			}
			if line := p.line(t); line != "D" {
				t.Errorf("after its last exec the program wrote %q, want D", line)
			}
			checkFree(t, p.pid)
			t.Logf("%d of %d dumps showed something", shown, runs)
		})
	}
}

// TestStoppedProcess: what job control stopped is shown, and stays stopped.
func TestStoppedProcess(t *testing.T) {
	p := runTarget(t, "threads", "3", "10")
	stopped := func() bool {
		return !slices.ContainsFunc(threadsOf(p.pid), func(tid int) bool { return stateOf(tid) != 'T' })
	}
	syscall.Kill(p.pid, syscall.SIGSTOP)
	await(t, "all threads are stopped", stopped)
	for range 5 {
		d := dumpJSON(t, p.pid)
		for i := range d.Threads {
			if th := &d.Threads[i]; th.State != "T" || !th.Stack.Complete || !slices.Contains(th.functions(), "pause") {
				t.Errorf("thread %d: state %s, frames %v; want T, with pause", th.TID, th.State, th.functions())
			}
		}
		if !stopped() {
			t.Fatal("the process runs")
		}
	}
	syscall.Kill(p.pid, syscall.SIGCONT)
	asleep(t, p.pid)
}

const spinners = 4

// spin is what the target of TestBusyThreads does; its process is killed by the test.
func spin() {
	var begun sync.WaitGroup
	begun.Add(spinners)
	for range spinners {
		go func() {
			runtime.LockOSThread()
			begun.Done()
			for turning(0) {
			}
		}()
	}
	begun.Wait()
	fmt.Println("R")
	time.Sleep(time.Hour)
}

//go:noinline
func turning(n int) bool {
	for range 1_000_000 {
		n++
	}
	return n > 0
}

// runSelf starts this test program as a target.
func runSelf(t *testing.T, what string, env ...string) *target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "LIVE_TARGET="+what), env...)
	return launch(t, cmd).ready(t)
}

// TestBusyThreads: every thread uses all of the processor that it gets.
func TestBusyThreads(t *testing.T) {
	p := runSelf(t, "spin", "GOMAXPROCS=6", "GODEBUG=asyncpreemptoff=1")
	busy := func() (n int) {
		for _, tid := range threadsOf(p.pid) {
			if stateOf(tid) == 'R' {
				n++
			}
		}
		return n
	}
	await(t, "all threads run", func() bool { return busy() >= spinners })
	for range 10 {
		d := dumpJSON(t, p.pid)
		found := 0
		for i := range d.Threads {
			th := &d.Threads[i]
			if slices.ContainsFunc(th.functions(),
				func(f string) bool { return strings.HasSuffix(f, "live.spin.func1") }) {
				found++
				if th.State != "R" || !th.Stack.Complete {
					t.Errorf("thread %d: state %s, complete %v; want R, true", th.TID, th.State, th.Stack.Complete)
				}
			}
		}
		if found != spinners {
			t.Errorf("%d threads turn in the dump, want %d", found, spinners)
		}
	}
	checkFree(t, p.pid)
}

// runLeaderless starts a process whose leader has ended.
func runLeaderless(t *testing.T) *target {
	t.Helper()
	return launch(t, exec.Command(program(t, "leaderless"), strconv.Itoa(spinners))).ready(t)
}

// TestLeaderEnded: the process is a zombie by its id, and lives.
func TestLeaderEnded(t *testing.T) {
	p := runLeaderless(t)
	d := dumpJSON(t, p.pid)
	found := 0
	for i := range d.Threads {
		if th := &d.Threads[i]; th.Stack.Complete && slices.Contains(th.functions(), "lives_on") {
			found++
		}
	}
	if found != spinners {
		t.Errorf("%d whole stacks with lives_on, want %d", found, spinners)
	}
	checkClean(t, show(t, "-p", strconv.Itoa(p.pid)).stdout)
}

// TestThreadForProcess: the id of a thread leads to its process, which has its own id, or
// is refused.
func TestThreadForProcess(t *testing.T) {
	p := runTarget(t, "threads", "2", "5")
	tid := threadsOf(p.pid)[1]
	o := show(t, "-p", strconv.Itoa(tid))
	checkTold(t, o)
	if o.status < 2 && !strings.HasPrefix(o.stdout, fmt.Sprintf("process %d ", p.pid)) {
		t.Errorf("thread %d of process %d is shown as %.20q", tid, p.pid, o.stdout)
	}
}
