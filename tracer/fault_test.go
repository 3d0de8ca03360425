//go:build linux

package tracer

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer/osthread"
)

// faulty is a context that panics when it is called for the n-th time, which the tracer's thread
// does all through a stop.
type faulty struct {
	context.Context
	left atomic.Int32
}

func (f *faulty) Err() error {
	if f.left.Add(-1) == 0 {
		panic("of the test")
	}
	return nil
}

// TestFaultOnTracerThread has a panic at every place of a stop that asks for the context: all threads are let go, and
// what was had by then is shown.
func TestFaultOnTracerThread(t *testing.T) {
	c := start(t, "threads", 3, 1, 1)
	p := openTarget(t, c.pid())
	reported, whole := 0, false
	for n := int32(1); n < 200 && !whole; n++ {
		ctx := &faulty{Context: context.Background()}
		ctx.left.Store(n)
		var s *snapshot.Snapshot
		err := osthread.Guard(func() {
			var e error
			if s, e = p.Snapshot(ctx, StopOptions{}); e != nil {
				t.Errorf("fault at %d: %v", n, e)
			}
		})
		checkFree(t, c.pid())
		var fault *osthread.FaultError
		switch {
		case errors.As(err, &fault): // the caller's own goroutine called
		case s != nil && strings.Contains(strings.Join(s.Problems, ""), "of the test"):
			reported++
		case ctx.left.Load() > 0:
			whole = true // it is not called as often
		}
	}
	if reported < 3 || !whole {
		t.Errorf("%d faults were reported; to the end: %v", reported, whole)
	}
	if s := takeSnapshot(t, p, StopOptions{}); len(s.Problems) > 0 || len(s.Threads) < 4 {
		t.Errorf("afterwards: %d threads, %q", len(s.Threads), s.Problems)
	}
}

// TestFaultOfCopier ends what was under way on it, and nothing else.
func TestFaultOfCopier(t *testing.T) {
	c := startCopier()
	defer c.close()
	var fault *osthread.FaultError
	if err := c.do(func() { panic("of the test") }, time.Minute); !errors.As(err, &fault) ||
		fault.Value != "of the test" || len(fault.Stack) == 0 {
		t.Errorf("got %v", err)
	}
	ran := false
	if err := c.do(func() { ran = true }, time.Minute); err != nil || !ran {
		t.Errorf("afterwards: %v, ran %v", err, ran)
	}
}

// TestFaultInDo panics with a thread interrupted: it is let go, and the Sampler serves on.
func TestFaultInDo(t *testing.T) {
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, spinner(t, c.pid()))
	table := mapsOf(t, p)
	var got Copy
	for range 20 {
		err := l.Do(func() {
			if err := seizeAndInterrupt(l, w, &got, table); err != nil {
				t.Error(err)
			}
			panic("of the test")
		})
		var fault *osthread.FaultError
		if !errors.As(err, &fault) {
			t.Fatalf("got %v", err)
		}
		checkFree(t, c.pid())
		if err := l.Do(func() {
			if err := l.Stop(w, &got, table); err != nil && !withoutCPU(err) {
				t.Error(err)
			}
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestFaultInAsk(t *testing.T) {
	var o errand.Owner
	var fault *osthread.FaultError
	if _, err := ask(&o, o.Paths(), func(func()) (int, error) { panic("broken") }, nil); !errors.As(err, &fault) {
		t.Errorf("error %v, want a *FaultError", err)
	}
}
