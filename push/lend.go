package push

import (
	"slices"
	"time"
)

// turn is how often one request is tried before later ones of its series may go first: one that a store never answers
// must not hold those behind it until it is too old.
const turn = 4

// Lend returns the next request that may be sent, nil if there is none now; then again is when there may be one, the
// zero time where no clock brings it. It stays in the spool until it is settled or given back. What cannot be read any
// more is dropped.
//
// The oldest comes first. Those of one series go one after the other, but for those of one interval. One that failed
// waits until it is due; in trial, when none is known to be taken, the one that was tried least comes first.
func (s *Spool) Lend(now time.Time, trial bool) (e *entry, r *Request, again time.Time, dropped []Dropped) {
	for {
		e, again = s.next(now, trial)
		if e == nil {
			return nil, nil, again, dropped
		}
		r, err := e.held, error(nil)
		if r == nil {
			r, _, err = s.load(e.name)
		}
		if err == nil {
			e.lent = true
			return e, r, time.Time{}, dropped
		}
		dropped = append(dropped, Dropped{e.profiles, Unread, err})
		s.forget(slices.Index(s.entries, e))
	}
}

// next chooses what to lend.
func (s *Spool) next(now time.Time, trial bool) (best *entry, again time.Time) {
	before := map[uint32]int64{} // when the first of a series was made that is to go before others of it
	for _, e := range s.entries {
		if e.strange {
			continue
		}
		made := e.made.UnixNano()
		held := slices.ContainsFunc(e.series, func(series uint32) bool {
			first, ok := before[series]
			return ok && first < made
		})
		switch {
		case e.lent || held:
		case trial:
			if best == nil || e.tries < best.tries {
				best = e
			}
		case !e.due.After(now):
			return e, again
		case again.IsZero() || e.due.Before(again):
			again = e.due
		}
		if best != nil && best.tries == 0 {
			break
		}
		if e.lent || e.tries < turn {
			for _, series := range e.series {
				if _, ok := before[series]; !ok {
					before[series] = made
				}
			}
		}
	}
	return best, again
}

// Settle removes what was lent: a store has it or will never take it.
func (s *Spool) Settle(e *entry) {
	if i := slices.Index(s.entries, e); i >= 0 {
		s.forget(i)
	}
}

// GiveBack ends what Lend began for what is to be tried again, when it is due.
func (s *Spool) GiveBack(e *entry, due time.Time) {
	e.lent, e.due = false, due
	e.tries++
}

// Recovered makes all due at once that failed while the store was away.
func (s *Spool) Recovered() {
	for _, e := range s.entries {
		e.due = time.Time{}
	}
}
