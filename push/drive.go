package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// ErrStuck says that nothing goes to the store any more, and that profiles are lost.
var ErrStuck = errors.New("nothing was sent for too long, and profiles are lost")

// stuck is what tells whether a Pump is.
type stuck struct {
	after time.Duration
	since time.Time // when something was sent at last, or came after there was nothing to send
	lost  bool      // since then
}

func (s *stuck) is() bool { return s.after > 0 && s.lost && time.Since(s.since) >= s.after }

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

// away is what tells whether a store is: how many tries failed one after the other. It is tried by one request at a
// time then, after growing waits.
type away struct {
	fails int
	round int       // counts the fails so far: requests that were under way together fail once
	until time.Time // when the next try may be made
}

// Run sends until ctx ends. The error is ErrStuck, with the last trouble.
func (p *Pump) Run(ctx context.Context) (err error) {
	syncing, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { p.syncAll(syncing) })
	p.drive(ctx, func() bool {
		err = p.isStuck()
		return err != nil
	})
	return err
}

// Flush sends what is there until ctx ends, or until a try fails: at the end of a program, when Run has ended. It
// reports whether all went.
func (p *Pump) Flush(ctx context.Context) bool {
	p.mu.Lock()
	p.away = away{round: p.away.round}
	p.spool.Recovered()
	before := p.away.round
	p.mu.Unlock()
	p.drive(ctx, func() bool { return p.isEmpty() || p.rounds() > before })
	p.sync()
	return p.isEmpty()
}

// Persist is Flush, but what fails is tried again, as Run does, until ctx ends.
func (p *Pump) Persist(ctx context.Context) bool {
	p.drive(ctx, p.isEmpty)
	p.sync()
	return p.isEmpty()
}

func (p *Pump) isEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, _ := p.spool.Waiting()
	return waiting == 0
}

func (p *Pump) rounds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away.round
}

// drive sends until ctx ends or done says so, and returns when nothing is under way any more.
func (p *Pump) drive(ctx context.Context, done func() bool) {
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil && !done() {
		j, after := p.next()
		if j == nil {
			wait(ctx, after, p.wake)
			continue
		}
		under.Go(func() {
			p.try(ctx, j)
			p.awake()
		})
	}
}

// job is a request that the spool lent.
type job struct {
	*entry
	request *Request
	round   int // of away, when it was lent
}

// idle is how long a Pump sleeps that has nothing to do: what is there may grow too old.
const idle = time.Minute

// expireEvery is how often the spool is looked through for what is too old.
const expireEvery = time.Second

// next is what is to be sent next, or nil and after which time to look again, if nothing wakes before.
func (p *Pump) next() (j *job, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.expired) >= expireEvery {
		p.drop(p.spool.Expire(now)...)
		p.expired = now
	}
	trial := p.away.fails > 0
	switch {
	case p.under >= p.most, trial && p.under > 0:
		return nil, idle
	case now.Before(p.away.until):
		return nil, p.away.until.Sub(now)
	}
	e, r, again, dropped := p.spool.Lend(now, trial)
	p.drop(dropped...)
	if e == nil && again.IsZero() {
		return nil, idle
	} else if e == nil {
		return nil, again.Sub(now)
	}
	p.under++
	return &job{e, r, p.away.round}, 0
}

// try sends what was lent, and says what became of it.
func (p *Pump) try(ctx context.Context, j *job) {
	err := p.send(ctx, j.request)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under--
	var refusal *Refusal
	var part *PartError
	switch {
	case err == nil, errors.As(err, &part):
		p.account(j.profiles, part)
	case errors.As(err, &refusal) && (!refusal.Again || refusal.Most > 0 && j.tries+1 >= refusal.Most):
		p.drop(Dropped{Profiles: j.profiles, Why: Refused, Err: err})
	default:
		p.again(ctx, j, err)
		return
	}
	if p.away.fails > 1 { // one alone may be that request's own matter
		p.spool.Recovered()
	}
	p.away.fails, p.away.until = 0, time.Time{}
	p.spool.Settle(j.entry)
}

// again gives back what is to be sent again.
func (p *Pump) again(ctx context.Context, j *job, err error) {
	if ctx.Err() == nil { // else it is our end that failed it
		p.trouble = err
	}
	now := time.Now()
	if j.round == p.away.round {
		p.away.fails++
		p.away.round++
		p.away.until = now.Add(backoff(p.away.fails))
	}
	due := now.Add(backoff(j.tries + 1))
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) && refusal.After > 0 {
		due = now.Add(jitter(refusal.After, refusal.After/10))
		p.away.until = due
	}
	p.spool.GiveBack(j.entry, due)
}

// account accounts for a request that the store took, all of it or not.
func (p *Pump) account(profiles int, part *PartError) {
	p.trouble = nil
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
