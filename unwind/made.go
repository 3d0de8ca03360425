package unwind

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// An interpreter enters its functions by a push of the return address and a jump, so that no call is
// before it: HotSpot's templates return to an entry for the next bytecode. In code that the process made such a
// frame record is believed if it is one of a chain that leads back to where somebody called that code.

// maxChain bounds the records of one chain: a frame of an interpreter has some hundred bytes.
const maxChain = 1 << 17

// leadsBack reports whether the frame record at fp, with the saved frame pointer and the return address of to, may be
// believed though no call precedes that: it lies in code of no file, and the chain of records goes on,
// upwards in the same stack, through such code to a return address in a file, behind a call. The records of a
// chain that was proved are remembered for the rest of the walk.
func (c *cursor) leadsBack(fp, saved mem.Addr, to *site) bool {
	if !to.made {
		return false
	}
	if _, known := slices.BinarySearch(c.w.chain, fp); known {
		return true
	}
	c.w.chain = append(c.w.chain[:0], fp)
	b := c.w.modules.Budget()
	c.earn(b)
	left := c.search(b)
	for i := 0; i < maxChain && left(); i++ {
		next, s := c.record(fp, saved)
		if s == nil || !s.made && !c.mayReturn(s) {
			break
		}
		if !s.made {
			return true
		}
		c.w.chain = append(c.w.chain, saved)
		fp, saved = saved, next
	}
	c.w.chain = c.w.chain[:0]
	return false
}

// record reads the frame record at fp, which must be above the one at below, in memory that was copied: the
// frame pointer that it saves, and the site of its return address, nil if it is no such record.
func (c *cursor) record(below, fp mem.Addr) (saved mem.Addr, s *site) {
	rec, width := c.arch.Record, mem.Addr(c.arch.WordSize)
	low := fp + mem.Addr(min(rec.SavedFP, rec.RA))
	if fp <= below || fp%width != 0 || fp-below > maxFrameLength || low < c.lo || low+2*width > c.hi {
		return 0, nil
	}
	if c.copied != nil {
		if _, ok := c.copied.Bytes(low, 2*c.arch.WordSize); !ok {
			return 0, nil
		}
	}
	v, err := c.word(fp + mem.Addr(rec.RA))
	if err != nil {
		return 0, nil
	}
	chained, err := c.word(fp + mem.Addr(rec.SavedFP))
	if err != nil {
		return 0, nil
	}
	return mem.Addr(chained), c.returnSite(c.code(v))
}
