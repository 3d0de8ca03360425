package sampler

import (
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
)

// A recording that stays while processes come and go forgets what is of those that went: modules that nobody maps any
// more with their files, sites in them, code that a runtime made. What is left keeps its names.

// sweepEvery is how often something is forgotten at most.
const sweepEvery = time.Minute

// renumbering says which ids things have now that had others in the generation before.
type renumbering struct {
	frames map[profile.FrameID]profile.FrameID
	places map[int32]int32
	live   func(module.Object) bool // objects that may be named still
}

// inUse is what cannot be forgotten.
type inUse struct {
	places, made map[int32]bool
	programs     map[int32]bool
}

// use marks what is on a stack.
func (u *inUse) use(b *book, n profile.NodeID) {
	for ; n != 0; n = b.tree.Parent(n) {
		s := &b.sites[b.tree.Frame(n)]
		if s.kind != codeSite {
			continue
		}
		if u.made[s.made] = true; s.module >= 0 {
			u.places[s.module] = true
		} else {
			u.programs[-1-s.module] = true
		}
	}
}

// inUse marks what living programs know, and what is on stacks that are wanted.
func (c *counter) inUse() *inUse {
	u := &inUse{map[int32]bool{}, map[int32]bool{0: true}, map[int32]bool{}}
	for g := range c.programs {
		u.programs[g.number] = true
		for _, n := range g.places {
			u.places[n] = true
		}
		for _, n := range g.made {
			u.made[n] = true
		}
	}
	for t := range c.live {
		for _, n := range []profile.NodeID{t.stack, t.claim.stack, t.stopNode} {
			u.use(c.book, n)
		}
	}
	for e := range c.leftovers {
		for n := range e.claims {
			u.use(c.book, n)
		}
	}
	for i := range c.ledger.entries {
		u.use(c.book, c.ledger.entries[i].stack)
	}
	return u
}

// has reports whether a site is in use.
func (u *inUse) has(s *site) bool {
	switch {
	case s.kind != codeSite:
		return true
	case s.module < 0:
		return u.programs[-1-s.module] && u.made[s.made]
	}
	return u.places[s.module] && u.made[s.made]
}

// sweep forgets what is of nobody, if there is anything and it is time. It runs when all accounts are closed, so that
// no thread has stacks but those that inUse knows.
func (c *counter) sweep() *renumbering {
	now := c.clock()
	dead := func(of *program) bool { return of.closed }
	c.book.later = slices.DeleteFunc(c.book.later, func(l lateName) bool { return dead(l.of) })
	for r, all := range c.book.renamers {
		if all = slices.DeleteFunc(all, func(r renamable) bool { return dead(r.of) }); len(all) == 0 {
			delete(c.book.renamers, r)
			delete(c.book.renames, r)
		} else {
			c.book.renamers[r] = all
		}
	}
	if c.ledger.order || now-c.swept < sweepEvery && c.swept != 0 {
		return nil
	}
	u := c.inUse()
	if len(u.places) == len(c.book.places) && len(u.made) >= len(c.book.made) &&
		!slices.ContainsFunc(c.book.sites, func(s site) bool { return !u.has(&s) }) {
		return nil
	}
	c.swept = now
	old, moved := c.book, &renumbering{map[profile.FrameID]profile.FrameID{}, map[int32]int32{}, nil}
	made := map[int32]int32{0: 0}
	b := newBook()
	b.limit, b.words, b.word = old.limit, old.words, old.word
	c.keepPlaces(old, b, u, moved, made)
	for i := range old.sites {
		if s := old.sites[i]; u.has(&s) {
			s.renumber(moved, made)
			moved.frames[profile.FrameID(i)], _ = b.frame(s) // there is room: no more than before
		}
	}
	c.moveStacks(old, b, moved)
	c.book = b
	c.generation++
	moved.live = c.liveObjects()
	c.bounds.Keep(moved.live)
	c.files.Release(moved.live)
	return moved
}

// keepPlaces brings the places and the made code in use from old into b, and notes their numbers.
func (c *counter) keepPlaces(old, b *book, u *inUse, moved *renumbering, made map[int32]int32) {
	for n := range old.places {
		if at := int32(n); u.places[at] {
			moved.places[at] = int32(len(b.places))
			b.places = append(b.places, old.places[n])
		}
	}
	for id, n := range old.placeOf {
		if to, ok := moved.places[n]; ok {
			b.placeOf[id] = to
		}
	}
	for n := 1; n < len(old.made); n++ {
		if at := int32(n); u.made[at] {
			made[at] = int32(len(b.made))
			b.made = append(b.made, old.made[n])
		}
	}
	for g := range c.programs {
		for m, n := range g.places {
			g.places[m] = moved.places[n]
		}
		for key, n := range g.made {
			g.made[key] = made[n]
		}
	}
	b.later, b.renamers, b.renames = old.later, old.renamers, old.renames
	for i := range b.later {
		b.later[i].made = made[b.later[i].made]
	}
	for _, all := range b.renamers {
		for i := range all {
			all[i].made = made[all[i].made]
		}
	}
	if to, ok := moved.places[c.main]; ok {
		c.main = to
	} else {
		c.main, c.first = -1, nil
	}
}

// renumber gives s the numbers of now.
func (s *site) renumber(moved *renumbering, made map[int32]int32) {
	if s.kind == codeSite {
		if s.made = made[s.made]; s.module >= 0 {
			s.module = moved.places[s.module]
		}
	}
}

// moveStacks makes all stacks that are in use those of b.
func (c *counter) moveStacks(old, b *book, moved *renumbering) {
	known := map[profile.NodeID]profile.NodeID{0: 0}
	move := func(n profile.NodeID) profile.NodeID {
		var path []profile.NodeID
		at, ok := known[n]
		for ; !ok; at, ok = known[n] {
			path = append(path, n)
			n = old.tree.Parent(n)
		}
		for _, n := range slices.Backward(path) {
			at = b.tree.Child(at, moved.frames[old.tree.Frame(n)])
			known[n] = at
		}
		return at
	}
	for t := range c.live {
		t.stack, t.claim.stack, t.stopNode = move(t.stack), move(t.claim.stack), move(t.stopNode)
	}
	for g := range c.programs {
		clear(g.known)
	}
	for e := range c.leftovers {
		claims := make(map[profile.NodeID]time.Duration, len(e.claims))
		for n, d := range e.claims {
			claims[move(n)] += d
		}
		e.claims = claims
	}
	entries := c.ledger.entries
	c.ledger = newLedger(false)
	for i := range entries {
		l := &entries[i]
		e := c.ledger.entry(move(l.stack), l.task, l.running)
		e.samples, e.wall, e.cpu = e.samples+l.samples, e.wall+l.wall, e.cpu+l.cpu
	}
}

// liveObjects is true of the objects that a living process maps, or that sites lie in.
func (c *counter) liveObjects() func(module.Object) bool {
	live := map[module.Object]bool{}
	for g := range c.programs {
		if g.set != nil {
			g.set.Objects(func(o module.Object) bool {
				live[o] = true
				return true
			})
		}
	}
	for i := range c.book.places {
		live[c.book.places[i].m.Object()] = true
	}
	return func(o module.Object) bool { return live[o] }
}

// renumber gives the names that are known the ids of e.
func (n *namer) renumber(e *extract) {
	if e.generation == n.generation {
		return
	}
	old, unnamed := n.sites, n.unnamed
	next := e.generation == n.generation+1
	n.generation = e.generation
	n.sites, n.unnamed = map[profile.FrameID][]profile.Frame{}, map[profile.FrameID]bool{}
	if e.moved == nil {
		return
	}
	n.names.Keep(e.moved.live)
	clear(n.modules)
	if !next { // what is known has ids of neither
		return
	}
	for from, to := range e.moved.frames {
		frames, ok := old[from]
		if !ok {
			continue
		}
		frames = slices.Clone(frames)
		for i := range frames {
			if frames[i].Module >= 0 {
				frames[i].Module = int(e.moved.places[int32(frames[i].Module)])
			}
		}
		n.sites[to] = frames
		if unnamed[from] {
			n.unnamed[to] = true
		}
	}
}
