//go:build linux

package tracer

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

// TestSleepersCompareUnchanged stops each of 500 sleepers once. The counters that the stop
// predicts are those found afterwards; where the kernel took the CPU from a thread on its
// way back, it counted that elsewhere too. Of a thousand some few sleep once more in the kernel.
func TestSleepersCompareUnchanged(t *testing.T) {
	const sleepers = 500
	for _, coarse := range []bool{false, true} {
		t.Run(map[bool]string{false: "schedstat", true: "status"}[coarse], func(t *testing.T) {
			c := start(t, "threads", sleepers, 1)
			p := openTarget(t, c.pid())
			l := openSampler(t, SamplerOptions{})
			table := mapsOf(t, p)
			ids, err := p.ThreadIDs()
			if err != nil || len(ids) != sleepers+1 {
				t.Fatalf("%d threads, %v", len(ids), err)
			}
			moved, unsettled, brought, held := 0, 0, 0, 0
			for _, tid := range ids {
				waitState(t, tid, 'S')
				w := openWatch(t, p, tid)
				if coarse {
					w.sched.close()
					w.sched = closedFile("status")
				}
				taken, faults := preempted(t, tid), majorFaults(t, tid)
				var got Copy
				var early Counters
				for range 20 {
					l.Do(func() {
						if err = l.Stop(w, &got, table); err == nil {
							early, err = w.Counters() // before it may have come to a CPU
						}
					})
					if !withoutCPU(err) {
						break
					}
					waitState(t, tid, 'S')
					taken = preempted(t, tid)
				}
				if err != nil {
					t.Fatal(err)
				}
				if !got.Blocked || got.Counters.Coarse != coarse {
					t.Fatalf("thread %d: blocked %v, counters %+v", tid, got.Blocked, got.Counters)
				}
				waitState(t, tid, 'S')
				now, err := w.Counters()
				if err != nil {
					t.Fatal(err)
				}
				taken = preempted(t, tid) - taken
				if majorFaults(t, tid) != faults { // where memory is short it waited for a page, and moved
					brought++
					w.Close()
					continue
				}
				if early.Switches < got.Counters.Switches {
					unsettled++
				}
				// it slept once more in the kernel, on its way back
				if taken == 0 && now.Switches == got.Counters.Switches+1 {
					held++
					w.Close()
					continue
				}
				if want := got.Counters.Switches + taken; now.Switches != want && now.Switches != want-min(taken, 1) {
					t.Errorf("thread %d: %d switches, want %d; the CPU was taken from it %d times", tid, now.Switches,
						want, taken)
				}
				if taken == 0 && (!got.Counters.Unmoved(now) || !got.Counters.Unmoved(early)) {
					t.Errorf("thread %d moved: base %+v, at once %+v, later %+v", tid, got.Counters, early, now)
				}
				if !got.Counters.Unmoved(now) {
					moved++
				}
				w.Close()
			}
			t.Logf("of %d sleepers %d were on their way back at the first sample after, %d lost the CPU on it, %d "+
				"waited for a page, %d slept once more", len(ids), unsettled, moved, brought, held)
			if held > sleepers/20 {
				t.Errorf("%d of %d sleepers came to a CPU once more than the stop predicts", held, len(ids))
			}
			if brought > sleepers/2 {
				t.Errorf("%d of %d sleepers waited for a page: nothing is shown", brought, len(ids))
			}
		})
	}
}

// preempted reads how often the kernel took the CPU from a thread that wanted it.
func preempted(t *testing.T, tid int) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + itoa(tid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`nonvoluntary_ctxt_switches:\t(\d+)`).FindSubmatch(b)
	n, err := strconv.ParseUint(string(bytes.TrimSpace(m[1])), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// majorFaults counts the pages that a thread had to wait for. proc_pid_stat(5), field 12
func majorFaults(t *testing.T, tid int) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + itoa(tid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))[9]
}

// TestWokenSleeperMoves wakes a thread that was stopped once, by what it waits for.
func TestWokenSleeperMoves(t *testing.T) {
	c, in := startWaits(t, "echo")
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	table := mapsOf(t, p)
	for range 100 {
		waitState(t, c.pid(), 'S')
		var got Copy
		stopOne(t, l, w, &got, table)
		waitState(t, c.pid(), 'S') // it has come back from our stop
		in.Write([]byte("x"))
		answer(t, c, "x")
		now, err := w.Counters()
		if err != nil || got.Counters.Unmoved(now) {
			t.Fatalf("base %+v, now %+v: does not show that the thread was woken (%v)", got.Counters, now, err)
		}
	}
}

// startWaits starts waits, whose standard input the test writes to.
func startWaits(t *testing.T, mode string) (*target, io.Writer) {
	t.Helper()
	if built == "" {
		t.Skip("the targets are not built: gcc is not installed")
	}
	cmd := exec.Command(filepath.Join(built, "waits"), mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return launch(t, cmd), in
}

// answer waits for what a target writes.
func answer(t *testing.T, c *target, want string) {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		b := make([]byte, len(want))
		n, _ := io.ReadFull(c.out, b)
		got <- string(b[:n])
	}()
	select {
	case text := <-got:
		if text != want {
			t.Fatalf("target said %q, want %q", text, want)
		}
	case <-time.After(patience):
		t.Fatalf("target did not say %q", want)
	}
}

func TestEndedThread(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	w := openWatch(t, p, c.pid())
	c.Process.Kill()
	c.Wait()
	var got Copy
	_, errCounters := w.Counters()
	_, _, errAsleep := w.Asleep()
	_, _, _, errState := w.State()
	errPeek := w.Peek(&got, table)
	var errStop error
	l.Do(func() { errStop = l.Stop(w, &got, table) })
	_, errWatch := p.Watch(c.pid())
	for name, err := range map[string]error{"Counters": errCounters, "Asleep": errAsleep, "State": errState,
		"Peek": errPeek, "Stop": errStop, "Watch": errWatch} {
		if !errors.Is(err, ErrNoThread) || !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, unix.ESRCH) {
			t.Errorf("%s: got %v, want ErrNoThread", name, err)
		}
	}
	if !p.Replaced() {
		t.Error("the process is not said to be replaced")
	}
}

func TestState(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	w := openWatch(t, p, c.pid())
	waitState(t, c.pid(), 'S')
	state, comm, begun, err := w.State()
	var up unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &up)
	if age := time.Duration(up.Nano()) - begun; err != nil || state != 'S' || comm != "threads" || age < -time.Second ||
		age > time.Minute {
		t.Errorf("state %c, %q, began %v ago, %v", state, comm, age, err)
	}
}

// TestPeekEqualsStop copies parked threads in both ways, each first once.
func TestPeekEqualsStop(t *testing.T) {
	c := start(t, "threads", 20, 30)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	ids, _ := p.ThreadIDs()
	for i, tid := range ids {
		waitState(t, tid, 'S')
		w := openWatch(t, p, tid)
		var stopped, peeked Copy
		if i%2 == 0 {
			peek(t, w, &peeked)
			if peeked.Inferred || peeked.Thread.Registers != nil {
				t.Errorf("thread %d: registers without a stop", tid)
			}
			stopOne(t, l, w, &stopped, table)
		} else {
			taken := preempted(t, tid)
			stopOne(t, l, w, &stopped, table)
			waitState(t, tid, 'S')
			peek(t, w, &peeked)
			taken = preempted(t, tid) - taken // if it lost its CPU on the way back, it seems woken
			if !peeked.Inferred || peeked.Ran && taken == 0 || *peeked.Thread.Registers != *stopped.Thread.Registers {
				t.Errorf("thread %d: inferred %v, ran %v", tid, peeked.Inferred, peeked.Ran)
			}
		}
		sp, _ := stopped.regs.SP()
		pc, _ := stopped.regs.PC()
		call := peeked.Thread.Syscall
		if call == nil || stopped.Thread.Syscall == nil || *call != *stopped.Thread.Syscall || call.SP != sp ||
			call.PC != pc {
			t.Errorf("thread %d: peek %+v, stop %+v, sp %#x, pc %#x", tid, call, stopped.Thread.Syscall, sp, pc)
		}
		a, b := stopped.Thread.Stack, peeked.Thread.Stack
		if stopped.tp > a.Start { // above it the kernel notes on which CPU the thread is
			a.Data = a.Data[:min(len(a.Data), int(stopped.tp-a.Start))]
		}
		if a.Start != b.Start || len(a.Data) < 256 || !bytes.Equal(a.Data, b.Data[:min(len(a.Data), len(b.Data))]) {
			t.Errorf("thread %d: stacks at %#x and %#x, %d and %d bytes, differ", tid, a.Start, b.Start, len(a.Data),
				len(b.Data))
		}
		if peeked.Pause != 0 || !peeked.Blocked || peeked.Thread.Arch != stopped.Thread.Arch {
			t.Errorf("thread %d: pause %v, blocked %v, arch %v", tid, peeked.Pause, peeked.Blocked, peeked.Thread.Arch)
		}
	}
}

func peek(t *testing.T, w *Watch, c *Copy) {
	t.Helper()
	if err := w.Peek(c, mapsOf(t, w.p)); err != nil {
		t.Fatal(err)
	}
}

// TestPeekOfRunning never copies a thread that runs, nor one that runs now and then while it
// is copied.
// TestSeenAsleep: a thread that ran at its last samples, and was seen asleep since, is a sleeper for the next stop:
// where registers do not show the call it would be none otherwise.
func TestSeenAsleep(t *testing.T) {
	c := start(t, "threads", 1, 3)
	p := openTarget(t, c.pid())
	waitState(t, c.pid(), 'S')
	w := openWatch(t, p, c.pid())
	w.ran = ranLikely
	var copied Copy
	peek(t, w, &copied)
	if w.ran != 0 {
		t.Errorf("it is taken to run at %d samples more", w.ran)
	}
}

// TestInferred: registers of a stop are a guess for a thread that waits again in the same place for another value, and
// none for one that waits elsewhere.
func TestInferred(t *testing.T) {
	call := snapshot.Syscall{Number: 98, SP: 0x7000, PC: 0x4000, Args: [6]uint64{0x1000, 0, 7}}
	base := Counters{Switches: 5}
	again, other, elsewhere := call, call, call
	again.Args[2], other.Number, elsewhere.SP = 8, 73, 0x6000
	for _, c := range []struct {
		name          string
		call          snapshot.Syscall
		inferred, ran bool
	}{{"the same sleep", call, true, false}, {"for another value", again, true, true},
		{"another call", other, false, false}, {"another depth", elsewhere, false, false}} {
		w := &Watch{last: &last{regs: regs.New(regs.ARM64), call: call, base: base}}
		copied := &Copy{call: c.call}
		if w.infer(copied, base); copied.Inferred != c.inferred || copied.Ran != c.ran {
			t.Errorf("%s: inferred %t, ran %t", c.name, copied.Inferred, copied.Ran)
		}
	}
}

func TestPeekOfRunning(t *testing.T) {
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	w := openWatch(t, p, spinner(t, c.pid()))
	var got Copy
	for range 100 {
		if err := w.Peek(&got, mapsOf(t, p)); !errors.Is(err, ErrRan) {
			t.Fatalf("got %v, want ErrRan", err)
		}
	}
}

// TestPeekIsNotNoticed samples a call that returns EINTR after any stop.
func TestPeekIsNotNoticed(t *testing.T) {
	c, in := startWaits(t, "epoll")
	p := openTarget(t, c.pid())
	w := openWatch(t, p, c.pid())
	// A thread is in state S a moment before it leaves its CPU, which is counted.
	eventually(t, "it sleeps", func() bool { _, asleep, err := w.Asleep(); return err == nil && asleep })
	before, err := w.Counters()
	if err != nil {
		t.Fatal(err)
	}
	var got Copy
	table := mapsOf(t, p)
	for range 1000 {
		if err := w.Peek(&got, table); err != nil {
			t.Fatal(err)
		}
		if !EndsWithEINTR(*got.Thread.Syscall, got.Thread.Arch) || len(got.Thread.Stack.Data) < 256 {
			t.Fatalf("call %+v of %v, %d bytes", got.Thread.Syscall, got.Thread.Arch, len(got.Thread.Stack.Data))
		}
	}
	if now, err := w.Counters(); err != nil || now != before {
		t.Errorf("counters %+v, before %+v, %v", now, before, err)
	}
	in.Write([]byte("x"))
	answer(t, c, "d")
}

// TestNothingIsAllocated takes samples of every kind in a steady state.
func TestNothingIsAllocated(t *testing.T) {
	c := start(t, "threads", 0, 1, 1)
	runs := spinner(t, c.pid())
	p := openTarget(t, c.pid())
	busy, asleep := openWatch(t, p, runs), openWatch(t, p, c.pid())
	l := openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	var got Copy
	for _, row := range []struct {
		name string
		f    func() error
	}{
		{"Stop of one that runs", func() error { return l.Stop(busy, &got, table) }},
		{"Stop of a sleeper", func() error { return l.Stop(asleep, &got, table) }},
		{"Counters", func() error { _, err := busy.Counters(); return err }},
		{"Asleep", func() error { _, _, err := asleep.Asleep(); return err }},
		{"Peek", func() error { return asleep.Peek(&got, table) }},
	} {
		waitState(t, c.pid(), 'S')
		var err error
		var n float64
		for range 20 {
			err = nil
			l.Do(func() {
				n = testing.AllocsPerRun(100, func() {
					if e := row.f(); e != nil && !errors.Is(e, ErrRan) && !withoutCPU(err) {
						err = e
					}
				})
			})
			if !withoutCPU(err) {
				break
			}
		}
		if n != 0 || err != nil {
			t.Errorf("%s: %v allocations, %v", row.name, n, err)
		}
	}
}

func TestEndsWithEINTR(t *testing.T) {
	for _, row := range []struct {
		name string
		arch *regs.Arch
		call snapshot.Syscall
		want bool
	}{
		{"epoll_wait", regs.AMD64, snapshot.Syscall{Number: 232}, true},
		{"epoll_wait with a limit", regs.AMD64, snapshot.Syscall{Number: 232, Args: [6]uint64{3: 100}}, true},
		{"read", regs.AMD64, snapshot.Syscall{Number: 0}, false},
		{"futex", regs.AMD64, snapshot.Syscall{Number: 202}, false},
		{"recvfrom", regs.AMD64, snapshot.Syscall{Number: 45}, false},
		{"restart_syscall", regs.AMD64, snapshot.Syscall{Number: 219}, false},
		{"in a page fault", regs.AMD64, snapshot.Syscall{Number: -1}, false},
		{"epoll_pwait of arm64", regs.ARM64, snapshot.Syscall{Number: 22}, true},
		{"the same number on amd64: pipe", regs.AMD64, snapshot.Syscall{Number: 22}, false},
		{"semop through ipc", regs.I386, snapshot.Syscall{Number: 117, Args: [6]uint64{1}}, true},
		{"semtimedop through ipc, a version above", regs.S390X, snapshot.Syscall{Number: 117,
			Args: [6]uint64{1<<16 | 4}}, true},
		{"msgrcv through ipc", regs.I386, snapshot.Syscall{Number: 117, Args: [6]uint64{12}}, false},
		{"an architecture that is not known", &regs.Arch{}, snapshot.Syscall{Number: 232}, false},
	} {
		if got := EndsWithEINTR(row.call, row.arch); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}
