package push

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Accounts say what became of profiles: each that was taken was sent, waits in a spool, or was dropped for a reason.
// The zero Accounts are ready; any goroutine may call their methods.
type Accounts struct {
	mu      sync.Mutex
	taken   int
	sent    int
	dropped map[Reason]int
}

// Take counts profiles that were recorded.
func (a *Accounts) Take(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken += n
}

// Sent counts profiles that a store has.
func (a *Accounts) Sent(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent += n
}

// Drop counts what was given up.
func (a *Accounts) Drop(dropped ...Dropped) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range dropped {
		if a.dropped == nil {
			a.dropped = map[Reason]int{}
		}
		a.dropped[d.Why] += d.Profiles
	}
}

// Balance is Accounts at one moment.
type Balance struct {
	Taken, Sent, Waiting int
	Dropped              map[Reason]int // by reason
}

// Balance returns the accounts; waiting is how many profiles are kept to be sent.
func (a *Accounts) Balance(waiting int) Balance {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Balance{a.taken, a.sent, waiting, maps.Clone(a.dropped)}
}

// Lost is how many profiles of b are neither sent, waiting nor dropped: 0, or there is a mistake in this program.
func (b Balance) Lost() int {
	n := b.Taken - b.Sent - b.Waiting
	for _, d := range b.Dropped {
		n -= d
	}
	return n
}

func (b Balance) String() string {
	parts := []string{fmt.Sprintf("profiles: %d taken, %d sent, %d waiting", b.Taken, b.Sent, b.Waiting)}
	for _, why := range slices.Sorted(maps.Keys(b.Dropped)) {
		parts = append(parts, fmt.Sprintf("%d dropped (%s)", b.Dropped[why], why))
	}
	return strings.Join(parts, ", ")
}
