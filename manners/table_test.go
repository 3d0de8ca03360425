//go:build linux

package manners

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// situation is one row of what can happen to a thread that is looked at.
type situation struct {
	name string
	args []string // of the witness; nil: one spinner
	do   func(s *scene)
	log  []string // what the parent is told; "killed 15" is added where it has not ended
}

var situations = []situation{
	{name: "nothing else happens", do: func(s *scene) {
		s.lookEachWay()
		s.running()
	}},
	{name: "stopped by SIGSTOP before", do: stoppedBefore(unix.SIGSTOP), log: []string{"stopped 19", "continued"}},
	{name: "stopped by SIGTSTP before", do: stoppedBefore(unix.SIGTSTP), log: []string{"stopped 20", "continued"}},
	{name: "stopped by SIGTTIN before", do: stoppedBefore(unix.SIGTTIN), log: []string{"stopped 21", "continued"}},
	{name: "stopped by SIGTTOU before", do: stoppedBefore(unix.SIGTTOU), log: []string{"stopped 22", "continued"}},
	{name: "SIGSTOP at any moment", do: stopAtAnyMoment(unix.SIGSTOP, "stopped 19"), log: repeat(20, "stopped 19", "continued")},
	{name: "SIGTSTP at any moment", do: stopAtAnyMoment(unix.SIGTSTP, "stopped 20"), log: repeat(20, "stopped 20", "continued")},
	{name: "SIGCONT at any moment", do: continueAtAnyMoment, log: repeat(20, "stopped 19", "continued")},
	{name: "SIGSTOP while all are held", do: stopHeld((*scene).all), log: []string{"stopped 19", "continued"}},
	{name: "SIGSTOP while the main thread is held", do: stopHeld((*scene).leader), log: []string{"stopped 19", "continued"}},
	{name: "SIGSTOP while some others are held", args: []string{"3"}, do: stopHeld((*scene).others), log: []string{"stopped 19", "continued"}},
	{name: "SIGCONT while all are held", do: continueHeld((*scene).all), log: []string{"stopped 19", "continued"}},
	{name: "SIGCONT while some are held", args: []string{"3"}, do: continueHeld((*scene).others), log: []string{"stopped 19", "continued"}},
	{name: "SIGSTOP and SIGCONT while held", do: func(s *scene) {
		s.whileHeld(s.all(), func() { s.send(unix.SIGSTOP); s.send(unix.SIGCONT) })
		s.running()
		s.handled(1)
	}},
	{name: "handled signals at any moment", do: handledAtAnyMoment},
	{name: "handled signals while held", do: handledHeld},
	{name: "ignored signals at any moment", do: ignoredAtAnyMoment},
	{name: "SIGKILL while all are held", do: func(s *scene) {
		s.whileHeld(s.all(), func() { s.send(unix.SIGKILL) })
	}, log: []string{"killed 9"}},
	{name: "SIGKILL while some are held", args: []string{"3"}, do: func(s *scene) {
		s.whileHeld(s.others(), func() { s.send(unix.SIGKILL) })
	}, log: []string{"killed 9"}},
	{name: "SIGTERM while all are held", do: func(s *scene) {
		s.whileHeld(s.all(), func() { s.send(unix.SIGTERM) })
	}, log: []string{"killed 15"}},
	{name: "exit while some are held", args: []string{"3"}, do: func(s *scene) {
		s.whileHeld(s.others(), func() { s.send(unix.SIGUSR2); time.Sleep(2 * time.Millisecond) })
	}, log: []string{"exited 7"}},
	{name: "SIGKILL at any moment", do: endAtAnyMoment(unix.SIGKILL), log: []string{"killed 9"}},
	{name: "SIGTERM at any moment", do: endAtAnyMoment(unix.SIGTERM), log: []string{"killed 15"}},
	{name: "exit at any moment", do: endAtAnyMoment(unix.SIGUSR2), log: []string{"exited 7"}},
	{name: "leader has ended", args: []string{"2", "leaderless"}, do: func(s *scene) {
		waitState(s.t, s.pid, "Z")
		for _, opt := range ways {
			snap := look(s.t, s.p, opt)
			for _, th := range snap.Threads {
				if alive := th.TID != s.pid; alive != (th.Registers != nil) {
					s.t.Errorf("thread %d: registers %v, %q", th.TID, th.Registers != nil, th.NotStopped)
				}
			}
		}
		s.send(unix.SIGKILL) // the spinners block the others
	}, log: []string{"killed 9"}},
	{name: "strict seccomp", args: []string{"1", "seccomp"}, do: func(s *scene) {
		s.meanwhile(func() {
			for range 40 {
				s.send(unix.SIGUSR1)
				atRandom(time.Millisecond)
			}
		})
		eventually(s.t, func() (string, bool) {
			got := s.book.turns()[7]
			return "strict thread read " + itoa(int(got)), int(got) == s.book.count() && got > 0
		})
	}},
	{name: "kernel thread of an io_uring", args: []string{"1", "uring"}, do: func(s *scene) {
		for _, opt := range ways {
			workers := 0
			for _, th := range look(s.t, s.p, opt).Threads {
				if th.KernelWorker {
					workers++
				}
			}
			if workers == 0 {
				s.t.Error("no thread is told to be a worker of the kernel")
			}
		}
		s.running()
	}},
	{name: "SCHED_IDLE thread on busy CPUs", do: idleThread},
	{name: "tracer dies while all are held, signals queued", do: tracerDiesHolding(0), log: nil},
	{name: "tracer dies holding a stopped process", do: tracerDiesHolding(unix.SIGSTOP), log: []string{"stopped 19", "continued"}},
}

// cannotBeMade are the rows of ptrace(2)'s life that fpstack never enters, or that belong
// to somebody else.
var cannotBeMade = []struct{ name, reason string }{
	{"INTERRUPT twice before the stop", "a stop asks each thread once"},
	{"INTERRUPT while a thread stands", "a thread that stands is detached, never asked again"},
	{"CONT of a group stop", "fpstack never resumes by CONT, it detaches"},
	{"DETACH 0 at a delivery stop", "it is the fault that 'SIGSTOP at any moment' looks for"},
	{"data given at EVENT_STOP", "DETACH passes 0 there; a signal made up would show as strange in selfcheck"},
	{"CONT mode, two stops a sample", "fpstack does not stay attached; progress under signals is TestSignalEachSample"},
	{"TRACECLONE, TRACEEXEC", "no ptrace option is set"},
	{"seccomp filter without restart_syscall", "the kernel kills such a sleeper after any stop, SIGSTOP too: docs/manners.md warns"},
	{"leader of a group whose dead threads a tracer holds", "all threads that were seized are reaped in the same stop; 'exit while some are held' sees it end"},
}

func TestSituations(t *testing.T) {
	for _, row := range situations {
		t.Run(row.name, func(t *testing.T) {
			args := row.args
			if args == nil {
				args = []string{"1"}
			}
			s := newScene(t, args...)
			row.do(s)
			s.finish(t, row.log)
		})
	}
	for _, row := range cannotBeMade {
		t.Run(row.name, func(t *testing.T) { t.Skip("cannot be made: " + row.reason) })
	}
	t.Logf("%d situations made, %d cannot be made", len(situations), len(cannotBeMade))
}

func repeat(n int, events ...string) []string {
	var all []string
	for range n {
		all = append(all, events...)
	}
	return all
}

func (s *scene) leader() []int { return []int{s.pid} }

// stoppedBefore looks at a process that job control stopped: it must stay so.
func stoppedBefore(sig unix.Signal) func(*scene) {
	return func(s *scene) {
		s.send(sig)
		s.told(s.t, "stopped "+itoa(int(sig)))
		s.stopped()
		turns := s.book.turns()
		for range 5 {
			s.lookEachWay()
			s.stopped()
		}
		if after := s.book.turns(); after[0] != turns[0] {
			s.t.Error("a stopped thread ran")
		}
		s.send(unix.SIGCONT)
		s.told(s.t, "continued")
		s.running()
	}
}

func stopAtAnyMoment(sig unix.Signal, event string) func(*scene) {
	return func(s *scene) {
		for range 20 {
			s.meanwhile(func() {
				atRandom(time.Millisecond)
				s.send(sig)
				atRandom(2 * time.Millisecond)
			})
			s.told(s.t, event)
			s.stopped()
			s.lookEachWay()
			s.stopped()
			s.send(unix.SIGCONT)
			s.told(s.t, "continued")
			s.running()
		}
		s.handled(20) // SIGCONT has a handler
	}
}

func continueAtAnyMoment(s *scene) {
	for range 20 {
		s.send(unix.SIGSTOP)
		s.told(s.t, "stopped 19")
		s.stopped()
		s.meanwhile(func() {
			atRandom(time.Millisecond)
			s.send(unix.SIGCONT)
			atRandom(2 * time.Millisecond)
		})
		s.told(s.t, "continued")
		s.running()
	}
	s.handled(20)
}

func stopHeld(which func(*scene) []int) func(*scene) {
	return func(s *scene) {
		s.whileHeld(which(s), func() { s.send(unix.SIGSTOP) })
		s.told(s.t, "stopped 19")
		s.stopped()
		s.send(unix.SIGCONT)
		s.told(s.t, "continued")
		s.running()
	}
}

func continueHeld(which func(*scene) []int) func(*scene) {
	return func(s *scene) {
		s.send(unix.SIGSTOP)
		s.told(s.t, "stopped 19")
		s.stopped()
		s.whileHeld(which(s), func() { s.send(unix.SIGCONT) })
		s.told(s.t, "continued")
		s.running()
		s.handled(1)
	}
}

// handledAtAnyMoment compares every signal as it was sent with what the handler got.
func handledAtAnyMoment(s *scene) {
	const n = 300
	sent := 0
	looks := s.meanwhile(func() {
		for sent < n {
			if queue(s.pid, realTime, int32(sent)) {
				sent++
			}
			atRandom(200 * time.Microsecond)
		}
	})
	got := s.handled(n)
	if len(got) != n {
		s.t.Fatalf("handled %d signals, want %d, in %d stops", len(got), n, looks)
	}
	for i, e := range got {
		if want := (event{int32(realTime), siQueue, int32(os.Getpid()), int32(i)}); e != want {
			s.t.Fatalf("signal %d came as %+v, want %+v", i, e, want)
		}
	}
}

// handledHeld sends signals of several kinds while the threads stand: each comes once, the
// real-time ones in their order.
func handledHeld(s *scene) {
	self := int32(os.Getpid())
	want := []event{{int32(unix.SIGHUP), siTkill, self, 0}, {int32(unix.SIGUSR1), siUser, self, 0}}
	s.whileHeld(s.all(), func() {
		for i := range 30 {
			queue(s.pid, realTime, int32(i))
		}
		s.send(unix.SIGUSR1)
		unix.Tgkill(s.pid, s.pid, unix.SIGHUP)
	})
	for i := range 30 {
		want = append(want, event{int32(realTime), siQueue, self, int32(i)})
	}
	got := s.handled(len(want))
	if len(got) != len(want) {
		s.t.Fatalf("handled %d signals, want %d", len(got), len(want))
	}
	for i := range want {
		if i < 2 { // kill and tgkill give no value
			got[i].Value = 0
		}
		if got[i] != want[i] {
			s.t.Errorf("signal %d came as %+v, want %+v", i, got[i], want[i])
		}
	}
}

func ignoredAtAnyMoment(s *scene) {
	s.meanwhile(func() {
		for i := range 200 {
			s.send([]unix.Signal{unix.SIGCHLD, unix.SIGWINCH, unix.SIGURG}[i%3])
			atRandom(200 * time.Microsecond)
		}
	})
	s.running()
	if n := s.book.count(); n != 0 {
		s.t.Errorf("%d handlers ran", n)
	}
}

// endAtAnyMoment ends the process while it is looked at. Its parent must be told though
// we are alive.
func endAtAnyMoment(sig unix.Signal) func(*scene) {
	return func(s *scene) {
		go func() {
			atRandom(5 * time.Millisecond)
			s.send(sig)
		}()
		begun := time.Now()
		for i := 0; ; i++ {
			if _, err := s.p.Snapshot(s.t.Context(), ways[i%len(ways)]); err != nil {
				break
			}
			if time.Since(begun) > patience {
				s.t.Fatal("the process does not end")
			}
		}
	}
}

// idleThread has a thread that hardly gets a CPU, and must not hold the others for long.
func idleThread(s *scene) {
	for _, tid := range s.others() {
		if err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
			s.t.Skipf("SCHED_IDLE: %v", err)
		}
	}
	start(s.t, "witness", "4")
	for _, opt := range ways {
		begun := time.Now()
		snap := look(s.t, s.p, opt)
		if took := time.Since(begun); took > 5*time.Second {
			s.t.Errorf("took %v", took)
		}
		for _, th := range snap.Threads {
			if th.Registers == nil && th.NotStopped == "" {
				s.t.Errorf("thread %d: no registers and no reason", th.TID)
			}
		}
	}
}

// tracerDiesHolding kills a tracer that holds all threads and has queued signals to them.
// With before, the process is stopped by it already and must stay so.
func tracerDiesHolding(before unix.Signal) func(*scene) {
	return func(s *scene) {
		const n = 20
		if before != 0 {
			s.send(before)
			s.told(s.t, "stopped "+itoa(int(before)))
			s.stopped()
		}
		cmd := helperOn(s.t, "dier", s.pid, itoa(n))
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != -1 {
			s.t.Fatalf("tracer was not killed: %s", out)
		}
		checkFree(s.t, s.pid)
		want := n
		if before != 0 {
			s.stopped()
			s.send(unix.SIGCONT)
			s.told(s.t, "continued")
			want++
		}
		s.running()
		if got := s.handled(want); len(got) != want {
			s.t.Errorf("handled %d signals, want %d", len(got), want)
		}
	}
}
