package unwind

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// climb walks up as long as the steps are what nearly all are: the usual row of a site, whose words were copied, at
// fixed distances from a CFA further up in the same stack, and a return address at which code goes on behind a call.
// There apply and stepFramePointer would do the same, many times slower; what is otherwise in any way is left to them.
// It pushes at most limit frames in all.
func (c *cursor) climb(limit int) {
	if c.at == nil || c.doubts != (doubts{}) {
		return
	}
	frames, at, sp := c.frames, c.at, c.top().SP
	for len(frames) < limit {
		r := c.usual(at)
		if r == nil {
			break
		}
		v, ok := c.regs.Get(r.base)
		cfa := mem.Addr(c.mask(v + uint64(r.offset)))
		words := c.wordsOf(r, cfa)
		if !ok || words == nil || cfa <= sp || cfa > c.hi || uint64(cfa)&uint64(c.arch.WordSize-1) != 0 ||
			r.record && !c.goodRecord(mem.Addr(v), sp) {
			break
		}
		ra := c.code(c.wordOf(words[r.ra:]))
		to := at.lastCaller(ra, c.w)
		if to == nil {
			c.frames, c.at = frames, at // a file may fault: what was found is kept
			to = c.callerSite(ra)
		}
		if to == nil || !to.returnable || guessed(r.origin) && to.unread(c.w) {
			break
		}
		if r.record {
			c.forgetCallee(&c.regs)
		}
		c.regs.Return(ra, cfa, r.words, words, -r.low)
		frames[len(frames)-1].CFA = cfa
		if len(frames) == cap(frames) {
			frames = slices.Grow(frames, 1)
		}
		frames = frames[:len(frames)+1]
		f := &frames[len(frames)-1]
		f.PC, f.SP, f.CFA, f.Interrupted, f.Signal, f.Origin = ra, cfa, 0, false, false, r.origin
		f.Module, f.Site, f.Runtime, f.Stub, f.Note = to.module, 0, nil, false, ""
		f.Kept, f.Unsure, f.Gap = 0, false, false // the memory may be of another walk
		at, sp = to, cfa
	}
	c.frames, c.at = frames, at
}

// usual is the row that climb may apply at s; nil for none.
func (c *cursor) usual(s *site) *compiled {
	if c.bare {
		return c.w.record
	}
	if c.way.known && s.usual != nil && guessed(s.usual.origin) {
		return nil // keepOnWay looks at the step
	}
	return s.usual
}

// wordsOf returns the bytes of r's words in the copied window, nil if they are not all there or not all of r.
func (c *cursor) wordsOf(r *compiled, cfa mem.Addr) []byte {
	from := uint64(cfa) + uint64(r.low) - uint64(c.window.Start)
	size := uint64(len(c.window.Data))
	if from > size || r.span > size-from {
		return nil
	}
	return c.window.Data[from : from+r.span]
}

// goodRecord is what checkFP asks of a frame pointer besides what climb asks of every CFA.
func (c *cursor) goodRecord(fp, sp mem.Addr) bool {
	return fp >= sp && fp >= c.lo && fp-sp <= maxFrameLength
}

// recordRow is a frame record as a row, nil where climb cannot apply one.
func recordRow(a *regs.Arch) *compiled {
	width, rec := int64(a.WordSize), a.Record
	if a.FP == regs.NoReg || rec.SavedFP != 0 || rec.RA != width || rec.Anywhere {
		return nil
	}
	return &compiled{origin: FramePointer, record: true, base: a.FP, offset: rec.CFA, low: -rec.CFA,
		span: uint64(2 * width), ra: width, words: []regs.Saved{{Reg: a.FP, At: int32(-rec.CFA)}}}
}
