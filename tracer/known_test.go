//go:build linux

package tracer

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
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
		p := openTarget(t, c.pid())
		counters, err := p.TaskCounters(&procfile.Task{}, c.pid())
		f, ok := p.readFacts(c.pid(), &procfile.Task{})
		if err != nil || !ok || f.syscall == nil {
			t.Fatal(f, err)
		}
		if counters.CPU == 0 {
			t.Skip("the kernel has no schedstat: every thread is read again")
		}
		if row.ran {
			counters.CPU -= time.Nanosecond
		}
		s := takeSnapshot(t, p, StopOptions{Known: func(tid int) (Known, bool) {
			return Known{"as before", 'S', procfs.Syscall(*f.syscall), counters}, tid == c.pid()
		}})
		if got := s.Threads[0]; got.Comm != row.want || got.State != 'S' || got.Syscall == nil {
			t.Errorf("%s: %q, state %c, %+v, want %q", row.name, got.Comm, got.State, got.Syscall, row.want)
		}
		waitState(t, c.pid(), 'S')
	}
}

// TestTaskReader: files of a thread that is there, longer than what was read before, and of one that is not.
func TestTaskReader(t *testing.T) {
	c := start(t, "target", "sleep")
	waitState(t, c.pid(), 'S')
	p := openTarget(t, c.pid())
	var r procfile.Task
	for _, name := range []string{"schedstat", "smaps", "schedstat"} {
		b, err := p.ReadTask(&r, c.pid(), name)
		if err != nil || len(b) == 0 || name == "smaps" && len(b) < 2048 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if _, err := p.ReadTask(&r, 1, "stat"); err != ErrNoThread {
		t.Errorf("a thread of another process: %v", err)
	}
	if got := testing.AllocsPerRun(10, func() { _, _ = p.ReadTask(&r, c.pid(), "stat") }); got > 0 {
		t.Errorf("a read allocates %v times", got)
	}
}

func TestTaskCount(t *testing.T) {
	c := start(t, "threads", 20, 1)
	p := openTarget(t, c.pid())
	ids, err := p.tasks.IDs(nil)
	n, ok := p.tasks.Count()
	if err != nil || len(ids) != 21 || !ok || n != 21 {
		t.Errorf("list: %d threads, %v; count: %d, %v; want 21", len(ids), err, n, ok)
	}
}
