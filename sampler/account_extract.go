package sampler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// extract is what was counted between two Takes, without ties to the counter.
type extract struct {
	generation int          // of the ids of sites: they are others in another
	moved      *renumbering // which those of the generation before are now; nil: none is known
	entries    []entry
	runs       []run
	tree       profile.Tree
	used       marks // stacks of tree in use; nil: all
	sites      []site
	words      []string
	made       []madeCode
	renamed    bool // some of made are others than in the last extract
	places     []place
	problems   map[string]error // of runtimes, by who has them
	tasks      map[int32]task
	main       int32
}

// extract closes the accounts of the time since the last one and begins new ones. It runs
// where the counter does.
func (c *counter) extract(final bool) *extract {
	c.settleCPU(final)
	for e := range c.leftovers {
		c.share(e)
	}
	if c.main < 0 && c.first != nil && c.first.places != nil {
		if n, ok := c.first.first(c); ok {
			c.main = n
		}
	}
	c.book.nameLate()
	renamed := c.book.rename()
	for t := range c.live {
		c.keepProblem(t)
	}
	var moved *renumbering
	if c.opt.Stay && !final {
		moved = c.sweep()
	}
	l := c.ledger
	c.out.dropped.Store(l.dropped || c.out.dropped.Load())
	e := &extract{generation: c.generation, entries: l.entries, runs: l.runs, tasks: maps.Clone(c.tasks), main: c.main,
		sites: c.book.sites, words: c.book.words, places: c.book.places, made: c.book.made,
		renamed: renamed, moved: moved}
	c.ledger = newLedger(c.opt.KeepOrder && !l.dropped)
	c.ledger.dropped = l.dropped
	e.problems, c.problems = c.problems, nil
	for _, id := range c.ended { // nothing more comes of them
		delete(c.tasks, id)
	}
	c.ended = nil
	for _, id := range c.folds {
		delete(c.tasks, id)
	}
	clear(c.folds)
	e.take(&c.book.tree, final)
	if final || c.book.tree.Len() > c.book.limit/2 || len(c.book.sites) > maxSites/2 {
		c.renew()
	}
	return e
}

// keepProblem keeps what could not be read of the program that t runs: by its runtimes, and of its files.
func (c *counter) keepProblem(t *track) {
	if t.program == nil {
		return
	}
	var problem error
	if r, ok := t.program.runtimes.(interface{ Err() error }); ok {
		problem = r.Err()
	}
	if t.program.set != nil {
		problem = errors.Join(append([]error{problem}, t.program.set.Unanswered()...)...)
	}
	if problem == nil {
		return
	}
	if c.problems == nil {
		c.problems = map[string]error{}
	}
	task := c.tasks[t.task]
	c.problems[fmt.Sprintf("%s %d", task.Process, task.PID)] = problem
}

// settleCPU gives away the CPU time that waits for a running sample, where one will not come:
// to the stacks in which the thread ran before, or, if it was never seen to run, to a stack that
// says so. A thread that lives keeps it for the next time, unless this is the last.
func (c *counter) settleCPU(final bool) {
	left := map[int32]*track{}
	for t := range c.live {
		c.spread(t)
		if t.cpu.pool > 0 {
			left[t.task] = t
		}
	}
	seen := map[int32][]weighted{}
	for i := range c.ledger.entries {
		e := &c.ledger.entries[i]
		if left[e.task] != nil && e.running {
			seen[e.task] = append(seen[e.task], weighted{e.stack, max(1, int64(e.wall))})
		}
	}
	for id, t := range left {
		if shares := seen[id]; len(shares) > 0 {
			spread(t.cpu.pool, shares, func(n profile.NodeID, d time.Duration) { c.ledger.entry(n, id, true).cpu += d })
			t.cpu.pool = 0
		} else if final || t.program == nil {
			c.ledger.entry(c.book.said(0, wordSite, wordBetween), id, true).cpu += t.cpu.pool
			t.cpu.pool = 0
		}
		if t.program == nil && t.cpu.pool == 0 {
			delete(c.live, t)
		}
	}
}

// take brings the stacks in use into e. If tree is given away and most of it is in use, e gets it
// as it is, as two of them would be much memory in a long recording; else a copy of what is in
// use, to which entries and runs point then.
func (e *extract) take(tree *profile.Tree, given bool) {
	e.used = newMarks(tree.Len())
	count := 1
	use := func(n profile.NodeID) {
		for ; n != 0 && e.used.add(int(n)); n = tree.Parent(n) {
			count++
		}
	}
	for i := range e.entries {
		use(e.entries[i].stack)
	}
	for i := range e.runs {
		use(e.runs[i].stack)
	}
	if given && 2*count > tree.Len() {
		tree.Trim()
		e.tree = *tree
		return
	}
	number := make([]profile.NodeID, tree.Len())
	for n := 1; n < len(number); n++ {
		if id := profile.NodeID(n); e.used.has(n) { // callers have lower numbers
			number[n] = e.tree.Push(number[tree.Parent(id)], tree.Frame(id))
		}
	}
	e.used = nil
	for i := range e.entries {
		e.entries[i].stack = number[e.entries[i].stack]
	}
	for i := range e.runs {
		e.runs[i].stack = number[e.runs[i].stack]
	}
}

// stacks runs over the stacks in use, callers first, without the empty one.
func (e *extract) stacks(yield func(profile.NodeID) bool) {
	for n := 1; n < e.tree.Len(); n++ {
		if (e.used == nil || e.used.has(n)) && !yield(profile.NodeID(n)) {
			return
		}
	}
}

// marked counts the samples whose stacks have each mark.
func (e *extract) marked() (samples [markKinds]uint64) {
	on := make([]uint8, e.tree.Len()) // which marks a stack has, a bit each
	any := false
	for n := range e.stacks {
		on[n] = on[e.tree.Parent(n)]
		if s := &e.sites[e.tree.Frame(n)]; s.kind == wordSite && s.addr < markKinds {
			on[n] |= 1 << s.addr
			any = true
		}
	}
	for i := 0; any && i < len(e.entries); i++ {
		for m := range samples {
			if on[e.entries[i].stack]&(1<<m) != 0 {
				samples[m] += uint64(e.entries[i].samples)
			}
		}
	}
	return samples
}

// marks is a set of small numbers.
type marks []uint64

func newMarks(n int) marks { return make(marks, (n+63)/64) }

func (b marks) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// add is false if i was in the set.
func (b marks) add(i int) bool {
	was := b.has(i)
	b[i/64] |= 1 << (i % 64)
	return !was
}

// renew forgets all stacks and sites but those that threads are in, when nothing else refers
// to them.
func (c *counter) renew() {
	old := c.book
	b := newBook()
	b.places, b.placeOf, b.limit, b.made, b.later = old.places, old.placeOf, old.limit, old.made, old.later
	b.renamers, b.renames = old.renamers, old.renames
	c.book = b
	c.generation++
	moved := map[profile.NodeID]profile.NodeID{}
	for e := range c.leftovers {
		e.adopt(b, old, moved)
	}
	for t := range c.live {
		t.claim.stack = b.adopt(old, t.claim.stack, moved)
		t.stack = b.adopt(old, t.stack, moved)
		t.stopNode = b.adopt(old, t.stopNode, moved)
		if t.program != nil && t.program.known != nil {
			clear(t.program.known)
		}
	}
}

// adopt makes a stack of another book one of b.
func (b *book) adopt(old *book, n profile.NodeID, moved map[profile.NodeID]profile.NodeID) profile.NodeID {
	var path []profile.NodeID
	at := profile.NodeID(0)
	for ; n != 0; n = old.tree.Parent(n) {
		if to, ok := moved[n]; ok {
			at = to
			break
		}
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		s := old.sites[old.tree.Frame(n)]
		if s.kind == codeSite {
			id, _ := b.frame(s) // there is room: fewer than before
			at = b.tree.Child(at, id)
		} else {
			at = b.said(at, s.kind, old.words[s.addr])
		}
		moved[n] = at
	}
	return at
}
