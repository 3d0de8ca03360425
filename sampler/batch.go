package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// batchSize is how many samples are handed over at once: waking the counter for each would take
// longer than a sample.
const batchSize = 32

// batches carries samples from the ticker to the counter, and empty ones back.
type batches struct {
	full  chan []sample
	spare chan []sample
}

func newBatches() batches {
	return batches{make(chan []sample, queued/batchSize), make(chan []sample, 8)}
}

// send adds a sample to those that are handed over next, a mark at once if the counter takes it. While threads
// are interrupted the others wait until none is known to be stopped: to wake the counter lasts longer than a sample.
func (k *ticker) send(l sample) {
	if k.batch == nil {
		select {
		case k.batch = <-k.queue.spare:
		default:
			k.batch = make([]sample, 0, batchSize)
		}
	}
	k.batch = append(k.batch, l)
	if l.kind == marked || len(k.batch) >= batchSize && len(k.interrupted) == 0 {
		k.handOver()
	}
}

const (
	// handEvery is how often samples are handed over that are neither many nor urgent: the counter
	// that wakes for them takes a CPU, maybe that of a thread that is recorded.
	handEvery = 50 * time.Millisecond
	// youth is for how long samples a program are urgent: the counter opens its files and reads
	// its mappings, and it may have ended in a moment.
	youth = time.Second
)

// maxWaiting is how many samples wait for a counter that takes none before no more are made.
const maxWaiting = 1 << 14

// handOver gives what was sent to the counter, if that takes it now. It may be held up, by a file of a
// dead file system for example; threads must not stay stopped for that, nor their time be lost.
func (k *ticker) handOver() {
	if len(k.batch) > 0 {
		select {
		case k.queue.full <- k.batch:
			k.batch = nil
		default:
			return
		}
	}
	k.handed, k.urgent = k.now, false
}

// heldUp reports whether the counter is so far behind that a round has to be left out.
func (k *ticker) heldUp() bool {
	if len(k.batch) < maxWaiting {
		return false
	}
	k.handOver()
	return len(k.batch) >= maxWaiting
}

// each runs count on every sample that comes, until there are no more.
func (b batches) each(count func(*sample)) {
	for batch := range b.full {
		for i := range batch {
			count(&batch[i])
		}
		clear(batch)
		if cap(batch) > 4*batchSize { // it waited for long
			continue
		}
		select {
		case b.spare <- batch[:0]:
		default:
		}
	}
}

// reserved is how many Copies sleepers leave to threads that run, which come to their turn behind them.
const reserved = 16

// buffer returns a Copy for a sample and leaves so many; nil if the counter is too far behind. It does not
// wait for that while threads are interrupted: some may be stopped by now.
func (k *ticker) buffer(leave int) *tracer.Copy {
	if c := k.unused(leave); c != nil {
		return c
	}
	if k.waited || k.starved || len(k.interrupted) > 0 {
		return nil
	}
	k.handOver() // some may be in there
	bound := time.NewTimer(bufferWait)
	defer bound.Stop()
	for {
		select {
		case c := <-k.free:
			k.spare = append(k.spare, c)
			if c := k.unused(leave); c != nil {
				return c
			}
		case <-bound.C:
			k.waited, k.starved = true, true // the counter may be held up: the next do not wait
			return nil
		}
	}
}

// unused takes a Copy that nobody uses if more than leave are left.
func (k *ticker) unused(leave int) *tracer.Copy {
	if len(k.spare)+len(k.free) <= leave {
		return nil
	}
	k.starved = false
	if n := len(k.spare); n > 0 {
		c := k.spare[n-1]
		k.spare = k.spare[:n-1]
		return c
	}
	return <-k.free // nobody else takes from it
}

// give returns a Copy that was not used.
func (k *ticker) give(c *tracer.Copy) { k.spare = append(k.spare, c) }
