//go:build linux

package tracer

import (
	"errors"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/tracer/osthread"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

func openWatch(t testing.TB, p *Process, tid int) *Watch {
	t.Helper()
	w, err := p.Watch(tid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func openSampler(t testing.TB, opt SamplerOptions) *Sampler {
	t.Helper()
	l := NewSampler(opt)
	t.Cleanup(func() { l.Close() })
	return l
}

func mapsOf(t testing.TB, p *Process) *maps.Table {
	t.Helper()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// withoutCPU reports whether a thread was ready to stop, and got no CPU in the time that it had, as others have
// them all. It is interrupted again then.
func withoutCPU(err error) bool {
	var late *NotStoppedError
	return errors.As(err, &late) && late.State == 'R'
}

// stopOne makes one Stop, which must succeed.
func stopOne(t testing.TB, l *Sampler, w *Watch, c *Copy, table *maps.Table) {
	t.Helper()
	var err error
	for range 20 {
		if l.Do(func() { err = l.Stop(w, c, table) }); !withoutCPU(err) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	checkFree(t, w.PID())
}

func TestStopCopies(t *testing.T) {
	c := start(t, "threads", 3, 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	ids, _ := p.ThreadIDs()
	var got Copy
	for range 3 {
		for _, tid := range ids {
			w := openWatch(t, p, tid)
			begun := time.Now()
			stopOne(t, l, w, &got, table)
			sp, ok := got.regs.SP()
			if th := &got.Thread; th.TID != tid || !ok || th.Stack.Start > sp || th.Stack.End() <= sp ||
				th.StackErr != nil {
				t.Errorf("thread %d: sp %#x, stack %#x to %#x: %v", tid, sp, th.Stack.Start, th.Stack.End(),
					th.StackErr)
			}
			if got.Thread.Time.Before(begun) || got.Pause <= 0 || got.Pause > patience {
				t.Errorf("thread %d: at %v, for %v", tid, got.Thread.Time, got.Pause)
			}
		}
	}
}

func TestStopOutsideOfDo(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	if err := l.Stop(w, &Copy{}, mapsOf(t, p)); !errors.Is(err, errOutside) {
		t.Errorf("got %v", err)
	}
}

// TestStopOfStoppedStaysStopped samples threads that job control stopped.
func TestStopOfStoppedStaysStopped(t *testing.T) {
	c := start(t, "threads", 2, 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	unix.Kill(c.pid(), unix.SIGSTOP)
	ids, _ := p.ThreadIDs()
	var got Copy
	for _, tid := range ids {
		waitState(t, tid, 'T')
		w := openWatch(t, p, tid)
		for range 20 {
			stopOne(t, l, w, &got, mapsOf(t, p))
			waitState(t, tid, 'T')
		}
	}
	unix.Kill(c.pid(), unix.SIGCONT)
	waitState(t, c.pid(), 'S')
}

// TestStopIsNotConsumed holds a thread at the delivery of a signal: the wait leaves the stop
// to be reported again, so that the kernel keeps the signal if we die here; and the signal
// arrives when the thread is let go.
func TestStopIsNotConsumed(t *testing.T) {
	c, in := startWaits(t, "epoll")
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	waitState(t, c.pid(), 'S')
	l.Do(func() {
		if err := l.attach(&tracee{p: w.p, tid: w.tid}, attachTries, osthread.AlarmPeriod); err != nil {
			t.Error(err)
			return
		}
		unix.Kill(c.pid(), unix.SIGUSR1) // not yet interrupted, it stops to be given the signal
		sig, err := stopAndWait(l, w)
		if err != nil || sig != int(unix.SIGUSR1) {
			t.Errorf("signal %d, %v, want %d", sig, err, unix.SIGUSR1)
		}
		if e := ptrace.WaitStop(w.tid, unix.WNOHANG, &l.info); e != 0 || l.info.PID() != c.pid() ||
			l.info.Status() != int32(unix.SIGUSR1) {
			t.Errorf("reported again: %v, process %d, status %#x", e, l.info.PID(), l.info.Status())
		}
		if ptrace.Interrupt(w.tid) != 0 {
			t.Error("not interrupted")
		}
		var got Copy
		got.begin(w)
		if err := got.registers.read(p, w.tid, &l.note); err != nil {
			t.Errorf("registers: %v", err)
		}
		l.complete(w, &got, sig)
		if got.Blocked {
			t.Error("a thread that is about to run a handler is said to sleep on")
		}
		if ptrace.Detach(w.tid, sig) != 0 {
			t.Error("not detached")
		}
	})
	answer(t, c, "e")
	in.Write([]byte("x"))
	answer(t, c, "d")
}

// TestTracedByAnother has a thread that another Sampler holds: the error names who.
func TestStopOfTraced(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	w := openWatch(t, p, c.pid())
	table := mapsOf(t, p)
	other, l := openSampler(t, SamplerOptions{}), openSampler(t, SamplerOptions{})
	var got Copy
	other.Do(func() {
		if err := other.attach(&tracee{p: w.p, tid: w.tid}, attachTries, osthread.AlarmPeriod); err != nil {
			t.Error(err)
			return
		}
		var err error
		var traced *TracedError
		l.Do(func() { err = l.Stop(w, &got, table) })
		if !errors.As(err, &traced) || traced.Tracer != unix.Gettid() {
			t.Errorf("got %v, want a *TracedError of %d", err, unix.Gettid())
		}
		other.dirty = true // the end of its thread lets go
	})
	checkFree(t, c.pid())
	stopOne(t, l, w, &got, table)
}

// TestDirtySampler gives up a thread that cannot be stopped: nothing else is stopped until the
// OS thread has ended, and the next Do has another.
func TestDirtySampler(t *testing.T) {
	c := start(t, "target", "vfork", 100)
	waitState(t, c.pid(), 'D')
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	table := mapsOf(t, p)
	var got Copy
	var first, second int
	l.Do(func() {
		first = unix.Gettid()
		var not *NotStoppedError
		if err := l.Stop(w, &got, table); !errors.As(err, &not) || not.State != 'D' || not.Waited != 0 || l.Dirty() {
			t.Errorf("sampled first: got %v, dirty %v", err, l.Dirty())
		}
		w.ran = 1 // as if it had run at the last sample
		begun := time.Now()
		if err := l.Stop(w, &got, table); !errors.As(err, &not) || not.Waited == 0 || !l.Dirty() {
			t.Errorf("not sampled first: got %v, dirty %v", err, l.Dirty())
		}
		if took := time.Since(begun); took > 10*time.Second { // of the 100 that the child sleeps
			t.Errorf("took %v", took)
		}
		if err := l.Stop(w, &got, table); !errors.Is(err, ErrDirty) {
			t.Errorf("while dirty: got %v", err)
		}
	})
	checkFree(t, c.pid())
	l.Do(func() { second = unix.Gettid() })
	if l.Dirty() || first == second {
		t.Errorf("dirty %v, thread %d then %d", l.Dirty(), first, second)
	}
}

// TestWithoutAlarm does without a timer of the kernel: the wait is still bounded.
func TestWithoutAlarm(t *testing.T) {
	c := start(t, "target", "vfork", 100)
	waitState(t, c.pid(), 'D')
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	table := mapsOf(t, p)
	var got Copy
	l.Do(func() {
		l.thread.Alarm.Drop()
		w.ran = 1
		var not *NotStoppedError
		if err := l.Stop(w, &got, table); !errors.As(err, &not) || not.Waited == 0 {
			t.Errorf("got %v", err)
		}
	})
	checkFree(t, c.pid())
	spins := start(t, "threads", 0, 1, 1)
	q := openTarget(t, spins.pid())
	ws := openWatch(t, q, spinner(t, spins.pid()))
	qTable := mapsOf(t, q)
	for good, tries := 0, 0; good < 10 && tries < 100; tries++ {
		l.Do(func() {
			l.thread.Alarm.Drop()
			err := l.Stop(ws, &got, qTable)
			if err == nil {
				good++
			} else if !withoutCPU(err) || tries == 99 {
				t.Error(err)
			}
		})
	}
	checkFree(t, spins.pid())
}

// TestDeepStackIsCut copies as much of a deep stack as is allowed, and says that there is more.
func TestDeepStackIsCut(t *testing.T) {
	c := start(t, "target", "deep-thread", 200000)
	p := openTarget(t, c.pid())
	table := mapsOf(t, p)
	ids, _ := p.ThreadIDs()
	tid := ids[len(ids)-1]
	for _, row := range []struct{ limit, want int }{{0, 256 << 10}, {64 << 10, 64 << 10}} {
		l := openSampler(t, SamplerOptions{StackLimit: row.limit})
		w := openWatch(t, p, tid)
		var got Copy
		stopOne(t, l, w, &got, table)
		if n := len(got.Thread.Stack.Data); n != row.want || got.Thread.StackErr == nil {
			t.Errorf("limit %d: %d bytes, %v", row.limit, n, got.Thread.StackErr)
		}
	}
}

// TestStaleTable samples with mappings that do not hold the stack.
func TestStaleTable(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	var got Copy
	waitState(t, c.pid(), 'S')
	stopOne(t, l, w, &got, &maps.Table{})
	if sp, _ := got.regs.SP(); !got.Stale || got.Thread.Stack.End() <= sp {
		t.Errorf("stale %v, stack %#x to %#x, sp %#x", got.Stale, got.Thread.Stack.Start, got.Thread.Stack.End(), sp)
	}
	stopOne(t, l, w, &got, mapsOf(t, p))
	if got.Stale {
		t.Error("stale with the right table")
	}
}

// stopAndWait waits until a seized thread has stopped, and returns the signal to hand back.
func stopAndWait(l *Sampler, w *Watch) (sig int, err error) {
	for until := l.now() + patience; l.now() < until; {
		switch errno := l.wait(w.tid, until); {
		case errno == 0 && l.info.PID() != 0:
			return deliverySignal(&l.info), nil
		case errno != 0 && errno != unix.EINTR:
			return 0, errno
		}
	}
	return 0, errors.New("it did not stop")
}
