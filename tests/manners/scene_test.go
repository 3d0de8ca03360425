//go:build linux

package manners

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// scene is one situation: a witness with its parent, and the process as we inspect it.
type scene struct {
	*guarded
	t    *testing.T
	p    *tracer.Process
	book book
}

func newScene(t *testing.T, args ...string) *scene {
	t.Helper()
	g := guard(t, "witness", args...)
	if slices.Contains(args, "leaderless") {
		waitState(t, g.pid, "Z")
	}
	return &scene{guarded: g, t: t, p: open(t, g.pid), book: bookOf(t, g.target)}
}

func (s *scene) send(sig unix.Signal) { unix.Kill(s.pid, sig) }

// ways are the ways to stop it: at one instant, and in batches of one and of several.
var ways = []tracer.StopOptions{{}, {Rolling: true, Batch: 1}, {Rolling: true}}

// snapshotEachWay inspects the witness by each way.
func (s *scene) snapshotEachWay() {
	s.t.Helper()
	for _, opt := range ways {
		takeSnapshot(s.t, s.p, opt)
	}
}

// meanwhile takes snapshots over and over while f runs, and once more.
func (s *scene) meanwhile(f func()) (samples int) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for ended := false; !ended; samples++ {
		select {
		case <-done:
			ended = true
		default:
		}
		takeSnapshot(s.t, s.p, ways[samples%len(ways)])
	}
	return samples
}

// whileHeld runs f in a stop, when the threads of tids are stopped. On a busy machine some may
// stop later than the others; then it tries again. It is false if they were not stopped until the end of f, as
// our own CPU was taken from us for longer than a stop lasts.
func (s *scene) whileHeld(tids []int, f func()) (throughout bool) {
	s.t.Helper()
	var began atomic.Bool
	ran := make(chan struct{})
	for try := 0; try < 100 && !began.Load(); try++ {
		var met []int
		w := viewer(func(th *snapshot.Thread) {
			// released by now, as we are late
			if met = append(met, th.TID); len(met) < len(tids) || began.Load() || !inTraceStop(met) {
				return
			}
			began.Store(true)
			f()
			throughout = inTraceStop(met)
			close(ran)
		})
		// the process may end meanwhile
		s.p.Snapshot(s.t.Context(), tracer.StopOptions{TIDs: tids, Copiers: []snapshot.Copier{w}})
	}
	if !began.Load() {
		s.t.Fatalf("the threads could not be held: %s", threadStates(s.pid))
	}
	<-ran
	checkFree(s.t, s.pid)
	return throughout
}

// inTraceStop reports whether all these threads are in a trace stop.
func inTraceStop(tids []int) bool {
	return !slices.ContainsFunc(tids, func(tid int) bool { return stateOf(tid) != 't' })
}

// restart replaces the scene by a fresh one.
func (s *scene) restart(args ...string) { *s = *newScene(s.t, args...) }

// all are the threads of the witness.
func (s *scene) all() []int { return threadIDs(s.pid) }

// others are the threads of the witness but the main one.
func (s *scene) others() []int {
	return slices.DeleteFunc(s.all(), func(tid int) bool { return tid == s.pid })
}

// running fails if the threads that count do not go on, or the process is stopped.
func (s *scene) running() {
	s.t.Helper()
	before := s.book.turns()[0]
	eventually(s.t, func() (string, bool) {
		return "threads do not go on: " + threadStates(s.pid), s.book.turns()[0] > before
	})
	waitState(s.t, s.pid, "SR")
}

// handled waits until n signals were handled.
func (s *scene) handled(n int) []event {
	s.t.Helper()
	eventually(s.t, func() (string, bool) {
		got := s.book.count()
		return "handled " + itoa(got) + " signals, want " + itoa(n), got >= n
	})
	return s.book.events(s.t)
}

// stopped waits until every thread is stopped by job control.
func (s *scene) stopped() {
	s.t.Helper()
	for _, tid := range s.all() {
		waitState(s.t, tid, "T")
	}
}

// atRandom pauses for less than most.
func atRandom(most time.Duration) { time.Sleep(rand.N(most)) }

// helperOn starts this test binary as another process that inspects pid.
func helperOn(t testing.TB, mode string, pid int, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{itoa(pid)}, args...)...)
	cmd.Env = append(os.Environ(), "MANNERS_HELPER="+mode)
	return cmd
}
