//go:build linux

package tracer

import (
	"errors"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/tracer/osthread"
	"github.com/fpstack/fpstack/tracer/ptrace"

	"golang.org/x/sys/unix"
)

// stopSleeper stops the main thread of a target, which sleeps.
func stopSleeper(t *testing.T, l *Sampler, w *Watch, c *Copy) error {
	t.Helper()
	waitState(t, w.TID(), 'S')
	var err error
	table := mapsOf(t, w.p)
	l.Do(func() { err = l.Stop(w, c, table) })
	checkFree(t, w.PID())
	return err
}

func TestEINTRIsRepairedOnlyOnRequest(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("for amd64 alone")
	}
	for _, row := range []struct {
		name, mode string
		opt        SamplerOptions
		want       string // what the target says after one stop and a byte for it
		writes     int
	}{
		{"not repaired", "epoll", SamplerOptions{}, "ed", 0},
		{"repaired", "epoll", SamplerOptions{RepairEINTR: true}, "d", 1},
		{"repaired, but the call has a limit", "epoll-limit", SamplerOptions{RepairEINTR: true}, "ed", 0},
		{"repaired, a call that goes on by itself", "echo", SamplerOptions{RepairEINTR: true}, "x", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, in := startWaits(t, row.mode)
			l := openSampler(t, row.opt)
			w := openWatch(t, openTarget(t, c.pid()), c.pid())
			var got Copy
			if err := stopSleeper(t, l, w, &got); err != nil {
				t.Fatal(err)
			}
			if got.Thread.Syscall == nil || got.Blocked == (row.want == "ed") {
				t.Errorf("call %+v, blocked %v", got.Thread.Syscall, got.Blocked)
			}
			in.Write([]byte("x"))
			answer(t, c, row.want)
			if l.writes != row.writes {
				t.Errorf("%d registers were written, want %d", l.writes, row.writes)
			}
		})
	}
}

// TestRepairOnceASleep asks for a second stop of a call that was restarted: it is refused
// until the thread has been woken.
func TestRepairOnceASleep(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("for amd64 alone")
	}
	c, in := startWaits(t, "epoll")
	l := openSampler(t, SamplerOptions{RepairEINTR: true})
	w := openWatch(t, openTarget(t, c.pid()), c.pid())
	var got Copy
	refused := 0
	for range 20 {
		if err := stopSleeper(t, l, w, &got); err != nil {
			t.Fatal(err)
		}
		base := got.Counters
		waitState(t, c.pid(), 'S')
		now, _ := w.Counters()
		err := stopSleeper(t, l, w, &got)
		var not *NotStoppedError
		if errors.As(err, &not) && not.Repaired {
			refused++
		} else if base.Unmoved(now) || err != nil { // else it lost its CPU on the way back, and seems woken
			t.Fatalf("second stop of a sleep: got %v", err)
		}
		waitState(t, c.pid(), 'S') // else what it has to do now may be done on its way back, which does not show
		in.Write([]byte("x"))
		answer(t, c, "d")
	}
	if refused == 0 {
		t.Error("no second stop was refused")
	}
}

// TestRepairedCallEndsByHandler sends a signal that is handled while the thread is stopped, after
// its call was restarted: the handler must end the call as if nobody had stopped it.
func TestRepairedCallEndsByHandler(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("for amd64 alone")
	}
	c, in := startWaits(t, "epoll")
	l := openSampler(t, SamplerOptions{RepairEINTR: true})
	w := openWatch(t, openTarget(t, c.pid()), c.pid())
	waitState(t, c.pid(), 'S')
	var got Copy
	table := mapsOf(t, w.p)
	l.Do(func() {
		got.begin(w)
		a := interrupted{tracee: tracee{p: w.p, tid: w.tid}, w: w, c: &got, table: table}
		if err := l.attach(&a.tracee, attachTries, osthread.AlarmPeriod); err != nil || ptrace.Interrupt(w.tid) != 0 {
			t.Errorf("attach: %v", err)
			return
		}
		var err error
		if a.signal, err = stopAndWait(l, w); err == nil {
			err = l.take(&a)
		}
		if err != nil {
			t.Error(err)
		}
	})
	in.Write([]byte("x"))
	answer(t, c, "d")
	waitState(t, c.pid(), 'S')
	l.Do(func() { // the same, step by step, with the signal in between
		got.begin(w)
		err := l.attach(&tracee{p: w.p, tid: w.tid}, attachTries, osthread.AlarmPeriod)
		if err != nil || ptrace.Interrupt(w.tid) != 0 {
			t.Errorf("attach: %v", err)
			return
		}
		sig, err := stopAndWait(l, w)
		if err2 := got.registers.read(w.p, w.tid, &l.note); err != nil || err2 != nil || sig != 0 {
			t.Errorf("signal %d, %v, %v", sig, err, err2)
		}
		l.complete(w, &got, sig)
		unix.Kill(w.tid, unix.SIGUSR1)
		if ptrace.Detach(w.tid, sig) != 0 {
			t.Error("not detached")
		}
	})
	if l.writes != 2 {
		t.Errorf("%d registers were written, want 2", l.writes)
	}
	answer(t, c, "e")
	in.Write([]byte("x"))
	answer(t, c, "d")
}
