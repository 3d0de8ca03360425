package work

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
)

func TestSpend(t *testing.T) {
	b := New(10, 0)
	if !b.Spend(10) || b.Spend(1) {
		t.Error("of 10 steps: want 10 to be given and then none")
	}
	if err := b.Err(); err != ErrSpent {
		t.Errorf("got %v, want %v", err, ErrSpent)
	}
	b.Earn(4)
	if err := b.Err(); err != nil {
		t.Errorf("after some came back: got %v", err)
	}
	if b.Spend(5) || b.Spend(1) {
		t.Error("5 of 4 were given, or something was left")
	}
}

// One file has half, and what it takes is gone for the others too.
func TestShare(t *testing.T) {
	run := New(100, 100) // so few that nothing is set aside
	file := run.Share()
	if file.Spend(51) {
		t.Error("a file was given more than half")
	}
	if !run.Spend(40) {
		t.Error("the other half is gone")
	}
	other := run.Share()
	if !other.Hold(50) || other.Hold(1) || !run.Hold(50) || run.Hold(1) {
		t.Error("bytes: want 50 for a file, 50 besides, and no more")
	}
	other.Release(50)
	if !run.Hold(50) {
		t.Error("what a file gave back is gone")
	}
	if run.Stop(errStop); file.Err() != errStop || file.Spend(0) {
		t.Errorf("a file after the run was stopped: got %v, want %v", file.Err(), errStop)
	}
}

// What is set aside for a file stays when others have taken all the rest.
func TestAside(t *testing.T) {
	run := New(1<<30, 0)
	file, greedy := run.Share(), run.Share()
	for greedy.Spend(1 << 10) {
	}
	for run.Spend(1 << 10) {
	}
	if run.Err() != ErrSpent || greedy.Err() != ErrSpent {
		t.Fatalf("got %v and %v, want %v", run.Err(), greedy.Err(), ErrSpent)
	}
	if err := file.Err(); err != nil || !file.Spend(setAside) {
		t.Errorf("what was set aside is gone: %v", err)
	}
	if file.Err() != ErrSpent || file.Spend(1) {
		t.Error("more than was set aside was given")
	}
}

// Who was refused hears why, wherever it was that something lacked.
func TestRefusal(t *testing.T) {
	run := New(1<<30, 0)
	file := run.Share()
	for run.Spend(1 << 20) {
	}
	if file.Spend(setAside+1) || file.Err() != ErrSpent || file.Refusal() != ErrSpent {
		t.Errorf("a file after the run is spent: got %v, %v, want %v", file.Err(), file.Refusal(), ErrSpent)
	}
	run.Earn(1 << 20)
	if file.Err() != nil || file.Refusal() != ErrSpent {
		t.Errorf("when some came back: got %v, %v, want none and %v", file.Err(), file.Refusal(), ErrSpent)
	}
}

// What a run earns comes to its shares too, also to those that had used up theirs.
func TestEarn(t *testing.T) {
	run := New(100, 0)
	file := run.Share()
	inner := file.Share()
	file.Spend(1000)
	run.Earn(30)
	if err := file.Err(); err != nil || !file.Spend(30) || file.Spend(1) {
		t.Errorf("of 30 steps earned: %v, want them and no more", err)
	}
	file.Earn(1)
	if !file.Spend(1) {
		t.Error("what a share earned is not there")
	}
	inner.Spend(1000)
	if run.Earn(7); !inner.Spend(7) {
		t.Error("what a run earned does not come to the share of a share")
	}
	for range 1000 {
		run.Earn(100)
	}
	if run.Spend(300) {
		t.Error("a run has earned more than it began with")
	}
}

var errStop = errors.New("stopped")

// A refused Hold takes nothing anywhere.
func TestHoldIsWhole(t *testing.T) {
	run := New(0, 10)
	a, b := run.Share(), run.Share()
	a.Hold(5)
	b.Hold(4)
	if !run.Hold(1) || b.Hold(1) {
		t.Fatal("want the last byte for the run and none for b")
	}
	run.Release(1)
	if !b.Hold(1) {
		t.Error("a refused byte is missing")
	}
}

// Nothing is bounded where nobody gave a bound.
func TestNil(t *testing.T) {
	var b *Budget
	b.Stop(errStop)
	b.Earn(1)
	b.Release(1)
	p := b.Purse()
	if b.Share() != nil || !b.Spend(1<<62) || !b.Hold(1<<62) || b.Err() != nil || !p.Spend(1<<40) || p.Spent() {
		t.Error("nil refuses something")
	}
	var none Purse
	if !none.Spend(1 << 40) {
		t.Error("the zero Purse refuses something")
	}
}

// A Purse gives no more than there is and loses no more than a portion, however small the steps are, and
// sees a stop soon. Many small ones lose little.
func TestPurse(t *testing.T) {
	b := New(10*portion, 0)
	p := b.Purse()
	n := 0
	for p.Spend(1) {
		n++
	}
	if n < 9*portion || n > 10*portion || !p.Spent() || p.Spend(1) {
		t.Errorf("got %d steps, want %d", n, 10*portion)
	}
	b = New(1<<20, 0)
	for n = 0; b.Err() == nil; n++ {
		p = b.Purse()
		p.Spend(1)
	}
	if n < 1<<20/(2*firstPortion) {
		t.Errorf("%d times one step have used up %d", n, 1<<20)
	}
	b = New(1<<40, 0)
	p = b.Purse()
	p.Spend(1)
	b.Stop(errStop)
	for n = 0; p.Spend(1); n++ {
		if n > portion {
			t.Fatal("a stop is not seen")
		}
	}
}

// A reader ends with the reason in the middle of what it reads.
func TestReader(t *testing.T) {
	b := New(1<<20, 0)
	got, err := io.ReadAll(b.Reader(bytes.NewReader(make([]byte, 4<<20)), 2))
	if err != ErrSpent || len(got) < 1<<19 || len(got) > 1<<19+atOnce {
		t.Errorf("got %d bytes, %v, want half a million and %v", len(got), err, ErrSpent)
	}
	b = New(1<<40, 0)
	r := b.Reader(bytes.NewReader(make([]byte, 4<<20)), 1)
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	b.Stop(errStop)
	if n, err := r.Read(make([]byte, 100)); n != 0 || err != errStop {
		t.Errorf("stopped: got %d bytes, %v, want %v", n, err, errStop)
	}
}

// Several goroutines together are given what there is and not more.
func TestTogether(t *testing.T) {
	b := New(8*1000, 8*1000).Share()
	var wait sync.WaitGroup
	var mu sync.Mutex
	steps, held := 0, 0
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				s, h := b.Spend(1), b.Hold(1)
				mu.Lock()
				if s {
					steps++
				}
				if h {
					held++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if steps > 4000+8000/asidePart || held != 4000 {
		t.Errorf("got %d steps and %d bytes, want at most half and what is set aside, and 4000", steps, held)
	}
}
