//go:build linux

package manners

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
	"golang.org/x/sys/unix"
)

// situation is one row of what can happen to a thread that is inspected.
type situation struct {
	name string
	args []string // of the witness; nil: one spinner
	do   func(s *scene)
	log  []string // what the parent is told; "killed 15" is added where it has not ended
}

var situations = append([]situation{
	{name: "nothing else happens", do: func(s *scene) {
		s.snapshotEachWay()
		s.running()
	}},
	{name: "stopped by SIGSTOP before", do: stoppedBefore(unix.SIGSTOP), log: []string{"stopped 19", "continued"}},
	{name: "stopped by SIGTSTP before", do: stoppedBefore(unix.SIGTSTP), log: []string{"stopped 20", "continued"}},
	{name: "stopped by SIGTTIN before", do: stoppedBefore(unix.SIGTTIN), log: []string{"stopped 21", "continued"}},
	{name: "stopped by SIGTTOU before", do: stoppedBefore(unix.SIGTTOU), log: []string{"stopped 22", "continued"}},
	{name: "SIGSTOP at any moment", do: stopAtAnyMoment(unix.SIGSTOP, "stopped 19"), log: repeat(20, "stopped 19",
		"continued")},
	{name: "SIGTSTP at any moment", do: stopAtAnyMoment(unix.SIGTSTP, "stopped 20"), log: repeat(20, "stopped 20",
		"continued")},
	{name: "SIGCONT at any moment", do: continueAtAnyMoment, log: repeat(20, "stopped 19", "continued")},
	{name: "SIGSTOP while all are held", do: stopHeld((*scene).all), log: []string{"stopped 19", "continued"}},
	{name: "SIGSTOP while the main thread is held", do: stopHeld((*scene).leader), log: []string{"stopped 19",
		"continued"}},
	{name: "SIGSTOP while some others are held", args: []string{"3"}, do: stopHeld((*scene).others),
		log: []string{"stopped 19", "continued"}},
	{name: "SIGCONT while all are held", do: continueHeld((*scene).all), log: []string{"stopped 19", "continued"}},
	{name: "SIGCONT while some are held", args: []string{"3"}, do: continueHeld((*scene).others),
		log: []string{"stopped 19", "continued"}},
	{name: "SIGSTOP and SIGCONT while held", do: func(s *scene) {
		for !s.whileHeld(s.all(), func() { s.send(unix.SIGSTOP); s.send(unix.SIGCONT) }) {
			s.restart("1")
		}
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
		for _, opt := range ways {
			snap := takeSnapshot(s.t, s.p, opt)
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
		eventually(s.t, func() (string, bool) { // it names itself only when it runs
			comms, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", s.pid))
			return "no thread is named iou-sqp-", slices.ContainsFunc(comms, func(comm string) bool {
				b, _ := os.ReadFile(comm)
				return strings.HasPrefix(string(b), "iou-sqp-")
			})
		})
		for _, opt := range ways {
			workers, seen := 0, ""
			for _, th := range takeSnapshot(s.t, s.p, opt).Threads {
				if th.KernelWorker {
					workers++
				}
				seen += fmt.Sprintf("%d %q, registers %v, %q; ", th.TID, th.Comm, th.Registers != nil, th.NotStopped)
			}
			if workers == 0 {
				s.t.Errorf("no thread is shown to be a worker of the kernel: %s now: %s", seen, threadStates(s.pid))
			}
		}
		s.running()
	}},
	{name: "SCHED_IDLE thread on busy CPUs", do: idleThread},
	{name: "no signal can be queued", do: inherited("queue", "0")},
	{name: "tracer dies while all are held, signals queued", do: tracerDiesHolding(0), log: nil},
	{name: "tracer dies holding a stopped process", do: tracerDiesHolding(unix.SIGSTOP), log: []string{"stopped 19",
		"continued"}},
}, harness.With([]situation{{name: "fpstack inherits every signal blocked", do: inherited("blocked", "all")}},
	situation{name: "fpstack inherits signal 63 blocked", do: inherited("blocked", "63")},
	situation{name: "fpstack inherits SIGURG blocked", do: inherited("blocked", "23")},
	situation{name: "fpstack inherits SIGCHLD blocked", do: inherited("blocked", "17")})...)

// Of what ptrace(2) shows, these rows cannot be made, as fpstack never comes there or they belong to somebody else:
//
//   - INTERRUPT twice before the stop: a stop interrupts each thread once.
//   - INTERRUPT while a thread is stopped: a stopped thread is detached, never interrupted again.
//   - CONT of a group stop: fpstack never resumes by CONT, it detaches.
//   - DETACH 0 at a delivery stop: it is the fault that "SIGSTOP at any moment" looks for.
//   - Data given at EVENT_STOP: DETACH passes 0 there; a signal made up would show as strange in selfcheck.
//   - CONT mode, two stops a sample: fpstack does not stay attached; progress under signals is TestSignalEachSample.
//   - TRACECLONE, TRACEEXEC: no ptrace option is set.
//   - A seccomp filter without restart_syscall: the kernel kills such a sleeper after any stop, SIGSTOP too, as
//     docs/dev/manners.md warns.
//   - The leader of a group whose dead threads a tracer holds: all threads that were seized are reaped in the same
//     stop; "exit while some are held" sees it end.

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
}
