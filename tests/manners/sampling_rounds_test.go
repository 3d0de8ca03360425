//go:build linux

package manners

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestSampledRounds samples all threads of a self-checking process, one by one, thousands
// of times.
func TestSampledRounds(t *testing.T) {
	n := rounds(500, 5000)
	sum := newTally()
	start(t, "witness", "2") // takes the CPUs
	samples := 0
	for left := n; left > 0; {
		c := startChecker(t, "-i", "100")
		k := sample(t, c.pid, tracer.SamplerOptions{RepairEINTR: left%2 == 0})
		for i := 0; i < 1000 && left > 0 && c.young(); i++ {
			left--
			k.sampleEach(t)
		}
		samples += k.samples
		sum.add(c.finish(t))
	}
	sum.report(t, fmt.Sprintf("%d samples", samples))
}

// TestSampledByKilled kills programs that sample without a pause at random moments.
func TestSampledByKilled(t *testing.T) {
	n := rounds(150, 3000)
	sum, inStop := newTally(), 0
	for left := n; left > 0; {
		c := startChecker(t, "-i", "200")
		for i := 0; i < killsEach && left > 0 && c.young(); i++ {
			left--
			if killProber(t, c.pid) {
				inStop++
			}
			checkFree(t, c.pid)
			if t.Failed() {
				return
			}
		}
		sum.add(c.finish(t))
	}
	sum.report(t, fmt.Sprintf("%d kills, %d while a thread was seen held,", n, inStop))
}

// killProber kills a program that samples all the time, 0.2 to 2.7 ms after it began.
func killProber(t *testing.T, pid int) bool {
	t.Helper()
	cmd := helperOn(t, "looker", pid)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = begin(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		cmd.Wait()
		t.Fatal(err)
	}
	time.Sleep(200*time.Microsecond + rand.N(2500*time.Microsecond))
	held := held(pid) > 0
	cmd.Process.Kill()
	cmd.Wait()
	return held
}

// samplerHelper PID [ROUNDS]: samples without a pause, and says so before the first round.
func samplerHelper(args []string) {
	k, err := openSampler(pidArg(args[0]), tracer.SamplerOptions{})
	check(err)
	fmt.Println("R")
	for n := 0; len(args) == 1 || n < pidArg(args[1]); n++ {
		check(k.round())
	}
	fmt.Println("D", k.samples)
}

// TestSampledSignalStorm sends numbered signals as fast as the receiver's queue takes them.
func TestSampledSignalStorm(t *testing.T) {
	s := newScene(t, "1")
	k := sample(t, s.pid, tracer.SamplerOptions{})
	sent := s.inStorm(func() {
		for range rounds(1000, 20000) {
			k.sampleEach(t)
		}
	})
	t.Logf("%d signals; %v", sent, k)
}

// TestSampledByKilledInStorm kills samplers of a process that is sent signals all the time, so
// that most of its stops are made by one.
func TestSampledByKilledInStorm(t *testing.T) {
	s := newScene(t, "1")
	n, inStop := rounds(150, 3000), 0
	sent := s.inStorm(func() {
		for range n {
			if killProber(t, s.pid) {
				inStop++
			}
			checkFree(t, s.pid)
		}
	})
	t.Logf("%d signals, %d kills, %d while a thread was seen held", sent, n, inStop)
}

// inStorm runs f while numbered signals are sent as fast as the queue of the process takes
// them, and checks that each was handled once, in order.
func (s *scene) inStorm(f func()) int64 {
	t := s.t
	t.Helper()
	var sent atomic.Int64
	var over atomic.Bool
	done := make(chan struct{})
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
	f()
	over.Store(true)
	<-done
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
	return sent.Load()
}

// TestSampledSignalEachSample sends one signal with each sample of a thread: each is handled once
// and the process makes progress.
func TestSampledSignalEachSample(t *testing.T) {
	s := newScene(t, "1")
	k := sample(t, s.pid, tracer.SamplerOptions{})
	for i := range 200 {
		before := s.book.turns()[0]
		if !queue(s.pid, realTime, int32(i)) {
			t.Fatal("the signal could not be sent")
		}
		k.sampleEach(t)
		s.handled(i + 1)
		eventually(t, func() (string, bool) { return "no progress", s.book.turns()[0] > before })
	}
	s.finish(t, nil)
}

// TestSampledWithoutPause samples a thread that runs, with a signal queued before each sample
// and nothing waited for: what it does between two samples must add up.
func TestSampledWithoutPause(t *testing.T) {
	s := newScene(t, "1")
	k := sample(t, s.pid, tracer.SamplerOptions{})
	before := s.book.turns()[0]
	sent := 0
	for sent < 2000 {
		if queue(s.pid, realTime, int32(sent)) {
			sent++
		}
		if err := k.round(); err != nil {
			t.Fatal(err)
		}
	}
	s.handled(sent)
	if s.book.turns()[0] == before {
		t.Error("no progress in 2,000 samples")
	}
	s.finish(t, nil)
}

// TestSampledJobControl stops and continues the process while it is sampled: its parent is
// told of each once, and a stopped process stays so.
func TestSampledJobControl(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			s := newScene(t, "1")
			k := sample(t, s.pid, tracer.SamplerOptions{})
			var want []string
			for i := range 20 {
				k.meanwhile(t, func() {
					atRandom(time.Millisecond)
					s.send(sig)
					atRandom(2 * time.Millisecond)
				})
				s.heard(t, "stopped "+itoa(int(sig)))
				s.stopped()
				turns := s.book.turns()[0]
				for range 5 {
					k.sampleEach(t)
					s.stopped()
				}
				if s.book.turns()[0] != turns {
					t.Error("a stopped thread ran")
				}
				k.meanwhile(t, func() {
					atRandom(time.Millisecond)
					s.send(unix.SIGCONT)
					atRandom(time.Millisecond)
				})
				s.heard(t, "continued")
				s.running()
				s.handled(i + 1)
				want = append(want, "stopped "+itoa(int(sig)), "continued")
			}
			s.finish(t, want)
		})
	}
}

// TestSampledTracedByAnother has a thread that another program traces.
func TestSampledTracedByAnother(t *testing.T) {
	c := start(t, "witness", "2")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	k.only = c.pid
	k.sampleEach(t)
	other := helperOn(t, "traced", c.pid)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	o := launch(t, other)
	o.awaitReady(t)
	err = k.round()
	var traced *tracer.TracedError
	if !errors.As(err, &traced) || traced.Tracer == 0 {
		t.Errorf("got %v, want a *TracedError", err)
	}
	in.Close()
	other.Wait()
	k.sampleEach(t)
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}
