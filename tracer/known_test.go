//go:build linux

package tracer

import (
	"context"
	"testing"
	"time"
)

// TestKnownThreads: what was read of a sleeper before is not read again, unless it ran since.
func TestKnownThreads(t *testing.T) {
	c := start(t, "target", "sleep")
	waitState(t, c.pid(), 'S')
	for _, row := range []struct {
		name string
		ran  bool
		want string
	}{{"asleep since", false, "as before"}, {"ran since", true, "target"}} {
		w := NewWaitFacts()
		facts, failed := w.Begin(context.Background(), []int{c.pid()})
		if len(failed) > 0 {
			t.Fatal(failed)
		}
		th := facts.Thread(c.pid())
		th.Comm = "as before"
		if th.First.Counters.CPU == 0 {
			t.Skip("the kernel has no schedstat: every thread is read again")
		}
		if row.ran {
			th.First.Counters.CPU -= time.Nanosecond
		}
		s := takeSnapshot(t, openTarget(t, c.pid()), StopOptions{Known: facts})
		if got := s.Threads[0]; got.Comm != row.want || got.State != 'S' || got.Syscall == nil {
			t.Errorf("%s: %q, state %c, %+v, want %q", row.name, got.Comm, got.State, got.Syscall, row.want)
		}
		w.Close()
		waitState(t, c.pid(), 'S')
	}
}

// TestTaskReader: files of a thread that is there, longer than what was read before, and of one that is not.
func TestTaskReader(t *testing.T) {
	c := start(t, "target", "sleep")
	waitState(t, c.pid(), 'S')
	p := openTarget(t, c.pid())
	var r taskReader
	for _, name := range []string{"schedstat", "smaps", "schedstat"} {
		b, err := r.read(p, c.pid(), name)
		if err != nil || len(b) == 0 || name == "smaps" && len(b) < 2048 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if _, err := r.read(p, 1, "stat"); err != ErrNoThread {
		t.Errorf("a thread of another process: %v", err)
	}
	if got := testing.AllocsPerRun(10, func() { _, _ = r.read(p, c.pid(), "stat") }); got > 0 {
		t.Errorf("a read allocates %v times", got)
	}
}
