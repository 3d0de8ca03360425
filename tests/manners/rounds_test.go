//go:build linux

package manners

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// roundsEach is how many stops one selfcheck meets; it lives for two minutes at most.
const roundsEach = 2500

// TestManyRounds opens, stops and closes a process that sends itself signals all the time
// and has threads that spin, sleep and talk by pipes, on CPUs that are busy.
func TestManyRounds(t *testing.T) {
	n := rounds(1000, 10000)
	sum := newTally()
	start(t, "witness", "2") // takes the CPUs
	for left := n; left > 0; {
		c := startChecker(t, "-i", "100")
		for i := 0; i < roundsEach && left > 0 && c.young(); i++ {
			left--
			p, err := tracer.Open(c.pid, tracer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Snapshot(context.Background(), ways[i%len(ways)])
			p.Close()
			if err != nil {
				t.Fatal(err)
			}
			if n := held(c.pid); n > 0 {
				t.Fatalf("round %d: %d threads are still held: %s", i, n, threadStates(c.pid))
			}
		}
		sum.add(c.finish(t))
	}
	sum.report(t, fmt.Sprintf("%d rounds", n))
}

// TestSignalEachSample sends a signal with each of 100 samples: the process gets each of
// them once, and makes progress between.
func TestSignalEachSample(t *testing.T) {
	const n = 100
	s := newScene(t, "1")
	for i := range n {
		before := s.book.turns()[0]
		if !queue(s.pid, realTime, int32(i)) {
			t.Fatal("the signal could not be sent")
		}
		takeSnapshot(t, s.p, ways[i%len(ways)])
		s.handled(i + 1)
		eventually(t, func() (string, bool) { return "no progress", s.book.turns()[0] > before })
	}
	s.finish(t, nil)
}

// TestSignalAtEachStop sends a signal to the thread that runs whenever it was let go, and
// takes another at once: what it does between two stops must still add up.
func TestSignalAtEachStop(t *testing.T) {
	s := newScene(t, "1")
	before := s.book.turns()[0]
	var sent atomic.Int32
	for sent.Load() < 1000 {
		opt := holding(func() {
			if queue(s.pid, realTime, 0) {
				sent.Add(1)
			}
		})
		if _, err := s.p.Snapshot(t.Context(), opt); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() (string, bool) {
		got, want := s.book.count(), int(sent.Load())
		return fmt.Sprintf("handled %d signals, want %d", got, want), got == want
	})
	if s.book.turns()[0] == before {
		t.Error("no progress in 1,000 stops")
	}
	s.finish(t, nil)
}

// TestSignalStorm sends signals as fast as the receiver's queue takes them.
func TestSignalStorm(t *testing.T) {
	s := newScene(t, "1")
	var sent atomic.Int64
	var over atomic.Bool
	done := make(chan struct{})
	begun := time.Now()
	go func() {
		defer close(done)
		for !over.Load() {
			if queue(s.pid, realTime, int32(sent.Load())) {
				sent.Add(1)
			} else {
				runtime.Gosched()
			}
		}
	}()
	n := rounds(500, 5000)
	for i := range n {
		takeSnapshot(t, s.p, ways[i%len(ways)])
	}
	over.Store(true)
	<-done
	took := time.Since(begun)
	got := s.handled(int(sent.Load()))
	if total := s.book.count(); int64(total) != sent.Load() {
		t.Errorf("handled %d signals, want %d", total, sent.Load())
	}
	for i := 1; i < len(got); i++ {
		if got[i].Value != got[i-1].Value+1 || got[i].Code != siQueue || got[i].PID != int32(os.Getpid()) {
			t.Fatalf("after %+v came %+v", got[i-1], got[i])
		}
	}
	s.finish(t, nil)
	t.Logf("%d signals in %d stops, %.0f a second", sent.Load(), n, float64(sent.Load())/took.Seconds())
}

// TestPanicWhileHeld has code in the stop that panics: the threads are let go and the
// reason reaches the caller.
func TestPanicWhileHeld(t *testing.T) {
	s := newScene(t, "1")
	for _, opt := range ways {
		opt.Copiers = []snapshot.Copier{viewer(func(*snapshot.Thread) { panic(errors.New("bad offset")) })}
		snap := takeSnapshot(t, s.p, opt)
		// Where others have the CPUs its time may be over before the panic: then it is tried again.
		for try := 0; try < 50 && strings.Contains(strings.Join(snap.Problems, ""), "not copied in time"); try++ {
			snap = takeSnapshot(t, s.p, opt)
		}
		if want := "manners.viewer: memory was not copied while the thread was stopped: a fault of fpstack, please " +
			"report it: bad offset"; len(snap.Problems) != 1 || snap.Problems[0] != want {
			t.Errorf("problems %q, want %q", snap.Problems, want)
		}
		s.running()
	}
	s.finish(t, nil)
}

// TestSlowWhileHeld has code in the stop that does not come back in time.
func TestSlowWhileHeld(t *testing.T) {
	s := newScene(t, "1")
	free := make(chan struct{})
	defer close(free)
	begun := time.Now()
	snap := takeSnapshot(t, s.p, holding(func() { <-free }))
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if len(snap.Problems) == 0 {
		t.Error("nothing is said of the memory that was not copied")
	}
	s.running()
	s.finish(t, nil)
}
