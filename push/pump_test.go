package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// store is a store that says what a test wants, and remembers what it took.
type store struct {
	mu     sync.Mutex
	answer func(try int) error
	tries  int
	took   []string
	at     []time.Duration // of each try
	begin  time.Time
}

func (s *store) send(_ context.Context, r *Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.at = append(s.at, time.Since(s.begin))
	err := s.answer(s.tries)
	if err == nil {
		s.took = append(s.took, string(r.Body))
	}
	return err
}

// pump runs a Pump in drawn time over a store, puts requests a second apart, and lets an hour pass.
func pump(t *testing.T, answer func(try int) error, requests int, l Limits) (*store, Balance) {
	t.Helper()
	s := &store{answer: answer}
	var b Balance
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s.begin = time.Now()
		p := NewPump(s.send, 1, open(t, dir, l), &Accounts{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Run(ctx)
		for i := range requests {
			r := request(fmt.Sprint(i), 0)
			r.Made = time.Now()
			p.Put(r)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		b = p.Balance()
	})
	if b.Lost() != 0 {
		t.Errorf("the accounts do not add up: %v", b)
	}
	return s, b
}

var roomy = Limits{Bytes: 1 << 20, Age: 24 * time.Hour}

// TestPumpSends: each request goes once, in its order.
func TestPumpSends(t *testing.T) {
	s, b := pump(t, func(int) error { return nil }, 5, roomy)
	if b.Sent != 10 || len(b.Dropped) != 0 || fmt.Sprint(s.took) != "[0 1 2 3 4]" {
		t.Errorf("%v, took %v", b, s.took)
	}
}

// TestPumpComesBack: a store that is away for long is left alone more and more, and gets everything in the end, in its
// order; one that says when is asked then.
func TestPumpComesBack(t *testing.T) {
	away := &Refusal{Why: "away", Again: true}
	s, b := pump(t, func(try int) error {
		if try <= 12 {
			return away
		}
		return nil
	}, 3, roomy)
	if b.Sent != 6 || fmt.Sprint(s.took) != "[0 1 2]" {
		t.Errorf("%v, took %v", b, s.took)
	}
	for i := 2; i < 12; i++ {
		if gap := s.at[i] - s.at[i-1]; gap < firstWait/2 || gap > lastWait {
			t.Errorf("try %d after %v", i, gap)
		}
	}
	if gap := s.at[11] - s.at[10]; gap < lastWait/2 {
		t.Errorf("the last wait is %v", gap)
	}
	s, _ = pump(t, func(try int) error {
		if try == 1 {
			return &Refusal{Why: "busy", Again: true, After: 77 * time.Second}
		}
		return nil
	}, 1, roomy)
	if len(s.at) != 2 || s.at[1]-s.at[0] < 77*time.Second ||
		s.at[1]-s.at[0] > 85*time.Second {
		t.Errorf("tries at %v", s.at)
	}
}

// TestPumpGivesUp: what a store will never take is dropped and counted, and does not hold the others.
func TestPumpGivesUp(t *testing.T) {
	s, b := pump(t, func(try int) error {
		switch try {
		case 1:
			return &Refusal{Why: "400"}
		case 2:
			return &PartError{1, "some"}
		}
		return nil
	}, 3, roomy)
	if want := map[Reason]int{Refused: 2, InPart: 1}; b.Sent != 3 || !maps.Equal(b.Dropped, want) ||
		fmt.Sprint(s.took) != "[2]" {
		t.Errorf("%v, took %v", b, s.took)
	}
}

// TestPumpBounds: while a store is away the spool stays within its bounds, and all that is dropped is counted.
func TestPumpBounds(t *testing.T) {
	_, b := pump(t, func(int) error { return errors.New("away") }, 50, limits)
	if b.Sent != 0 || b.Dropped[Full] == 0 || b.Dropped[Full]+b.Dropped[TooOld]+b.Waiting != 100 {
		t.Errorf("%v", b)
	}
}

// TestPumpGoesOn: what one program left in a spool the next one sends, and counts.
func TestPumpGoesOn(t *testing.T) {
	dir := t.TempDir()
	left := open(t, dir, roomy)
	put(t, left, request("left", 1))
	s := &store{answer: func(int) error { return nil }}
	p := NewPump(s.send, 1, open(t, dir, Limits{Bytes: 1 << 20, Age: 1e6 * time.Hour}), &Accounts{}, 0)
	if !p.Flush(t.Context()) {
		t.Error("not all was sent")
	}
	if b := p.Balance(); b.Taken != 2 || b.Sent != 2 || b.Lost() != 0 || fmt.Sprint(s.took) != "[left]" {
		t.Errorf("%v, took %v", b, s.took)
	}
}
