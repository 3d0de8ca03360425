//go:build linux

package tracer

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

// TestUrgentWhileInterrupted has the OS thread come before others only as long as somebody may be stopped because of
// it.
func TestUrgentWhileInterrupted(t *testing.T) {
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, spinner(t, c.pid()))
	table := mapsOf(t, p)
	var got Copy
	policy := func() uint32 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	refused := false
	call := func(f func()) {
		l.Do(func() {
			if at := policy(); at != unix.SCHED_NORMAL {
				t.Errorf("with nobody interrupted: policy %d", at)
			}
			if err := seizeAndInterrupt(l, w, &got, table); err != nil {
				t.Fatal(err)
			}
			refused = l.urgency.Refused
			if at := policy(); !refused && at != unix.SCHED_FIFO {
				t.Errorf("with one interrupted: policy %d", at)
			}
			f()
			if at := policy(); at != unix.SCHED_NORMAL {
				t.Errorf("afterwards: policy %d", at)
			}
		})
	}
	for range 5 {
		call(func() {
			if c, err := l.Collect(20 * time.Second); c == nil || err != nil {
				t.Fatalf("it does not stop: %v", err)
			}
		})
	}
	call(l.GiveUp)
	checkFree(t, c.pid())
	if refused {
		t.Skip("real-time scheduling is refused here")
	}
}

// TestPromptSleep: the OS thread comes before others once it wakes from a prompt Sleep, also when what it interrupts
// has been collected, until it sleeps in another way.
func TestPromptSleep(t *testing.T) {
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w, table := openWatch(t, p, spinner(t, c.pid())), mapsOf(t, p)
	policy := func() uint32 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	l.Do(func() {
		l.crowded = 0
		l.Sleep(time.Millisecond, true)
		if at := policy(); at != unix.SCHED_NORMAL {
			t.Errorf("after a prompt Sleep where a CPU is idle: policy %d", at)
		}
		l.crowded = 8
		l.Sleep(time.Millisecond, true)
		if at := policy(); at != unix.SCHED_FIFO && !l.urgency.Refused {
			t.Errorf("after a prompt Sleep: policy %d", at)
		}
		var got Copy
		if err := seizeAndInterrupt(l, w, &got, table); err != nil {
			t.Fatal(err)
		}
		if c, err := l.Collect(20 * time.Second); c == nil || err != nil {
			t.Fatalf("it does not stop: %v", err)
		}
		if at := policy(); at != unix.SCHED_FIFO && !l.urgency.Refused {
			t.Errorf("after a prompt Sleep and a sample: policy %d", at)
		}
		l.Sleep(time.Millisecond, false)
		if at := policy(); at != unix.SCHED_NORMAL {
			t.Errorf("after another: policy %d", at)
		}
		l.Sleep(time.Millisecond, true)
	})
	l.Do(func() {
		if at := policy(); at != unix.SCHED_NORMAL {
			t.Errorf("after the end of Do: policy %d", at)
		}
	})
	if l.urgency.Refused {
		t.Skip("real-time scheduling is refused here")
	}
}

// TestUrgentDump: of the threads of this program one comes before others while threads are stopped for a Snapshot, and
// none afterwards.
func TestUrgentDump(t *testing.T) {
	p := openTarget(t, start(t, "threads", 10, 1).pid())
	refused := false
	for _, opt := range []StopOptions{{}, {Rolling: true}} {
		var calls, urgent atomic.Int32 // a late call is given up
		opt.Copiers = []snapshot.Copier{copyFunc(func(*snapshot.Thread, *snapshot.Fetcher) {
			urgent.Add(int32(urgentThreads(t)))
			calls.Add(1)
		})}
		s := takeSnapshot(t, p, opt)
		refused = p.thread.Urgency.Refused
		if n := calls.Load(); len(s.Problems) == 0 && (n == 0 || !refused && urgent.Load() != n) {
			t.Errorf("rolling %v: one thread was urgent at %d of %d stopped threads", opt.Rolling, urgent.Load(), n)
		}
		if n := urgentThreads(t); n != 0 {
			t.Errorf("rolling %v: afterwards %d threads are urgent", opt.Rolling, n)
		}
	}
	if refused {
		t.Skip("real-time scheduling is refused here")
	}
}

// urgentThreads is how many threads of this program have the real-time class.
func urgentThreads(t *testing.T) (n int) {
	fd, err := procfile.Open(unix.AT_FDCWD, "/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	tids, err := (&procfile.List{FD: fd}).IDs(make([]int, 0, 64))
	if err != nil || len(tids) == 0 {
		t.Fatalf("%d threads, %v", len(tids), err)
	}
	for _, tid := range tids {
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil && attr.Policy == unix.SCHED_FIFO {
			n++
		}
	}
	return n
}
