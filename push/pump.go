package push

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Pump sends requests to a store, some at a time, the oldest first, and keeps what the store does not take yet in a
// Spool. A request is in the spool before it is sent, and until the store has it: what a program that is killed had not
// sent is sent by the next, with the same ids.
type Pump struct {
	send     func(context.Context, *Request) error
	accounts *Accounts
	most     int // requests under way

	putting sync.Mutex // one interval is put at a time

	mu    sync.Mutex
	spool *Spool
	wake  chan struct{} // has a value after a Put, and after a try

	trouble error // of the last try, nil after a request was taken
	under   int   // requests under way
	away    away
	expired time.Time // when the spool was looked through
	stuck   stuck
}

// NewPump makes a Pump that sends by send, which is [Sender.Send], so many requests at a time. spool is the Pump's from
// now on; what is in it counts as taken. Run ends when for stuckAfter nothing was sent although something was lost; 0:
// never.
func NewPump(send func(context.Context, *Request) error, most int, spool *Spool, accounts *Accounts,
	stuckAfter time.Duration) *Pump {
	waiting, _ := spool.Waiting()
	accounts.Take(waiting)
	return &Pump{send: send, most: most, accounts: accounts, spool: spool, wake: make(chan struct{}, 1),
		stuck: stuck{after: stuckAfter, since: time.Now()}}
}

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

// Lose takes what could not become a request.
func (p *Pump) Lose(dropped []Dropped) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range dropped {
		p.accounts.Take(d.Profiles)
	}
	p.drop(dropped...)
}

// Put takes the requests of an interval to send them, soon. What still waits after some seconds, or when Flush or
// Persist return, survives a crash of the machine if the spool is a folder.
func (p *Pump) Put(requests ...*Request) {
	p.putting.Lock()
	defer p.putting.Unlock()
	for _, r := range requests {
		p.put(r)
		p.awake()
	}
}

// put takes one request. To write it may take long: others use the spool meanwhile.
func (p *Pump) put(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting, _ := p.spool.Waiting(); waiting == 0 && !p.stuck.lost {
		p.stuck.since = time.Now() // that there was nothing to send is no trouble
	}
	e, dropped := p.spool.reserve(r)
	if e == nil {
		p.accounts.Take(r.Profiles)
		p.drop(dropped...)
		return
	}
	p.drop(dropped...)
	var failed error
	if e.held == nil {
		p.mu.Unlock()
		failed = p.spool.store(e, r)
		p.mu.Lock()
	}
	p.accounts.Take(r.Profiles) // together with what it waits or is dropped as: the account adds up at each moment
	p.drop(p.spool.keep(e, r, failed)...)
}

// syncEvery is how often what waits in a folder is made to survive a crash. Most is with the store by then: to wait for
// the disk with each request, which may take a second where others write, would be for nothing.
const syncEvery = 5 * time.Second

// syncAll syncs each syncEvery until ctx ends.
func (p *Pump) syncAll(ctx context.Context) {
	for ctx.Err() == nil {
		wait(ctx, syncEvery, nil)
		p.sync()
	}
}

// sync has all that waits in a folder survive a crash.
func (p *Pump) sync() {
	p.mu.Lock()
	entries := p.spool.unsynced()
	p.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	err := syncFiles(p.spool.folder, names)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.trouble = fmt.Errorf("sync spool: %w", err)
		return
	}
	for _, e := range entries {
		e.synced = true
	}
}

// awake has the loop of drive look again.
func (p *Pump) awake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
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
