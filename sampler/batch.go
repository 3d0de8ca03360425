package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// batchSize is how many looks are handed over at once: waking the counter for each would take
// longer than a look.
const batchSize = 32

// batches carries looks from the ticker to the counter, and empty ones back.
type batches struct {
	full  chan []look
	spare chan []look
}

func newBatches() batches {
	return batches{make(chan []look, queued/batchSize), make(chan []look, 8)}
}

// tell adds a look to those that are handed over next; a mark is waited for, and goes at once.
func (k *ticker) tell(l look) {
	if k.batch == nil {
		select {
		case k.batch = <-k.queue.spare:
		default:
			k.batch = make([]look, 0, batchSize)
		}
	}
	if k.batch = append(k.batch, l); len(k.batch) == batchSize || l.kind == marked {
		k.handOver()
	}
}

const (
	// handEvery is how often looks are handed over that are neither many nor urgent: the counter
	// that wakes for them takes a CPU, maybe that of a thread that is recorded.
	handEvery = 50 * time.Millisecond
	// youth is for how long looks at a program are urgent: the counter opens its files and reads
	// its mappings, and it may have ended in a moment.
	youth = time.Second
)

// handOver gives what was told to the counter. That always comes on, so that this blocks but for
// a moment.
func (k *ticker) handOver() {
	k.handed, k.urgent = k.now, false
	if len(k.batch) > 0 {
		k.queue.full <- k.batch
		k.batch = nil
	}
}

// each runs count on every look that comes, until there are no more.
func (b batches) each(count func(*look)) {
	for batch := range b.full {
		for i := range batch {
			count(&batch[i])
		}
		clear(batch)
		select {
		case b.spare <- batch[:0]:
		default:
		}
	}
}

// buffer returns a Copy for a look, or nil if the counter is too far behind. It does not wait for that while
// threads are asked to stop: some may stand by now.
func (k *ticker) buffer() *tracer.Copy {
	select {
	case c := <-k.free:
		return c
	default:
	}
	if k.waited || len(k.asked) > 0 {
		return nil
	}
	k.handOver() // some may be in there
	bound := time.NewTimer(bufferWait)
	defer bound.Stop()
	select {
	case c := <-k.free:
		return c
	case <-bound.C:
		k.waited = true
		return nil
	}
}

// give returns a Copy that was not used.
func (k *ticker) give(c *tracer.Copy) { k.tell(look{copied: c, kind: nothing}) }
