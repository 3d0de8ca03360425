package unwind

import (
	"cmp"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// codeWindow is how many bytes around a PC are read from memory where no file holds the code.
const codeWindow = 256

// codeAt returns the code around pc as a module holds it, at link addresses, or as the memory
// does, at addresses of the process. bias converts one to the other.
func (c *cursor) codeAt(pc mem.Addr, m *module.Module) (code text, bias uint64, ok bool) {
	if m != nil && m.Err == nil {
		if s, ok := m.Code(m.Vaddr(pc)); ok {
			return newText(c.arch, uint64(s.Addr), s.Data, m.Budget()), m.Base(), true
		}
	}
	start, buf := c.memoryAt(pc, make([]byte, 2*codeWindow))
	if len(buf) == 0 {
		return text{}, 0, false
	}
	return newText(c.arch, uint64(start), buf, c.w.modules.Budget()), 0, true
}

// memoryAt reads the code around pc, as far as its mapping reaches, from the memory of the
// process; half of buf is for what is before pc. It is empty where no code can be read.
func (c *cursor) memoryAt(pc mem.Addr, buf []byte) (start mem.Addr, code []byte) {
	mapping := c.w.modules.Table().Find(pc)
	if mapping == nil || mapping.Perm&maps.Exec == 0 {
		return 0, nil
	}
	half := mem.Addr(len(buf) / 2)
	start = max(mapping.Start, pc-min(pc, half))
	end := mapping.End
	if end-pc > half {
		end = pc + half
	}
	n, _ := c.memory.ReadMem(buf[:end-start], start)
	return start, buf[:n]
}

// findCall looks for the call instruction that ends at pc, in m.
func (c *cursor) findCall(pc mem.Addr, m *module.Module) callSite {
	if !hasCode(c.arch) || pc == 0 {
		return callSite{}
	}
	code, bias, ok := c.codeAt(pc-1, m)
	if !ok {
		return callSite{unread: true}
	}
	at := uint64(pc) - bias
	target, direct, ok := code.CallBefore(at)
	switch {
	case !ok:
		return callSite{}
	case direct:
		return callSite{kind: directCall, to: mem.Addr(target + bias)}
	}
	if slot, ok := code.CallSlot(at); ok {
		return callSite{kind: slotCall, to: mem.Addr(c.mask(slot + bias))}
	}
	return callSite{kind: indirectCall}
}

// target is where the call that ends at s leads; false where that is not fixed. The word of a
// call through one is read each time: the dynamic linker changes it at the first call.
func (c *cursor) target(s *site) (mem.Addr, bool) {
	switch s.call.kind {
	case directCall:
		return s.call.to, true
	case slotCall:
		v, err := c.word(s.call.to)
		return mem.Addr(v), err == nil && c.executable(mem.Addr(v))
	}
	return 0, false
}

// called reports whether ra is the return address of a call.
func (c *cursor) called(ra mem.Addr) bool {
	s := c.returnSite(ra)
	return s != nil && c.mayReturn(s) && s.call.kind != noCall
}

// around is the code around pc, and where in it that is.
func (c *cursor) around(pc mem.Addr) (b []byte, at int, ok bool) {
	if !hasCode(c.arch) {
		return nil, 0, false
	}
	code, bias, ok := c.codeAt(pc, c.w.modules.Find(pc))
	if !ok {
		return nil, 0, false
	}
	offset := uint64(pc) - bias - code.start
	if offset > uint64(len(code.data)) { // what can be read ends before it
		return nil, 0, false
	}
	lo, hi := offset-min(offset, nearBytes), min(offset+nearBytes, uint64(len(code.data)))
	return code.data[lo:hi], int(offset - lo), true
}

// nearBytes is more than the longest trampoline of signals has.
const nearBytes = 16

// mustReturn asks that code may return to the return address: a row that code gave may rest on a wrong path.
const mustReturn = true

// How sure a way through code must be.
const (
	sure   = true  // it begins where the function does
	unsure = false // or it ends where a return is, which a call that never returns may hide
)

// stepCode steps by what the instructions say, the surest way first: from the beginning of the
// function, from the target of the call that the stack shows, forward to the return.
func (c *cursor) stepCode(s *site, certainty bool) bool {
	f := c.top()
	c.reread(s)
	if !s.codeRead {
		s.code = c.readCode(f)
		s.codeRead = true
		c.usualCode(s)
	}
	for i := range s.code {
		if s.code[i].exact && c.apply(&s.code[i].compiled, mustReturn) == nil {
			return true
		}
	}
	if s.leaves {
		return false
	}
	if c.stepCallTarget(f) {
		return true
	}
	if certainty {
		return false
	}
	for i := range s.code {
		if !s.code[i].exact && c.apply(&s.code[i].compiled, mustReturn) == nil {
			return true
		}
	}
	return false
}

// usualCode notes what is tried first at s, whose code was read. Of code of no module no call target is looked for, so
// that an unsure row comes next, or where there is none the frame record of a caller.
func (c *cursor) usualCode(s *site) {
	switch {
	case s.row != nil, s.root, s.signal.kind != noSignal, s.runtime != nil, s.leaves:
	case len(s.code) > 0 && (s.code[0].exact || s.module == nil):
		s.usual = &s.code[0].compiled
	case len(s.code) == 0 && s.module == nil && !s.interrupted:
		s.usual = c.w.record
	}
}

// readCode reads the instructions around the top frame's PC for rows at that place.
func (c *cursor) readCode(f *Frame) []codeRow {
	code, bias, ok := c.codeAt(f.LookupPC(), f.Module)
	if !ok {
		return nil
	}
	c.earn(code.budget)
	pc := uint64(f.LookupPC()) - bias
	var rows []codeRow
	add := func(row cfi.Row, ok, exact bool) {
		if ok {
			rows = append(rows, codeRow{c.compile(&row, Code), exact})
		}
	}
	start, end, known := c.bounds(f, bias)
	if known {
		row, ok := code.FromEntry(start, end, pc)
		add(row, ok, true)
	}
	from := uint64(f.PC) - bias
	row, ok := code.Forward(from, !f.Interrupted)
	add(row, ok, false)
	c.refused = cmp.Or(c.refused, code.budget.Err())
	return rows
}

// bounds asks for the function of the top frame: its symbol, or the range of its table entry.
func (c *cursor) bounds(f *Frame, bias uint64) (start, end uint64, ok bool) {
	if f.Module == nil || f.Module.Err != nil || bias != f.Module.Base() {
		return 0, 0, false
	}
	if c.w.functions != nil {
		if s, e, ok := c.w.functions.Bounds(f.Module, f.Module.Vaddr(f.LookupPC())); ok {
			return uint64(s), uint64(e), true
		}
	}
	return c.entryBounds(f, bias)
}

// entryBounds is the range of the table entry of f. It reads a few words, and symbols are all looked at.
func (c *cursor) entryBounds(f *Frame, bias uint64) (start, end uint64, ok bool) {
	if f.Module == nil || f.Module.Err != nil || bias != f.Module.Base() {
		return 0, 0, false
	}
	t := c.w.table(f.Module)
	if t.cfi == nil {
		return 0, 0, false
	}
	fde, err := t.cfi.FDE(uint64(f.Module.Vaddr(f.LookupPC())))
	if err != nil {
		return 0, 0, false
	}
	return fde.Start, fde.End, true
}

// searchWords bounds the search for the call that entered a function. musl's fmt_fp has a
// frame of more than 4 KB.
const searchWords = 1024

// stepCallTarget looks upward from SP for the return address of the call that entered this
// function: the instructions from the call's target to PC must move SP by just the distance
// to that word, which no other word fulfils but by the rarest chance.
func (c *cursor) stepCallTarget(f *Frame) bool {
	if f.Module == nil {
		return false
	}
	code, bias, ok := c.codeAt(f.LookupPC(), f.Module)
	if !ok {
		return false
	}
	sp, ok := c.regs.SP()
	if !ok {
		return false
	}
	c.earn(code.budget)
	pc := uint64(f.LookupPC()) - bias
	if c.stepLinkTarget(code, bias, pc) {
		return true
	}
	width := mem.Addr(c.arch.WordSize)
	left := c.search(code.budget)
	for i, at := 0, sp; i < searchWords && at < c.hi && left(); i, at = i+1, at+width {
		v, err := c.word(at)
		if err != nil {
			return false
		}
		row := c.fromCall(code, bias, c.code(v), pc)
		if row == nil {
			continue
		}
		if cfa, err := c.cfa(row); err == nil && c.returnSlot(row, cfa) == at && c.apply(row, mustReturn) == nil {
			return true
		}
	}
	return false
}

// fromCall is the row at pc of the function that the call before the return address ra enters; nil where ra is none,
// where it is not known what is called, and where that does not lead to pc.
func (c *cursor) fromCall(code text, bias uint64, ra mem.Addr, pc uint64) *compiled {
	s := c.returnSite(ra)
	if s == nil {
		return nil
	}
	to, fixed := c.target(s)
	if !fixed {
		return nil
	}
	return c.fromTarget(code, bias, c.throughPLT(to), pc)
}

// returnSlot is where r has the return address in memory, 0 if it is in a register.
func (c *cursor) returnSlot(r *compiled, cfa mem.Addr) mem.Addr {
	switch {
	case r.RA.Kind == cfi.Offset:
		return mem.Addr(c.mask(uint64(cfa) + uint64(r.RA.N)))
	case c.arch.LR == regs.NoReg:
		return cfa - mem.Addr(c.arch.WordSize)
	}
	return 0
}

// Steps of a [work.Budget] that one word of a search takes, and a PC of which nothing was known.
const (
	wordCost = 20
	siteCost = 2000
)

// search returns a function that is asked before each word of a search for a call, and is false when
// it may take no more from b.
func (c *cursor) search(b *work.Budget) func() bool {
	left, filled := b.Purse(), c.w.filled
	return func() bool {
		cost := wordCost + siteCost*(c.w.filled-filled)
		filled = c.w.filled
		if left.Spend(cost) {
			return true
		}
		c.refused = cmp.Or(c.refused, b.Refusal())
		return false
	}
}

// pathKey is a way through code: from the entry of a function to a PC, at link addresses.
type pathKey struct {
	m         *module.Module
	entry, pc uint64
	stamp     uint64 // of code that is read from memory: the moment; else 0
}

const (
	// maxPaths bounds the remembered ways.
	maxPaths = 1 << 14
	// refill is the steps that each walk which reads code gives back to the budget. A search tries a few
	// ways, and remembers them, so that a recording can go on for days; a stack made to look like calls
	// everywhere could ask for millions, each a thousand times dearer than a row of a table.
	refill = 1 << 18
)

// earn gives b the refill of this walk, once.
func (c *cursor) earn(b *work.Budget) {
	if !c.earned {
		c.earned = true
		b.Earn(refill)
	}
}

// fromTarget interprets the function that begins at target up to pc; nil if it does not get
// there, or if too many ways were tried of late.
func (c *cursor) fromTarget(code text, bias uint64, target mem.Addr, pc uint64) *compiled {
	m := c.top().Module
	key := pathKey{m: m, entry: uint64(target) - bias, pc: pc}
	if m.Err != nil || bias != m.Base() {
		key.stamp = c.w.moment
	}
	if row, ok := c.w.paths[key]; ok {
		return row
	}
	var found *compiled
	if code.contains(key.entry) {
		row, ok := code.FromEntry(key.entry, 0, pc)
		if ok {
			r := c.compile(&row, Code)
			found = &r
		} else if err := code.budget.Err(); err != nil {
			c.refused = cmp.Or(c.refused, err)
			return nil // not remembered: later there may be time for it
		}
	}
	if len(c.w.paths) >= maxPaths {
		clear(c.w.paths)
	}
	c.w.paths[key] = found
	return found
}

// throughPLT follows one jump, direct or through a GOT slot, from the target of a call.
func (c *cursor) throughPLT(target mem.Addr) mem.Addr {
	code, bias, ok := c.codeAt(target, c.w.modules.Find(target))
	if !ok {
		return target
	}
	to, slot, ok := code.Jump(uint64(target) - bias)
	switch {
	case !ok:
	case !slot:
		return mem.Addr(to + bias)
	default:
		if v, err := c.word(mem.Addr(c.mask(to + bias))); err == nil {
			return mem.Addr(v)
		}
	}
	return target
}

// stepStackTop takes the word at SP of an innermost frame for its return address if a call
// is before it: true of frameless leaves. The frame says that it rests on this.
func (c *cursor) stepStackTop() bool {
	sp, ok := c.regs.SP()
	if !ok {
		return false
	}
	v, err := c.word(sp)
	if err != nil || !c.called(mem.Addr(v)) {
		return false
	}
	next := c.regs
	next.Set(c.arch.PC, v)
	next.Set(c.arch.SP, uint64(sp)+uint64(c.arch.WordSize))
	if c.advance(sp+mem.Addr(c.arch.WordSize), &next, StackTop) != nil {
		return false
	}
	c.next.Note = "taken from the top of the stack: no table, no frame pointer"
	return true
}
