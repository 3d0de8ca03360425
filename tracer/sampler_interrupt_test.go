//go:build linux

package tracer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watchOthers opens all threads of p but the first, which only waits for the others.
func watchOthers(t *testing.T, p *Process, n int) []*Watch {
	t.Helper()
	var ids []int
	for end := time.Now().Add(10 * time.Second); len(ids) <= n; {
		if ids, _ = p.ThreadIDs(); time.Now().After(end) {
			t.Fatalf("%d threads, want %d", len(ids), n+1)
		}
	}
	var list []*Watch
	for _, tid := range ids {
		if tid != p.pid {
			list = append(list, openWatch(t, p, tid))
		}
	}
	return list
}

// monotonic is CLOCK_MONOTONIC, nanoseconds.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

// interruptAll interrupts all of list, and fails the test if one cannot be.
func interruptAll(t *testing.T, l *Sampler, list []*Watch) (copies []*Copy) {
	t.Helper()
	for _, w := range list {
		c := new(Copy)
		if err := seizeAndInterrupt(l, w, c, mapsOf(t, w.p)); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, c)
	}
	return copies
}

// TestThreadsStopWhereTheyWereInterrupted interrupts eight threads that share a CPU at one moment. Most of them
// come to the CPU, and stop, long after that; none has run a step of its program meanwhile.
func TestThreadsStopWhereTheyWereInterrupted(t *testing.T) {
	const (
		threads = 8
		running = 5e6 // ns in which a thread that runs surely has stopped
	)
	c := start(t, "target", "stamps", threads)
	p := openTarget(t, c.pid())
	list := watchOthers(t, p, threads)
	l := openSampler(t, SamplerOptions{})
	late := 0
	for end := time.Now().Add(20 * time.Second); late < 20; {
		if time.Now().After(end) {
			t.Fatalf("only %d samples were late enough to show anything", late)
		}
		l.Do(func() {
			interrupted := interruptAll(t, l, list)
			until := monotonic(t)
			for range interrupted {
				got, err := l.Collect(10 * time.Second)
				if got == nil || err != nil {
					t.Fatalf("collected %v, %v", got, err)
				}
				i := slices.Index(interrupted, got)
				if i < 0 || got.Thread.TID != list[i].tid {
					t.Fatalf("thread %d came with a Copy that was given for another", got.Thread.TID)
				}
				if monotonic(t)-until > 2*running {
					late++
				}
				at := bytes.Index(got.Thread.Stack.Data, []byte("..spmats"))
				if at < 0 {
					continue // it has not begun
				}
				stamp := int64(binary.LittleEndian.Uint64(got.Thread.Stack.Data[at+8:]))
				if stamp > until+running {
					t.Errorf("thread %d went on for %v after it was interrupted", got.Thread.TID,
						time.Duration(stamp-until))
				}
			}
			if got, err := l.Collect(0); got != nil || err != nil {
				t.Errorf("one too many: %v, %v", got, err)
			}
		})
	}
	checkFree(t, c.pid())
}

// TestCollectWaitsNoLonger has nobody stop in time: the time given is kept, within what a busy machine may
// take, and the threads come later.
func TestCollectWaitsNoLonger(t *testing.T) {
	c := start(t, "target", "vfork", 1)
	waitState(t, c.pid(), 'D')
	p := openTarget(t, c.pid())
	w := openWatch(t, p, c.pid())
	l := openSampler(t, SamplerOptions{MaxPause: 10 * time.Second})
	var got Copy
	l.Do(func() {
		w.ran = 1 // as if it had run at the last sample
		if err := seizeAndInterrupt(l, w, &got, mapsOf(t, p)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		c, err := l.Collect(20 * time.Millisecond)
		if took := time.Since(begun); c != nil || err != nil || took < 20*time.Millisecond ||
			took > 500*time.Millisecond {
			t.Errorf("got %v, %v after %v", c, err, took)
		}
		if c, err = l.Collect(10 * time.Second); c != &got || err != nil {
			t.Errorf("got %v, %v, want the Copy", c, err)
		}
	})
	if l.Dirty() {
		t.Error("dirty")
	}
	checkFree(t, c.pid())
}

// TestCollectGivesUp has a thread that does not stop: it comes with the reason, and those beside it with
// ErrDirty, or as they stopped before.
func TestCollectGivesUp(t *testing.T) {
	stuck, other := start(t, "target", "vfork", 100), start(t, "target", "stamps", 1)
	waitState(t, stuck.pid(), 'D')
	p, q := openTarget(t, stuck.pid()), openTarget(t, other.pid())
	list := append(watchOthers(t, q, 1), openWatch(t, p, stuck.pid()))
	l := openSampler(t, SamplerOptions{MaxPause: 30 * time.Millisecond})
	l.Do(func() {
		list[1].ran = 1
		interrupted := interruptAll(t, l, list)
		for range interrupted {
			c, err := l.Collect(10 * time.Second)
			var not *NotStoppedError
			switch {
			case c == interrupted[1] && errors.As(err, &not) && not.State == 'D' && not.Waited >= 30*time.Millisecond:
			case c == interrupted[0] && (err == nil || errors.Is(err, ErrDirty)):
			default:
				t.Errorf("got %v, %v", c, err)
			}
		}
		if !l.Dirty() {
			t.Error("not dirty")
		}
		if err := seizeAndInterrupt(l, list[0], interrupted[0], mapsOf(t, q)); !errors.Is(err, ErrDirty) {
			t.Errorf("interrupted while dirty: %v", err)
		}
	})
	checkFree(t, stuck.pid())
	checkFree(t, other.pid())
}

// TestInterruptedThreadIsLetGo leaves threads that were interrupted to the end of Do, and to GiveUp.
func TestInterruptedThreadIsLetGo(t *testing.T) {
	c := start(t, "target", "stamps", 4)
	p := openTarget(t, c.pid())
	list := watchOthers(t, p, 4)
	l := openSampler(t, SamplerOptions{})
	for _, giveUp := range []bool{false, true} {
		l.Do(func() {
			interruptAll(t, l, list)
			if giveUp {
				l.GiveUp()
				if got, err := l.Collect(0); got != nil || err != nil || !l.Dirty() {
					t.Errorf("given up: %v, %v, dirty %v", got, err, l.Dirty())
				}
			}
		})
		checkFree(t, c.pid())
		for _, w := range list {
			if state, err := w.state(); err != nil || state == 't' {
				t.Errorf("thread %d: state %q, %v", w.tid, state, err)
			}
		}
	}
	stopOne(t, l, list[0], new(Copy), mapsOf(t, p))
}

// TestInterruptedThreadEnds kills a process while its threads are interrupted: each comes, as one that has ended.
func TestInterruptedThreadEnds(t *testing.T) {
	c := start(t, "target", "stamps", 4)
	p := openTarget(t, c.pid())
	list := watchOthers(t, p, 4)
	l := openSampler(t, SamplerOptions{})
	l.Do(func() {
		interrupted := interruptAll(t, l, list)
		unix.Kill(c.pid(), unix.SIGKILL)
		for range interrupted {
			if got, err := l.Collect(10 * time.Second); got == nil || err != nil && !errors.Is(err, ErrNoThread) &&
				!errors.Is(err, ErrDirty) {
				tid := 0
				if got != nil {
					tid = got.Thread.TID
				}
				t.Errorf("thread %d of %v: copied %v, %v", tid, c.pid(), got != nil, err)
			}
		}
	})
	c.Wait() // comes to its end only if nobody holds one of its threads
}
