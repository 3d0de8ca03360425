package tokio

// steps is a set of steps: a table with open addresses, which is cleared by a number before it is used.
type steps struct {
	slots []slot // their number is a power of two, more than half of them are free
	has   int
	round uint32
}

type slot struct {
	step
	round uint32 // in which it was put
}

func (s *steps) clear() {
	if s.round++; s.round == 0 { // all rounds were there
		clear(s.slots)
		s.round = 1
	}
	s.has = 0
}

// add adds x, and reports whether it was not there.
func (s *steps) add(x step) bool {
	const first = 1 << 10
	if 2*s.has >= len(s.slots) {
		old := s.slots
		s.slots = make([]slot, max(first, 2*len(old)))
		for i := range old {
			if old[i].round == s.round {
				*s.find(old[i].step) = old[i]
			}
		}
	}
	at := s.find(x)
	if at.round == s.round {
		return false
	}
	*at = slot{x, s.round}
	s.has++
	return true
}

// find is where x is, or where it would be.
func (s *steps) find(x step) *slot {
	mask := uint64(len(s.slots) - 1)
	h := (uint64(x.pc) ^ uint64(x.call)<<32) * 0x9e3779b97f4a7c15 >> 20
	for ; ; h++ {
		at := &s.slots[h&mask]
		if at.round != s.round || at.step == x {
			return at
		}
	}
}
