package sampler

import "time"

// boundary is a time at which the accounts of all threads are closed, for a Take up to that time. A round that covers
// more comes behind it.
type boundary struct {
	at    time.Duration
	taken func(at time.Duration)
}

// close closes the accounts where that is wanted.
func (k *ticker) close() {
	c := k.boundary
	k.boundary = nil
	c.taken(c.at)
}

// closeAt hands over what t has got until at. If its last sample covers more the rest of it stays; if less, what is
// left until at is that of the stack seen last: a thread that sleeps is sampled seldom, and one whose sample came late
// or was lost was last seen there.
func (k *ticker) closeAt(p *process, t *thread, at time.Duration) {
	n := t.skipTo(p.round)
	if t.activity == unsampled || t.activity == sleeping && k.opt.running() {
		k.flush(t)
		return
	}
	if !k.opt.running() {
		k.counted.samples += n
		k.counted.reused += n
	}
	if t.samples == 0 && t.end <= t.from {
		t.from = t.upto
	}
	t.samples += int64(n)
	if t.upto <= at {
		t.end, t.upto = at, at
		k.flush(t)
		return
	}
	rest := t.end
	if rest <= at || t.samples == 0 { // what it covers beyond was taken before
		k.flush(t)
		return
	}
	t.samples-- // it is counted where it ends
	if t.from < at {
		t.end = at
		k.flush(t)
	}
	t.samples, t.from, t.end = t.samples+1, max(t.from, at), rest
}
