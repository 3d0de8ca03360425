package errand

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// hold is a call that does not come back until it is let go, and what it was given to drop.
type hold struct {
	asked, release chan bool
	dropped        chan int
}

func newHold() *hold { return &hold{make(chan bool, 1), make(chan bool), make(chan int, 1)} }

func (h *hold) call(func()) (int, error) {
	h.asked <- true
	<-h.release
	return 7, nil
}

func TestDoGivesUp(t *testing.T) {
	var one, other Owner
	h := newHold()
	dead, fine := Device(1<<63), Device(1<<63|1)
	begun := time.Now()
	if _, err := Do(&one, dead, h.call, func(n int) { h.dropped <- n }); !errors.Is(err, ErrNoAnswer) {
		t.Fatalf("error %v, want ErrNoAnswer", err)
	}
	if took := time.Since(begun); took < Slow || took > 10*Slow {
		t.Errorf("it took %v, want about %v", took, Slow)
	}
	answer := func(func()) (int, error) { return 1, nil }
	for _, e := range []*Owner{&one, &other} {
		begun = time.Now()
		if _, err := Do(e, dead, answer, nil); !errors.Is(err, ErrNoAnswer) || time.Since(begun) > Slow/2 {
			t.Errorf("while a call is out: %v after %v, want ErrNoAnswer at once", err, time.Since(begun))
		}
	}
	if n, err := Do(&one, fine, answer, nil); n != 1 || err != nil {
		t.Errorf("another file system: %d, %v", n, err)
	}
	close(h.release)
	if n := <-h.dropped; n != 7 {
		t.Errorf("dropped %d, want 7", n)
	}
	if n, err := Do(&one, dead, answer, nil); n != 1 || err != nil {
		t.Errorf("when it has come back: %d, %v", n, err)
	}
}

func TestDoWaitsForWhatMoves(t *testing.T) {
	var e Owner
	slow := func(alive func()) (int, error) {
		for range 4 {
			time.Sleep(Slow / 2)
			alive()
		}
		return 3, nil
	}
	if n, err := Do(&e, e.Paths(), slow, nil); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestDoIsBoundedForOneProcess(t *testing.T) {
	var e, other Owner
	h := newHold()
	h.asked = make(chan bool, mostOfOne)
	gone := make(chan error, mostOfOne)
	for i := range mostOfOne {
		go func() {
			_, err := Do(&e, Device(1<<62|uint64(i)), h.call, func(n int) { h.dropped <- n })
			gone <- err
		}()
	}
	for range mostOfOne {
		if err := <-gone; !errors.Is(err, ErrNoAnswer) {
			t.Error(err)
		}
	}
	answer := func(func()) (int, error) { return 1, nil }
	if _, err := Do(&e, Device(5), answer, nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("one call more than %d: %v", mostOfOne, err)
	}
	if _, err := Do(&other, Device(5), answer, nil); err != nil {
		t.Errorf("one of another process: %v", err)
	}
	close(h.release)
	for range mostOfOne {
		<-h.dropped
	}
	if _, err := Do(&e, Device(5), answer, nil); err != nil {
		t.Errorf("when all have come back: %v", err)
	}
}

// Of two calls to one file system that are out the first to come back says nothing of the other.
func TestDoWaitsForAllThatAreOut(t *testing.T) {
	var e Owner
	dead := Device(1<<61 | 1)
	answer := func(func()) (int, error) { return 1, nil }
	calls := []*hold{newHold(), newHold()}
	gone := make(chan error, len(calls))
	for _, h := range calls {
		go func() {
			_, err := Do(&e, dead, h.call, func(n int) { h.dropped <- n })
			gone <- err
		}()
		<-h.asked
	}
	for range calls {
		if err := <-gone; !errors.Is(err, ErrNoAnswer) {
			t.Error(err)
		}
	}
	for i, h := range calls {
		if _, err := Do(&e, dead, answer, nil); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("%d of 2 have come back: %v, want ErrNoAnswer", i, err)
		}
		close(h.release)
		<-h.dropped
	}
	if n, err := Do(&e, dead, answer, nil); n != 1 || err != nil {
		t.Errorf("all have come back: %d, %v", n, err)
	}
}

// A call that has no CPU, or uses one, says nothing of a file system.
func TestDoWaitsForACPU(t *testing.T) {
	if ownThread() == "" {
		t.Skip("states of threads are not known on this system")
	}
	var e Owner
	computes := func(func()) (int, error) {
		runtime.LockOSThread() // the thread is the call's own, as in a system call
		defer runtime.UnlockOSThread()
		for until := time.Now().Add(2 * Slow); time.Now().Before(until); {
		}
		return 5, nil
	}
	if n, err := Do(&e, e.Paths(), computes, nil); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
