package unwind

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// quick is a row in the form that nearly all have: the CFA is a register plus a number, and
// the return address and the saved registers stand at fixed distances from it. It is applied by
// [cursor.hurry], with the result that [cursor.applyRow] would have.
type quick struct {
	base   regs.Reg // the CFA is base + offset
	origin Origin
	offset int64
	low    int64  // from the CFA to the lowest byte that is read
	span   uint64 // bytes from there to the end of the highest word that is read
	ra     uint64 // where the return address stands, from low
	saved  []savedReg
}

// shortcut is what hurry does at a site. It is looked for when a site is met for the second time:
// most that a dump meets are met once.
type shortcut struct {
	quick       *quick // nil where a step is not that simple
	byRecord    bool   // nothing but the frame pointer tells the caller
	met, looked bool   // the site was met; quick and byRecord are known
}

// shorten looks for the shortcut of s: what the steps would try first there, if that is simple.
// In code of no module no call target is looked for, so that an unsure row may be the first, or
// where there is none the frame record of a caller.
func (c *cursor) shorten(s *site) {
	if !s.met {
		s.met = true
		return
	}
	switch {
	case s.signal.kind != noSignal, s.root:
	case s.row != nil:
		s.quick = quicken(s.row, s.origin, c.arch)
	case !s.codeRead:
		return // no step has come that far
	case len(s.code) > 0 && (s.code[0].exact || s.module == nil):
		s.quick = quicken(&s.code[0].row, Code, c.arch)
	case len(s.code) == 0:
		s.byRecord = s.module == nil && !s.interrupted && !recordFloats(c.arch)
	}
	s.looked = true
}

// little is the byte order that words are decoded in here.
var little binary.ByteOrder = binary.LittleEndian

// savedReg is a register of the caller and where it stands, from quick.low.
type savedReg struct {
	reg regs.Reg
	at  uint64
}

// maxQuickSpan bounds the distance between the words of a quick row.
const maxQuickSpan = 1 << 20

// quicken returns the short form of a row, nil where it has none.
func quicken(row *cfi.Row, o Origin, a *regs.Arch) *quick {
	if row.CFA.Kind != cfi.Register || row.RA.Kind != cfi.Offset || row.Signal || a.Order != little {
		return nil
	}
	// Where Go's functions find their CFA by the frame pointer they switch stacks.
	if o == PCSP && row.CFA.Reg == uint64(a.FP) || landsExceptions(row, a) {
		return nil
	}
	base, ok := a.FromDWARF(row.CFA.Reg)
	if !ok {
		return nil
	}
	low, high := row.RA.N, row.RA.N
	var saved []savedReg
	for i := range row.Regs {
		rule := row.Regs[i].Rule
		r, ok := a.FromDWARF(row.Regs[i].Reg)
		switch {
		case !ok, rule.Kind == cfi.SameValue, rule.Kind == cfi.Unspecified:
			continue
		case rule.Kind != cfi.Offset, r == a.SP, r == a.PC:
			return nil
		}
		saved = append(saved, savedReg{r, uint64(rule.N)})
		low, high = min(low, rule.N), max(high, rule.N)
	}
	if high-low > maxQuickSpan {
		return nil
	}
	for i := range saved {
		saved[i].at -= uint64(low)
	}
	return &quick{base: base, origin: o, offset: row.CFA.N, low: low, span: uint64(high-low) + uint64(a.WordSize),
		ra: uint64(row.RA.N - low), saved: saved}
}

// hurry pushes frames as long as what is known of their PCs suffices: quick rows and frame
// records, applied to words that were copied, between return addresses that are known as such. It
// does just what the steps would do, and leaves all else, whatever it is, to them. The result is
// not nil if it came to the outermost frame.
func (c *cursor) hurry(limit int) *ending {
	if c.overlay == nil || c.loose || c.doubt != 0 {
		return nil
	}
	f := c.top()
	s := c.w.sites.get(f.PC, f.Interrupted)
	if !c.bare && (s == nil || !c.holds(s) || !s.exec) {
		return nil
	}
	sp, ok := c.regs.SP()
	if !ok || !c.cover(sp) {
		return nil
	}
	for {
		if !c.bare && !s.looked {
			c.shorten(s)
		}
		var next *site
		switch {
		case !c.bare && s.outermost:
			return atRoot
		case len(c.frames) >= limit:
		case c.bare || s.byRecord:
			next, sp = c.quickRecord(s, sp)
		case s.quick != nil:
			next, sp = c.quickRow(s, sp)
		}
		if next == nil {
			return nil
		}
		s = next
	}
}

// quickRow pushes the caller of the top frame by the quick row of s, and returns its site and SP; nil
// if it is not that simple.
func (c *cursor) quickRow(s *site, sp mem.Addr) (*site, mem.Addr) {
	q := s.quick
	cfa, words := c.quickCFA(q, sp)
	if words == nil {
		return nil, sp
	}
	ra := c.code(c.wordOf(words[q.ra:]))
	next := c.callerOf(s, ra)
	if next == nil {
		return nil, sp
	}
	for _, r := range q.saved {
		c.regs.Set(r.reg, c.wordOf(words[r.at:]))
	}
	c.pushQuick(next, ra, cfa, q.origin)
	return next, cfa
}

// quickRecord is quickRow by the frame record that the frame pointer stands on, as
// [cursor.stepFramePointer] applies it.
func (c *cursor) quickRecord(s *site, sp mem.Addr) (*site, mem.Addr) {
	rec, width := c.arch.Record, mem.Addr(c.arch.WordSize)
	fp, ok := c.regs.FP()
	if !ok || rec.SavedFP != 0 || rec.RA != int64(width) || recordFloats(c.arch) || c.arch.Order != little ||
		fp < sp || fp < c.lo || fp+2*width > c.hi || fp%width != 0 || fp-sp > maxFrameLength {
		return nil, sp
	}
	words, ok := c.window.Bytes(fp, int(2*width))
	if !ok {
		return nil, sp
	}
	ra := c.code(c.wordOf(words[width:]))
	next := c.callerOf(s, ra)
	if next == nil {
		return nil, sp
	}
	c.forgetCallee(&c.regs)
	c.regs.Set(c.arch.FP, c.wordOf(words))
	cfa := fp + mem.Addr(rec.CFA)
	c.pushQuick(next, ra, cfa, FramePointer)
	return next, cfa
}

// pushQuick pushes the frame that returns to ra, whose site is next.
func (c *cursor) pushQuick(next *site, ra, cfa mem.Addr, o Origin) {
	c.regs.Set(c.arch.SP, uint64(cfa))
	c.regs.Set(c.arch.PC, uint64(ra))
	c.top().CFA = cfa
	c.uncalled = false
	c.frames = append(c.frames, Frame{PC: ra, SP: cfa, Module: next.module, Origin: o})
}

// quickCFA returns the CFA of the top frame and the bytes that q reads; nil if the CFA is not what
// it mostly is, above SP in the same stack, or if the words were not copied.
func (c *cursor) quickCFA(q *quick, sp mem.Addr) (cfa mem.Addr, words []byte) {
	v, ok := c.regs.Get(q.base)
	if !ok {
		return 0, nil
	}
	cfa = mem.Addr(c.mask(v + uint64(q.offset)))
	if cfa <= sp || cfa < c.lo || cfa > c.hi || uint64(cfa)&uint64(c.arch.WordSize-1) != 0 {
		return 0, nil
	}
	from := uint64(cfa) + uint64(q.low) - uint64(c.window.Start)
	size := uint64(len(c.window.Data))
	if from > size || q.span > size-from {
		return 0, nil
	}
	return cfa, c.window.Data[from : from+q.span]
}

// callerOf returns the site of the return address ra in the caller of s, which may be nil. It is
// nil if it is not known that a function may return there.
func (c *cursor) callerOf(s *site, ra mem.Addr) *site {
	if ra == 0 {
		return nil
	}
	if s != nil && s.caller != nil && s.caller.pc == ra {
		if n := s.caller; c.holds(n) && n.exec && n.returnable {
			return n
		}
		return nil
	}
	n := c.w.sites.get(ra, false)
	if n == nil || !c.holds(n) || !n.exec || !n.returnable {
		return nil
	}
	if s != nil {
		s.caller = n
	}
	return n
}

// cover makes the copied range that holds sp the one that hurry reads.
func (c *cursor) cover(sp mem.Addr) bool {
	if _, ok := c.window.Bytes(sp, 1); ok {
		return true
	}
	c.window, _ = c.overlay.Around(sp)
	return len(c.window.Data) > 0
}

// wordOf decodes the word that b begins with.
func (c *cursor) wordOf(b []byte) uint64 {
	if c.arch.WordSize == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
