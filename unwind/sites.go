package unwind

import (
	"math/bits"
	"math/rand/v2"

	"github.com/fpstack/fpstack/mem"
)

// maxSites bounds the sites that are kept, and with them the rows that they hold. A dump needs
// some hundred, a recording some thousand; a target that makes new code for ever meets the
// bound, and then all are looked up again, a microsecond or two each.
const maxSites = 1 << 15

// sites finds what is known of a PC. It is a hash table with open addressing: a walk asks it
// for each frame.
type sites struct {
	slots []*site // a power of two of them, at most half in use
	used  int
	// factor spreads the PCs. It is drawn for each table, so that no target can choose PCs
	// that fall together.
	factor uint64
}

func newSites() sites { return sites{factor: rand.Uint64() | 1} }

// slot is where the search for a PC begins.
func (t *sites) slot(pc mem.Addr, interrupted bool) int {
	h := uint64(pc)
	if interrupted {
		h = ^h
	}
	hi, lo := bits.Mul64(h, t.factor)
	return int(hi^lo) & (len(t.slots) - 1)
}

// get returns the site of a PC, or nil.
func (t *sites) get(pc mem.Addr, interrupted bool) *site {
	if len(t.slots) == 0 {
		return nil
	}
	for i := t.slot(pc, interrupted); ; i = (i + 1) & (len(t.slots) - 1) {
		s := t.slots[i]
		if s == nil || s.pc == pc && s.interrupted == interrupted {
			return s
		}
	}
}

// add keeps s, whose PC is not there yet. At the bound it forgets all others.
func (t *sites) add(s *site) {
	switch {
	case t.used >= maxSites:
		*t = newSites()
		t.slots = make([]*site, 2*maxSites)
	case 2*t.used >= len(t.slots):
		t.grow()
	}
	t.insert(s)
}

func (t *sites) insert(s *site) {
	i := t.slot(s.pc, s.interrupted)
	for t.slots[i] != nil {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = s
	t.used++
}

func (t *sites) grow() {
	old := t.slots
	t.slots, t.used = make([]*site, max(256, 2*len(old))), 0
	for _, s := range old {
		if s != nil {
			t.insert(s)
		}
	}
}
