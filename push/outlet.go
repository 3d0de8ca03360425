package push

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
)

// Settings say where profiles go and how.
type Settings struct {
	Target *Target
	TLS    *tls.Config // what it trusts; nil: what the system trusts
	// TokenFile holds what is sent as a bearer token; it is read again for each request. "": none.
	TokenFile string
	Header    http.Header // sent with each request, as ParseHeaders reads them
	Scope     otlp.Scope
	// Spool is a folder of this Outlet's own, see outfile.OpenFolder; nil: what waits is kept in memory alone.
	Spool *os.Root
	// Folder is the open folder of a Target that is one, nil for others.
	Folder *os.Root
	// Limits bound the spool, or a Folder: then what waits is kept in memory alone.
	Limits Limits
	// StuckAfter is when Run ends if nothing was sent and something was lost, 0: never.
	StuckAfter time.Duration
}

// Outlet sends what was recorded to one store, and accounts for it.
type Outlet struct {
	target   *Target
	scope    otlp.Scope
	accounts *Accounts
	pump     *Pump
}

// underWay is how many requests are sent to a store at a time: with 200 ms for each, 40 a second.
const underWay = 8

var errNoFolder = errors.New("open folder: it was not given")

// Open makes an Outlet. odd is what should be known and hinders nothing.
func Open(s Settings) (o *Outlet, odd []error, err error) {
	o = &Outlet{target: s.Target, scope: s.Scope, accounts: &Accounts{}}
	var send func(context.Context, *Request) error
	limits, most := s.Limits, underWay
	if s.Target.IsFolder() {
		if s.Folder == nil {
			return nil, nil, errNoFolder
		}
		send = (&folder{root: s.Folder, limits: s.Limits, now: time.Now}).send
		limits.Bytes, s.Spool, most = MaxInMemory, nil, 1
	} else {
		sender, warning, err := s.Sender()
		if err != nil {
			return nil, nil, err
		}
		if warning != nil {
			odd = append(odd, warning)
		}
		send = sender.Send
		if s.Target.store().collector {
			send = sender.sendInParts
		}
	}
	spool, damaged, strange, err := OpenSpool(s.Spool, s.Target, limits)
	if err != nil {
		return nil, nil, err
	}
	o.pump = NewPump(send, most, spool, o.accounts, s.StuckAfter)
	o.pump.Lose(damaged)
	return o, append(odd, strange...), nil
}

// Target is where o sends to.
func (o *Outlet) Target() *Target { return o.target }

// Put takes what was recorded between two times. It does not wait for the store, but for the disk of the spool.
// Profiles of an interval are not put into two Outlets at a time: encoding one uses what it has to itself.
func (o *Outlet) Put(interval []Recorded, from, to time.Time) {
	all := slices.Clone(interval)
	for i := range all {
		p := shallow(all[i].Of)
		p.TimeNanos, p.DurationNanos = from.UnixNano(), int64(to.Sub(from))
		all[i].Of = p
	}
	// How old it is the monotonic clock says: the wall clock may have been set since to.
	requests, dropped := o.target.Encode(all, o.scope, time.Now())
	o.pump.Put(requests...)
	o.pump.Lose(dropped)
}

// Run sends until ctx ends. It ends with an ErrStuck where nothing was sent for long and profiles are lost.
func (o *Outlet) Run(ctx context.Context) error { return o.pump.Run(ctx) }

// Flush sends what is there, each once, until ctx ends, and reports whether all went. Run has ended before.
func (o *Outlet) Flush(ctx context.Context) bool { return o.pump.Flush(ctx) }

// Persist is Flush, but what fails is tried again until ctx ends.
func (o *Outlet) Persist(ctx context.Context) bool { return o.pump.Persist(ctx) }

// Balance returns the accounts of what was put.
func (o *Outlet) Balance() Balance { return o.pump.Balance() }

// Trouble is what keeps profiles from the store, nil if the last request was taken.
func (o *Outlet) Trouble() error { return o.pump.Trouble() }
