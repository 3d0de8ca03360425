package sampler

import (
	"math"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// nameEnded is the thread that the CPU time of ended threads is shown under, where no sample saw it.
const nameEnded = "(ended)"

// claim is what one sample of a young thread covers. It covers one period, as any sample does, and if the thread
// took less than that in all its life, then others like it took the rest: of ten that live a tenth of
// a period one is seen.
type claim struct {
	stack  profile.NodeID
	covers time.Duration
	took   time.Duration // CPU time that the thread itself took
}

// leftover is the CPU time that ended threads of a process left, and children, of which no sample knows, and
// the claims of those that were seen. It belongs to the counter, but for parent.
type leftover struct {
	parent *leftover // of the parent process, nil if that is not followed
	task   int32
	pool   time.Duration
	claims map[profile.NodeID]time.Duration
	sum    time.Duration // of claims
	n      int           // of them
}

// inherit takes CPU time that no sample saw. t represents all ended threads of its process.
func (c *counter) inherit(t *track, cpu time.Duration) {
	e := t.leftover
	e.task = t.task
	e.pool += cpu
	c.leftovers[e] = struct{}{}
}

// claims enters the claim of a thread that has ended.
func (c *counter) claims(t *track) {
	if rest := t.claim.covers - t.claim.took; rest > 0 {
		t.leftover.add(t.claim.stack, rest, 1)
		c.leftovers[t.leftover] = struct{}{}
	}
}

func (e *leftover) add(stack profile.NodeID, d time.Duration, n int) {
	if e.claims == nil {
		e.claims = map[profile.NodeID]time.Duration{}
	}
	e.claims[stack] += d
	e.sum += d
	e.n += n
}

// proven is how much of the claims is sure: n samples that meet something by chance show how often it is there with
// a standard error of the root of n, of which two are left out.
func (e *leftover) proven() time.Duration {
	if e.n <= 4 {
		return 0
	}
	return time.Duration(float64(e.sum) * (1 - 2/math.Sqrt(float64(e.n))))
}

// share gives the CPU time of a leftover to the stacks that claim it, so far as that is proven, and
// the rest to a stack that says what it is.
func (c *counter) share(e *leftover) {
	if e.pool == 0 {
		return
	}
	given := min(e.pool, e.proven())
	if given > 0 {
		shares := make([]weighted, 0, len(e.claims))
		for stack, d := range e.claims {
			if d > 0 {
				shares = append(shares, weighted{stack, int64(d)})
			}
		}
		spread(given, shares, func(n profile.NodeID, d time.Duration) {
			c.ledger.entry(n, e.task, true).cpu += d
			e.claims[n] -= d
		})
		e.sum -= given
	}
	if rest := e.pool - given; rest > 0 {
		c.ledger.entry(c.book.said(0, wordSite, wordEnded), e.task, true).cpu += rest
	}
	e.pool = 0
}

// closeLeftover ends a leftover with its process. What its threads claim, and nobody left, was taken by
// other short children of the parent.
func (c *counter) closeLeftover(e *leftover) {
	delete(c.leftovers, e)
	c.share(e)
	if e.parent == nil {
		return
	}
	for stack, d := range e.claims {
		e.parent.add(stack, d, 0)
	}
	e.parent.n += e.n
	if e.parent.n > 0 {
		c.leftovers[e.parent] = struct{}{}
	}
}

// adopt makes the claims those of another book.
func (e *leftover) adopt(b, old *book, moved map[profile.NodeID]profile.NodeID) {
	claims := make(map[profile.NodeID]time.Duration, len(e.claims))
	for stack, d := range e.claims {
		claims[b.adopt(old, stack, moved)] += d
	}
	e.claims = claims
}
