package push

import (
	"context"
	"errors"
	"fmt"
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
	stuck   stuck
}

// NewPump makes a Pump that sends by send, which is [Sender.Send]. spool is the Pump's from now on; what is in it
// counts as taken. Run ends when for stuckAfter nothing was sent although something was lost; 0: never.
func NewPump(send func(context.Context, *Request) error, spool *Spool, accounts *Accounts,
	stuckAfter time.Duration) *Pump {
	waiting, _ := spool.Waiting()
	accounts.Take(waiting)
	return &Pump{send: send, accounts: accounts, spool: spool, more: make(chan struct{}, 1),
		stuck: stuck{after: stuckAfter, since: time.Now()}}
}

// ErrStuck says that nothing goes to the store any more, and that profiles are lost.
var ErrStuck = errors.New("nothing was sent for too long, and profiles are lost")

// stuck is what tells whether a Pump is.
type stuck struct {
	after time.Duration
	since time.Time // when something was sent at last, or came after there was nothing to send
	lost  bool      // since then
}

func (s *stuck) is() bool { return s.after > 0 && s.lost && time.Since(s.since) >= s.after }

// drop accounts for what was given up.
func (p *Pump) drop(dropped ...Dropped) {
	p.accounts.Drop(dropped...)
	p.stuck.lost = p.stuck.lost || len(dropped) > 0
	for _, d := range dropped {
		if d.Err != nil {
			p.trouble = fmt.Errorf("%s: %w", d.Why, d.Err)
		}
	}
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

// Lose takes what could not become a request.
func (p *Pump) Lose(dropped []Dropped) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range dropped {
		p.accounts.Take(d.Profiles)
	}
	p.drop(dropped...)
}

// Put takes a request to send it, soon.
func (p *Pump) Put(r *Request) {
	p.mu.Lock()
	p.accounts.Take(r.Profiles)
	if waiting, _ := p.spool.Waiting(); waiting == 0 && !p.stuck.lost {
		p.stuck.since = time.Now() // that there was nothing to send is no trouble
	}
	p.drop(p.spool.Put(r)...)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends. The error is ErrStuck, with the last trouble.
func (p *Pump) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		r, tries := p.oldest()
		if err := p.isStuck(); err != nil {
			p.back()
			return err
		}
		if r == nil {
			wait(ctx, idle, p.more)
			continue
		}
		if after := p.try(ctx, r, tries); after > 0 {
			wait(ctx, after, nil)
		}
	}
	return nil
}

func (p *Pump) isStuck() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.stuck.is():
		return nil
	case p.trouble == nil:
		return ErrStuck
	}
	return fmt.Errorf("%w: %w", ErrStuck, p.trouble)
}

// back gives back what was lent and not tried.
func (p *Pump) back() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spool.GiveBack(false)
}

// idle is how long a Pump sleeps that has nothing to send: what is there may grow too old.
const idle = time.Minute

// Flush sends what is there, each once, until ctx ends: at the end of a program, when Run has ended. It reports whether
// all went.
func (p *Pump) Flush(ctx context.Context) bool {
	for ctx.Err() == nil {
		r, tries := p.oldest()
		if r == nil {
			return true
		}
		if p.try(ctx, r, tries) > 0 {
			return false
		}
	}
	return false
}

// Persist is Flush, but what fails is tried again, as Run does, until ctx ends.
func (p *Pump) Persist(ctx context.Context) bool {
	for ctx.Err() == nil {
		r, tries := p.oldest()
		if r == nil {
			return true
		}
		if after := p.try(ctx, r, tries); after > 0 {
			wait(ctx, after, nil)
		}
	}
	return false
}

func (p *Pump) oldest() (*Request, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(p.spool.Expire(time.Now())...)
	r, tries, dropped := p.spool.Lend()
	p.drop(dropped...)
	return r, tries
}

// try sends r, which the spool lent and which was tried so often, and returns how long to wait before the next try; 0
// where r is settled.
func (p *Pump) try(ctx context.Context, r *Request, tries int) time.Duration {
	err := p.send(ctx, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	var refusal *Refusal
	var part *PartError
	switch {
	case err == nil, errors.As(err, &part):
		p.settle(r.Profiles, part)
	case errors.As(err, &refusal) && (!refusal.Again || refusal.Most > 0 && tries+1 >= refusal.Most):
		p.drop(Dropped{Profiles: r.Profiles, Why: Refused, Err: err})
		p.fails = 0
	default:
		p.spool.GiveBack(false)
		if ctx.Err() == nil { // else it is our end that failed it
			p.trouble = err
		}
		p.fails++
		if refusal != nil && refusal.After > 0 {
			return jitter(refusal.After, refusal.After/10)
		}
		return backoff(p.fails)
	}
	p.spool.GiveBack(true)
	return 0
}

// settle accounts for a request that the store took, all of it or not.
func (p *Pump) settle(profiles int, part *PartError) {
	p.trouble, p.fails = nil, 0
	refused := 0
	if part != nil {
		refused = min(part.Refused, profiles)
		p.drop(Dropped{Profiles: refused, Why: InPart, Err: part})
	}
	if p.accounts.Sent(profiles - refused); refused < profiles {
		p.stuck.since, p.stuck.lost = time.Now(), false
	}
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
	return jitter(d/2, d/2)
}

// jitter is d and up to so much more.
func jitter(d, more time.Duration) time.Duration { return d + rand.N(more+1) }

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
