package sampler

import (
	"math"
	"time"
)

// schedule cuts time into cells of one period, on an absolute grid, and chooses one moment in
// each for a round of samples. The moment is drawn again for each cell: a fixed distance would
// see a program that works in the same rhythm always in the same place.
//
// A cell has sixteen parts, and of sixteen cells in a row each is sampled in another part, in
// an order that is drawn: a program whose rhythm is near ours is then seen evenly also in a
// short recording, where moments that know nothing of one another leave gaps and heaps. Each
// moment by itself is still as likely as any other.
// Source: Latin hypercube sampling, McKay, Beckman, Conover, Technometrics 21, 1979.
//
// All times count from the begin of the recording. A rate of 0 has no cells.
type schedule struct {
	rate   float64
	origin time.Duration
	cell   int64         // of the round that was made or is due, since origin; -1 before the first
	number int64         // of it since the begin
	bound  time.Duration // where a cell ends and a new grid begins, 0 for nowhere
	strata
}

// strata draws moments within cells.
type strata struct {
	draw  func() float64
	parts [parts]uint8 // the order of parts in this row of cells
	used  int          // how many of them were used
}

// parts is how many parts a cell has.
const parts = 16

func newSchedule(rate float64, draw func() float64) schedule {
	return schedule{rate: rate, cell: -1, number: -1, strata: strata{draw: draw}}
}

// start is where a cell begins. It is computed from the origin, so that errors do not add up.
func (s *schedule) start(cell int64) time.Duration {
	return s.origin + time.Duration(math.Round(float64(cell)/s.rate*float64(time.Second)))
}

// period is the length of a cell, 0 if there are none.
func (s *schedule) period() time.Duration {
	if s.rate == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / s.rate)
}

// next goes to the cell of that number, behind the one of now, and returns the moment in it that is due.
func (s *schedule) next(now time.Duration, number int64) time.Duration {
	if s.rate == 0 {
		return now
	}
	for s.number < number {
		s.onward()
	}
	from, to := s.start(s.cell), s.end()
	return from + time.Duration(s.moment()*float64(to-from))
}

// moment draws where in its cell the next sample is, from 0 to 1.
func (s *strata) moment() float64 {
	if s.used == 0 {
		for i := range s.parts {
			j := int(s.draw() * float64(i+1)) // inside-out, Knuth's algorithm P
			s.parts[i] = s.parts[j]
			s.parts[j] = uint8(i)
		}
	}
	part := s.parts[s.used]
	s.used = (s.used + 1) % parts
	return (float64(part) + s.draw()) / parts
}

// reached goes to the cell of the round made at now, and returns its end.
func (s *schedule) reached(now time.Duration) (upto time.Duration) {
	if s.rate == 0 {
		return now
	}
	for now >= s.end() {
		// In one step: a machine may have slept for hours.
		until := now
		if s.bound > 0 {
			until = min(now, s.bound)
		}
		skip := int64(float64(until-s.end()) / float64(time.Second) * s.rate)
		s.cell += skip
		s.number += skip
		if now >= s.end() {
			s.onward()
		}
	}
	return s.end()
}

// end is where the cell ends: at the bound too if what is left before it were hardly a cell.
func (s *schedule) end() time.Duration {
	end := s.start(s.cell + 1)
	if s.bound > 0 && s.bound-end < s.period()/parts {
		return s.bound
	}
	return end
}

// onward goes to the next cell.
func (s *schedule) onward() {
	s.number++
	if s.bound > 0 && s.end() == s.bound {
		s.origin, s.cell, s.bound = s.bound, 0, 0
		return
	}
	s.cell++
}

// endAt makes a cell end at that time, which lies behind the one that goes on now, and a new grid begin there.
func (s *schedule) endAt(at time.Duration) {
	if s.rate > 0 && at > s.end() {
		s.bound = at
	}
}

// setRate begins a new grid where the current cell ends. It is false if that is the rate.
func (s *schedule) setRate(rate float64) bool {
	if rate == s.rate {
		return false
	}
	s.origin = s.end()
	if s.origin == s.bound {
		s.bound = 0
	}
	s.cell = -1
	s.rate = rate
	return true
}
