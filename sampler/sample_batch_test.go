package sampler

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// TestCounterLooksForDenseSamples: nobody has to wake the counter where samples follow one another closely; elsewhere
// it sleeps until somebody does.
func TestCounterLooksForDenseSamples(t *testing.T) {
	naps := 0
	var b batches
	b = newBatches(func(time.Duration) {
		if naps++; naps == maxLooks/2 || naps > maxLooks {
			b.full <- []sample{{}}
		}
	})
	b.dense.Store(true)
	if _, more := b.next(); !more || naps != maxLooks/2 {
		t.Errorf("a batch after %d naps (%v), want %d", naps, more, maxLooks/2)
	}
	naps = maxLooks/2 + 1
	close(b.full)
	if _, more := b.next(); more || naps != maxLooks/2+1 {
		t.Errorf("after the last batch %v and %d naps, want the end and none", more, naps-maxLooks/2-1)
	}

	b = newBatches(func(time.Duration) { naps++ })
	naps = 0
	go func() {
		time.Sleep(time.Millisecond)
		b.full <- []sample{{}}
	}()
	if _, more := b.next(); !more || naps != 0 {
		t.Errorf("%v, %d naps, want a batch and none where samples are far apart", more, naps)
	}
	naps = 0
	b.dense.Store(true)
	go func() {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if len(b.full) == 0 {
				b.full <- []sample{{}}
				return
			}
		}
	}()
	if _, more := b.next(); !more || naps > maxLooks {
		t.Errorf("%v, %d naps, want a batch and %d naps at most: it is to be woken then", more, naps, maxLooks)
	}
}

// TestDenseSamplesAreHandedOverTogether: those of a young program are urgent, but not each by itself where the next
// follows at once.
func TestDenseSamplesAreHandedOverTogether(t *testing.T) {
	k := newTicker(nil, &Options{}, newBatches(nil), make(chan *tracer.Copy), nil)
	for i := range 20 {
		k.turn.now = time.Duration(i) * handUrgent / 10
		k.out.urgent = true
		k.out.add(sample{kind: nothing})
		k.handUrgent()
	}
	if n := len(k.out.queue.full); n != 1 {
		t.Errorf("%d batches in two milliseconds, want one", n)
	}
	k.opt.Rate = 99
	k.turn.now += time.Second
	k.handUrgent()
	if n := len(k.out.queue.full); n != 1 {
		t.Errorf("%d batches, want none before the threads of a round have been let go", n)
	}
}
