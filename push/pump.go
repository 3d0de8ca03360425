package push

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Pump sends requests to a store, the oldest first, and keeps what the store does not take yet in a Spool. A request is
// in the spool before it is sent, and until the store has it: what a program that is killed had not sent is sent by the
// next, with the same ids.
type Pump struct {
	send     func(context.Context, *Request) error
	accounts *Accounts

	mu    sync.Mutex
	spool *Spool
	more  chan struct{} // has a value after a Put

	trouble error // of the last try, nil after a request was taken
	fails   int   // tries since the last that went well
}

// NewPump makes a Pump that sends by send, which is [Sender.Send]. spool is the Pump's from now on; what is in it
// counts as taken.
func NewPump(send func(context.Context, *Request) error, spool *Spool, accounts *Accounts) *Pump {
	waiting, _ := spool.Waiting()
	accounts.Take(waiting)
	return &Pump{send: send, accounts: accounts, spool: spool, more: make(chan struct{}, 1)}
}

// wait waits for so long, until wake has a value, or until ctx ends.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// Put takes a request to send it, soon.
func (p *Pump) Put(r *Request) {
	p.accounts.Take(r.Profiles)
	p.mu.Lock()
	p.accounts.Drop(p.spool.Put(r)...)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends.
func (p *Pump) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r := p.oldest()
		if r == nil {
			wait(ctx, idle, p.more)
			continue
		}
		if after := p.try(ctx, r); after > 0 {
			wait(ctx, after, nil)
		}
	}
}

// idle is how long nothing is looked at where nothing is to be sent: what is there may grow too old.
const idle = time.Minute

// Flush sends what is there, each once, until ctx ends: at the end of a program. It reports whether all went.
func (p *Pump) Flush(ctx context.Context) bool {
	for ctx.Err() == nil {
		r := p.oldest()
		if r == nil {
			return true
		}
		if p.try(ctx, r) > 0 {
			return false
		}
	}
	return false
}

func (p *Pump) oldest() *Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts.Drop(p.spool.Expire(time.Now())...)
	r, dropped := p.spool.Lend()
	p.accounts.Drop(dropped...)
	return r
}

// try sends r, which the spool lent, and returns how long to wait before it is tried again; 0 where it is settled.
func (p *Pump) try(ctx context.Context, r *Request) time.Duration {
	err := p.send(ctx, r)
	var refusal *Refusal
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.accounts.Sent(r.Profiles)
		p.trouble, p.fails = nil, 0
	case errors.Is(err, ErrPartly):
		p.accounts.Drop(Dropped{Profiles: r.Profiles, Why: InPart})
		p.trouble, p.fails = err, 0
	case errors.As(err, &refusal) && !refusal.Again:
		p.accounts.Drop(Dropped{Profiles: r.Profiles, Why: Refused})
		p.trouble, p.fails = err, 0
	default:
		p.spool.GiveBack(false)
		p.trouble = err
		p.fails++
		if refusal != nil && refusal.After > 0 {
			return refusal.After
		}
		return backoff(p.fails)
	}
	p.spool.GiveBack(true)
	return 0
}

// The waits after a try that failed grow from the first to the last.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 5 * time.Minute
)

// backoff is how long to wait after so many tries that failed: twice as long each time, and a part of that by chance,
// so that many agents do not come back at once.
func backoff(fails int) time.Duration {
	d := min(firstWait<<min(fails-1, 10), lastWait)
	return d/2 + rand.N(d/2+1)
}

// Trouble is why the store did not take the last request, nil if it did.
func (p *Pump) Trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble
}

// Balance returns the accounts of what was put.
func (p *Pump) Balance() Balance {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, _ := p.spool.Waiting()
	return p.accounts.Balance(waiting)
}
