package tokio

import (
	"cmp"
	"slices"
)

// A task waits for several things at once where one function polls several futures, as those that select! and join!
// make: at one place, all of them. They are told apart by the functions of libraries that poll them.

// spot is a place in the program's own code, with what the steps there have shown.
type spot struct {
	own     *node
	within  bool
	last    int    // step
	timed   bool   // a function of a library waits for a time
	rest    future // what is shown of none of futures
	futures []*future
}

// future is one of a library that is polled at a spot.
type future struct {
	at      *node // its function, nil for none
	known   bool
	first   int // step
	steps   int
	awaits  awaited   // what its functions wait for
	of      [2]string // as that of a library
	atomics []atomic
}

// spots are those of a trace, in the order in which it came to them.
type spots struct {
	all   []*spot
	byOwn map[*node]*spot
}

// at is the spot of a step that is in s.
func (a *spots) at(s *scope, step int) *spot {
	if a.byOwn == nil {
		a.byOwn = map[*node]*spot{}
	}
	at := a.byOwn[s.own]
	if at == nil {
		at = &spot{own: s.own, within: s.within, rest: future{first: step}}
		a.byOwn[s.own] = at
		a.all = append(a.all, at)
	}
	at.last = step
	return at
}

// polls takes what a step shows where a future is polled; takes says that it takes the result of a task.
func (s *spot) polls(in *library, step int, takes bool) {
	s.timed = s.timed || in.timed
	f := s.future(in, step)
	f.steps++
	f.awaits.add(in)
	for i := range in.of {
		f.of[i] = cmp.Or(f.of[i], in.of[i])
	}
	if in.atomic || takes {
		f.atomics = append(f.atomics, atomic{step, in})
	}
}

func (s *spot) future(in *library, step int) *future {
	if in.future == nil {
		return &s.rest
	}
	i := slices.IndexFunc(s.futures, func(f *future) bool { return f.at == in.future })
	if i >= 0 {
		return s.futures[i]
	}
	f := &future{at: in.future, known: in.known, first: step}
	s.futures = append(s.futures, f)
	return f
}

// leastSteps is how many steps show that a future was polled beside others: the compiler moves instructions to where
// what they were made for is not polled, and says of some that they are of the function around. So it must have been at
// work on what it waits for, too, or no function inside must wait for the same.
const leastSteps = 3

// waitings are the chains that end at those spots, the one that was polled first in front. left says from where the
// program went on into functions of its own.
func (a *spots) waitings(left map[scopeNodes]bool) (out []waiting) {
	passed := map[*node]bool{}
	for _, s := range a.all {
		for n := s.own.up; n != nil && !passed[n]; n = n.up {
			passed[n] = true
		}
	}
	for _, s := range a.all {
		of := s.ends(left)
		if len(of) == 0 && !passed[s.own] {
			of = []*future{&s.rest}
		}
		beside := passed[s.own] || len(of) > 1
		for _, f := range of {
			if w := s.waiting(f, a); !beside || f.steps >= leastSteps && (len(w.works) > 0 || !w.awaits.works()) {
				out = append(out, w)
			}
		}
	}
	all := slices.Clone(out)
	out = slices.DeleteFunc(out, func(w waiting) bool {
		return passed[w.at] && len(w.works) == 0 && slices.ContainsFunc(all, func(in waiting) bool {
			return in.awaits == w.awaits && in.at != w.at && in.at.isIn(w.at)
		})
	})
	slices.SortStableFunc(out, func(x, y waiting) int { return cmp.Compare(x.first, y.first) })
	return out
}

// ends are the futures of s of which it is known what they wait for, and of the others one that leads no further: to
// none of those, and not to functions of the program.
func (s *spot) ends(left map[scopeNodes]bool) (out []*future) {
	passed := map[*node]bool{}
	pass := func(n *node) {
		for ; n != nil && !passed[n]; n = n.up {
			passed[n] = true
		}
	}
	for _, f := range s.futures {
		pass(f.at.up)
	}
	for at := range left {
		if at.own == s.own {
			pass(at.inner)
		}
	}
	var other *future
	for _, f := range s.futures {
		switch {
		case f.known:
			out = append(out, f)
		case other == nil && !passed[f.at]:
			other = f
		}
	}
	if other != nil {
		out = append(out, other)
	}
	return out
}

// lastChain is the chain of a task that waits for what is inlined without a trace: the line is where it goes last.
func (a *spots) lastChain() (out []waiting) {
	type anyLine struct {
		up         *node
		name, file string
	}
	passed, seen := map[anyLine]bool{}, map[*node]bool{}
	at := func(n *node) anyLine { return anyLine{n.up, n.is.Func, n.is.File} }
	for _, s := range a.all {
		for n := s.own.up; n != nil && !seen[n]; n = n.up {
			passed[at(n)], seen[n] = true, true
		}
	}
	slices.SortStableFunc(a.all, func(x, y *spot) int { return cmp.Compare(x.last, y.last) })
	for _, s := range a.all {
		if !passed[at(s.own)] && (len(out) == 0 || s.own.is.Line != 0) {
			out = []waiting{s.chain()}
		}
	}
	return out
}

// chain is the chain that ends at s.
func (s *spot) chain() waiting {
	w := waiting{within: s.within, at: s.own}
	w.frames, w.cut = inwards(s.own)
	return w
}

// waiting is the chain that ends at s, one of all, where f is polled.
func (s *spot) waiting(f *future, all *spots) waiting {
	w := s.chain()
	if w.first = f.first; w.frames[0].Line == 0 { // what is inlined is not known: it may await one thing of several
		return w
	}
	w.awaits = f.awaits
	for n := s.own; n != nil && w.awaits != awaitedTimer && !w.timed; n = n.up {
		of := all.byOwn[n]
		w.timed = of != nil && of.timed
	}
	switch w.awaits {
	case awaitedMutex:
		w.of = f.of[0]
	case awaitedRWLock:
		w.of = f.of[1]
	}
	for _, a := range f.atomics {
		if w.awaits.isAbout(a.in.frames) {
			w.works = append(w.works, a)
		}
	}
	return w
}
