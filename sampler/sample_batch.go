package sampler

import (
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// batchSize is how many samples are handed over at once: waking the counter for each would take
// longer than a sample.
const batchSize = 32

const (
	// lookEvery is how often the counter looks for samples that follow one another closely: it has Copies for some
	// four times as long.
	lookEvery = 100 * time.Microsecond
	// maxLooks is after how many looks in vain it lets itself be woken.
	maxLooks = 10
)

// batches carries samples from the ticker to the counter, and empty ones back.
type batches struct {
	full  chan []sample
	spare chan []sample
	// dense is set while samples follow one another closely. The counter looks for them by itself then: to wake it
	// takes the ticker, with an interrupt of another CPU, as long as two samples.
	dense *atomic.Bool
	nap   func(time.Duration)
}

func newBatches(nap func(time.Duration)) batches {
	return batches{make(chan []sample, queued/batchSize), make(chan []sample, 8), new(atomic.Bool), nap}
}

// outbox is the ticker's end of the queue to the counter: samples go out, Copies come back.
type outbox struct {
	queue   batches
	batch   []sample // not handed over yet
	free    <-chan *tracer.Copy
	spare   []*tracer.Copy // taken from free and not used
	handed  time.Duration  // when samples were handed over last
	urgent  bool           // the counter should see soon what was sampled
	waited  bool           // this round waited for the counter
	starved bool           // the last wait for it was in vain
}

// send adds a sample to those that are handed over next, a mark at once if the counter takes it. While threads
// are interrupted the others wait until none is known to be stopped: to wake the counter lasts longer than a sample.
func (k *ticker) send(l sample) {
	if k.out.add(l); l.kind == marked || len(k.out.batch) >= batchSize && len(k.queue.interrupted) == 0 {
		k.out.handOver(k.turn.now)
	}
}

// add adds a sample to those that are handed over next.
func (o *outbox) add(l sample) {
	if o.batch == nil {
		select {
		case o.batch = <-o.queue.spare:
		default:
			o.batch = make([]sample, 0, batchSize)
		}
	}
	o.batch = append(o.batch, l)
}

const (
	// handEvery is how often samples are handed over that are neither many nor urgent: the counter
	// that wakes for them takes a CPU, maybe that of a thread that is recorded.
	handEvery = 50 * time.Millisecond
	// handUrgent is how often those are handed over that are urgent and follow one another closely.
	handUrgent = time.Millisecond
	// youth is for how long samples of a program are urgent: the counter opens its files and reads
	// its mappings, and it may have ended in a moment.
	youth = time.Second
)

// maxWaiting is how many samples wait for a counter that takes none before no more are made.
const maxWaiting = 1 << 14

// handOver gives what was sent to the counter, if that takes it now. It may be held up, by a file of a
// dead file system for example; threads must not stay stopped for that, nor their time be lost.
func (o *outbox) handOver(now time.Duration) {
	if len(o.batch) > 0 {
		select {
		case o.queue.full <- o.batch:
			o.batch = nil
		default:
			return
		}
	}
	o.handed, o.urgent = now, false
}

// heldUp reports whether the counter is so far behind that a round has to be left out.
func (o *outbox) heldUp(now time.Duration) bool {
	if len(o.batch) < maxWaiting {
		return false
	}
	o.handOver(now)
	return len(o.batch) >= maxWaiting
}

// next waits for a batch; false after the last.
func (b batches) next() (batch []sample, more bool) {
	for range maxLooks {
		if !b.dense.Load() {
			break
		}
		select {
		case batch, more = <-b.full:
			return batch, more
		default:
			b.nap(lookEvery)
		}
	}
	batch, more = <-b.full
	return batch, more
}

// each runs count on every sample that comes, until there are no more.
func (b batches) each(count func(*sample)) {
	for batch, more := b.next(); more; batch, more = b.next() {
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
	c := k.out.unused(leave)
	if c == nil && len(k.queue.interrupted) == 0 {
		c = k.out.await(k.turn.now, leave)
	}
	return c
}

// await waits once a round for a Copy, and leaves so many.
func (o *outbox) await(now time.Duration, leave int) *tracer.Copy {
	if o.waited || o.starved {
		return nil
	}
	o.handOver(now) // some may be in there
	bound := time.NewTimer(bufferWait)
	defer bound.Stop()
	for {
		select {
		case c := <-o.free:
			o.spare = append(o.spare, c)
			if c := o.unused(leave); c != nil {
				return c
			}
		case <-bound.C:
			o.waited, o.starved = true, true // the counter may be held up: the next do not wait
			return nil
		}
	}
}

// unused takes a Copy that nobody uses if more than leave are left.
func (o *outbox) unused(leave int) *tracer.Copy {
	if len(o.spare)+len(o.free) <= leave {
		return nil
	}
	o.starved = false
	if n := len(o.spare); n > 0 {
		c := o.spare[n-1]
		o.spare = o.spare[:n-1]
		return c
	}
	return <-o.free // nobody else takes from it
}

// give returns a Copy that was not used.
func (o *outbox) give(c *tracer.Copy) { o.spare = append(o.spare, c) }
