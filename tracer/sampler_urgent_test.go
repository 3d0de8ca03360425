//go:build linux

package tracer

import (
	"testing"
	"time"

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
			if err := l.Interrupt(w, &got, table); err != nil {
				t.Fatal(err)
			}
			refused = l.urgency.refused
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

// TestPromptSleep: the OS thread comes before others once it wakes from a prompt Sleep, until what it interrupts has
// been collected, or it sleeps in another way.
func TestPromptSleep(t *testing.T) {
	l := openSampler(t, SamplerOptions{})
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
		if at := policy(); at != unix.SCHED_FIFO && !l.urgency.refused {
			t.Errorf("after a prompt Sleep: policy %d", at)
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
	if l.urgency.refused {
		t.Skip("real-time scheduling is refused here")
	}
}
