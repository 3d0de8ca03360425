//go:build linux

package manners

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func repeat(n int, events ...string) []string {
	var all []string
	for range n {
		all = append(all, events...)
	}
	return all
}

func (s *scene) leader() []int { return []int{s.pid} }

// stoppedBefore inspects a process that job control stopped: it must stay so.
func stoppedBefore(sig unix.Signal) func(*scene) {
	return func(s *scene) {
		s.send(sig)
		s.heard(s.t, "stopped "+itoa(int(sig)))
		s.stopped()
		turns := s.book.turns()
		for range 5 {
			s.snapshotEachWay()
			s.stopped()
		}
		if after := s.book.turns(); after[0] != turns[0] {
			s.t.Error("a stopped thread ran")
		}
		s.send(unix.SIGCONT)
		s.heard(s.t, "continued")
		s.running()
	}
}

func stopAtAnyMoment(sig unix.Signal, event string) func(*scene) {
	return func(s *scene) {
		for i := range 20 {
			s.meanwhile(func() {
				atRandom(time.Millisecond)
				s.send(sig)
				atRandom(2 * time.Millisecond)
			})
			s.heard(s.t, event)
			s.stopped()
			s.snapshotEachWay()
			s.stopped()
			s.send(unix.SIGCONT)
			s.heard(s.t, "continued")
			s.running()
			s.handled(i + 1) // SIGCONT has a handler; the next stop would take it out of the queue
		}
	}
}

func continueAtAnyMoment(s *scene) {
	for i := range 20 {
		s.send(unix.SIGSTOP)
		s.heard(s.t, "stopped 19")
		s.stopped()
		s.meanwhile(func() {
			atRandom(time.Millisecond)
			s.send(unix.SIGCONT)
			atRandom(2 * time.Millisecond)
		})
		s.heard(s.t, "continued")
		s.running()
		s.handled(i + 1)
	}
}

func stopHeld(which func(*scene) []int) func(*scene) {
	return func(s *scene) {
		s.whileHeld(which(s), func() { s.send(unix.SIGSTOP) })
		s.heard(s.t, "stopped 19")
		s.stopped()
		s.send(unix.SIGCONT)
		s.heard(s.t, "continued")
		s.running()
	}
}

func continueHeld(which func(*scene) []int) func(*scene) {
	return func(s *scene) {
		s.send(unix.SIGSTOP)
		s.heard(s.t, "stopped 19")
		s.stopped()
		s.whileHeld(which(s), func() { s.send(unix.SIGCONT) })
		s.heard(s.t, "continued")
		s.running()
		s.handled(1)
	}
}

// handledAtAnyMoment compares every signal as it was sent with what the handler got.
func handledAtAnyMoment(s *scene) {
	const n = 300
	sent := 0
	samples := s.meanwhile(func() {
		for sent < n {
			if queue(s.pid, realTime, int32(sent)) {
				sent++
			}
			atRandom(200 * time.Microsecond)
		}
	})
	got := s.handled(n)
	if len(got) != n {
		s.t.Fatalf("handled %d signals, want %d, in %d stops", len(got), n, samples)
	}
	for i, e := range got {
		if want := (event{int32(realTime), siQueue, int32(os.Getpid()), int32(i)}); e != want {
			s.t.Fatalf("signal %d came as %+v, want %+v", i, e, want)
		}
	}
}

// handledHeld sends signals of several kinds while the threads are stopped: each comes once, the
// real-time ones in their order.
func handledHeld(s *scene) {
	self := int32(os.Getpid())
	want := []event{{int32(unix.SIGHUP), siTkill, self, 0}, {int32(unix.SIGUSR1), siUser, self, 0}}
	for !s.whileHeld(s.all(), func() {
		for i := range 30 {
			queue(s.pid, realTime, int32(i))
		}
		s.send(unix.SIGUSR1)
		unix.Tgkill(s.pid, s.pid, unix.SIGHUP)
	}) {
		s.restart("1")
	}
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

// endAtAnyMoment ends the process while it is inspected. Its parent must be told though
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
		if err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE},
			0); err != nil {
			s.t.Skipf("SCHED_IDLE: %v", err)
		}
	}
	start(s.t, "witness", "4")
	for _, opt := range ways {
		begun := time.Now()
		snap := takeSnapshot(s.t, s.p, opt)
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
			s.heard(s.t, "stopped "+itoa(int(before)))
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
			s.heard(s.t, "continued")
			want++
		}
		s.running()
		if got := s.handled(want); len(got) != want {
			s.t.Errorf("handled %d signals, want %d", len(got), want)
		}
	}
}
