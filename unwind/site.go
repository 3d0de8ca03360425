package unwind

import (
	"hash/maphash"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// site is what the code and the tables at one PC say, which is the same for every stack. The
// same PC is another site as a return address.
type site struct {
	pc          mem.Addr
	interrupted bool
	module      *module.Module // of the address to look up
	exec        bool           // code can run at pc
	made        bool           // it is code of no object: the process made it
	validity

	found            // row is nil where neither a table nor a runtime has one
	table   compiled // row
	runtime Runtime  // whose code it is, nil for none
	region  Region
	entry   bool // no table, and it lies in the start code of a program
	signal  signalSite
	begins  bool // the C library looks here whether it goes on in a thread that it has just made
	// outermost says that the function of a thread is called here or returns here, in code of the C library that no
	// table covers.
	outermost bool
	call      callSite
	codeRows

	// returnable says that code may return here: a call precedes it, or it is a signal trampoline or the root
	// of a stack, whose addresses were written by other means. It is true where instructions cannot be read.
	returnable bool
	// usual is the row that is tried first, of the table, of the code once that was read, or a frame record; nil if it
	// is not known or if something else comes before it.
	usual  *compiled
	caller *site // of the return address last met under this one
}

// validity is what shows whether a site is still true.
type validity struct {
	// held says that a file holds the code, so that it is what it was while the module is. Other
	// code may be replaced in place; then print is the hash of its bytes.
	held   bool
	print  uint64
	stamp  uint64 // Walker.mapped or Walker.moment when it was last known to be true
	mapped uint64 // Walker.mapped then
	read   uint64 // of code in no file: Walker.moment when its bytes were last read or compared
}

// vouch is a region of which its runtime said at a moment that its code is what it was.
type vouch struct {
	runtime Runtime
	region  Region
	moment  uint64 // Walker.moment
}

// callKind is the form of a call instruction.
type callKind uint8

const (
	noCall       callKind = iota
	indirectCall          // to what nobody knows
	directCall            // to an address
	slotCall              // to what a fixed word of memory has, as of the global offset table
)

// callSite is the call instruction that ends at a PC, so that this can be a return address.
type callSite struct {
	kind   callKind
	to     mem.Addr // the address, or that of the word
	unread bool     // the code could not be read
}

// codeRows are the rows that reading the instructions gave; filled on demand.
type codeRows struct {
	code     []codeRow // best first
	codeRead bool
	bySP     *compiled // the row that rests on SP alone, nil if there is none
	bySPRead bool
	// setsFP says that an instruction of the function, before pc, points the frame pointer to a record.
	setsFP, setsFPRead bool
}

// codeRow is a row found by reading code, and whether it knows where the function begins.
type codeRow struct {
	compiled
	exact bool
}

// siteAt returns what is known of a PC.
func (c *cursor) siteAt(pc mem.Addr, interrupted bool) *site {
	s := c.w.sites.get(pc, interrupted)
	switch {
	case s == nil:
		s = &site{}
		c.fill(s, pc, interrupted)
		c.w.sites.add(s)
	case !c.holds(s):
		c.fill(s, pc, interrupted)
	}
	return s
}

// returnSite is the site of the return address ra; nil if no code can run there.
func (c *cursor) returnSite(ra mem.Addr) *site {
	if c.w.sites.get(ra, false) == nil && !c.executable(ra) {
		return nil // that may be any number: nothing is kept of it
	}
	if s := c.siteAt(ra, false); s.exec {
		return s
	}
	return nil
}

// lastCaller is the site of the return address that was last met under s if that is ra, as it mostly is; else nil.
func (s *site) lastCaller(ra mem.Addr, w *Walker) *site {
	if to := s.caller; to != nil && to.pc == ra && to.exec && w.fresh(to) {
		return to
	}
	return nil
}

// callerSite is returnSite for the caller of the top frame.
func (c *cursor) callerSite(ra mem.Addr) *site {
	if c.at == nil {
		return c.returnSite(ra)
	}
	if to := c.at.caller; to != nil && to.pc == ra && to.exec && c.holds(to) {
		return to
	}
	c.at.caller = c.returnSite(ra)
	return c.at.caller
}

// fill looks everything up but the rows by code.
func (c *cursor) fill(s *site, pc mem.Addr, interrupted bool) {
	lookup := pc
	if !interrupted {
		lookup--
	}
	c.w.filled++
	m := c.w.modules.Find(lookup)
	*s = site{pc: pc, interrupted: interrupted, module: m, exec: c.executable(pc), made: m == nil || m.Made()}
	s.held = inFile(m, lookup) && inFile(m, pc) && c.w.modules.Find(pc) == m
	if !s.held {
		s.print = c.fingerprint(pc)
	}
	if code, at, ok := c.around(pc); ok {
		s.signal = signalReturn(c.arch, code, at)
		begins, runs := threadSite(c.arch, code, at)
		s.begins, s.outermost = interrupted && begins, runs
	}
	if !interrupted {
		s.call = c.findCall(pc, m)
	}
	c.fillRow(s, lookup)
	if s.runtime, s.region = c.w.regionOf(m, lookup); s.region.Instead {
		s.found = found{}
	}
	c.runtimeRow(s, lookup)
	if s.row != nil {
		s.table = c.compile(s.row, s.origin)
		s.table.inject = s.injected
	}
	s.returnable = !hasCode(c.arch) || s.call.kind != noCall || s.root || s.signal.kind != noSignal || s.unreadable()
	if s.row != nil && !s.root && !s.injected && s.signal.kind == noSignal &&
		(s.origin != PCSP || s.table.base != c.arch.FP) {
		s.usual = &s.table
	}
	s.read = c.w.moment
	c.w.confirm(s) // last: a fault in a file leaves a site that is not fresh
}

// fillRow asks the tables.
func (c *cursor) fillRow(s *site, lookup mem.Addr) {
	m := s.module
	if s.made {
		s.why = "code of no file"
		return
	}
	v := m.Vaddr(lookup)
	s.found = c.w.table(m).find(uint64(v), c.arch)
	switch {
	case !s.interrupted || !hasCode(c.arch):
	case c.arch.LR == regs.NoReg:
		c.fixThunk(s, s.pc, m)
	default:
		c.fixBetweenCalls(s, v)
	}
	s.entry = s.row == nil && isEntry(m, v) && !c.isBehindEntry(m, v)
}

// inFile reports whether the file of m holds the code at a.
func inFile(m *module.Module, a mem.Addr) bool {
	if m == nil || m.Err != nil {
		return false
	}
	_, ok := m.Text(m.Vaddr(a))
	return ok
}

// fresh reports whether s is known to be true now.
func (w *Walker) fresh(s *site) bool { return s.stamp == w.now(s.held) }

// now is the stamp of what was just looked up: in a file, or in the memory of the target.
func (w *Walker) now(held bool) uint64 {
	if held {
		return w.mapped
	}
	return w.moment
}

// confirm notes that s is true now.
func (w *Walker) confirm(s *site) { s.stamp, s.mapped = w.now(s.held), w.mapped }

// holds reports whether s is true now. Where mappings have changed since it was known to be, or
// memory may have, it still is if the same module holds it and the same bytes are there.
func (c *cursor) holds(s *site) bool { return c.w.fresh(s) || c.renew(s) }

func (c *cursor) renew(s *site) bool {
	lookup := s.pc
	if !s.interrupted {
		lookup--
	}
	byRuntime := s.restsOnRow()
	if byRuntime && s.mapped == c.w.mapped {
		return c.w.vouched(s, lookup)
	}
	if c.w.modules.Find(lookup) != s.module {
		return false
	}
	if r, region := c.w.regionOf(s.module, lookup); r != s.runtime || region != s.region {
		return false
	}
	switch {
	case s.held && c.w.modules.Find(s.pc) != s.module:
		return false
	case !s.held && !byRuntime && c.fingerprint(s.pc) != s.print:
		return false
	}
	if !byRuntime {
		s.read = c.w.moment
	}
	s.exec = c.executable(s.pc)
	c.w.confirm(s)
	return true
}

// restsOnRow reports whether s is true as long as its runtime's region has the same generation: its row is that
// runtime's. That code may return there is proved by what led there, or by mayReturn; a no is not kept.
func (s *site) restsOnRow() bool {
	return s.row != nil && s.origin == ByRuntime && (s.returnable || s.interrupted) && s.signal.kind == noSignal
}

// reread makes s true by the bytes of its code as they are now, for who rests on what the instructions say.
func (c *cursor) reread(s *site) {
	if s.unread(c.w) {
		if c.fingerprint(s.pc) != s.print {
			c.fill(s, s.pc, s.interrupted)
		}
		s.read = c.w.moment
	}
}

// mayReturn reports whether code may return to s, for who has nothing else to prove it.
func (c *cursor) mayReturn(s *site) bool {
	c.reread(s)
	return s.returnable
}

// unread reports whether other code may be at s than was read last.
func (s *site) unread(w *Walker) bool { return s.region.Alike && s.read != w.moment && !s.held }

// vouched reports whether the runtime of s says that the code there is what it was. It is asked once a moment for
// frames of the same region that follow each other.
func (w *Walker) vouched(s *site, lookup mem.Addr) bool {
	now := vouch{s.runtime, s.region, w.moment}
	if w.vouch != now {
		if region, ok := s.runtime.Region(lookup); !ok || region != s.region {
			return false
		}
		w.vouch = now
	}
	w.confirm(s)
	return true
}

// fingerprint is a hash of all bytes around pc that a site of code without a file rests on.
func (c *cursor) fingerprint(pc mem.Addr) uint64 {
	_, b := c.memoryAt(pc, c.w.buffer[:])
	return maphash.Bytes(c.w.seed, b)
}

// fixThunk replaces the row at the return of a return thunk, where gcc's tables are wrong.
func (c *cursor) fixThunk(s *site, pc mem.Addr, m *module.Module) {
	code, bias, ok := c.codeAt(pc, m)
	if !ok {
		return
	}
	x86, ok := code.instructions.(x86Code)
	if !ok {
		return
	}
	if row, ok := x86.ThunkReturn(uint64(pc) - bias); ok {
		s.row, s.origin = &row, Code
	}
}

// entryStub is how many bytes of start code of a program are taken for its outermost function:
// the C libraries' _start without tables are 20 to 50 bytes long, 80 that of arm64 with addresses of 64 bits.
const entryStub = 80

// isEntry reports whether v lies in the start code of m.
func isEntry(m *module.Module, v module.Vaddr) bool {
	e := m.Entry()
	return m.Err == nil && e != 0 && v >= e && v < e+entryStub
}

// isBehindEntry reports whether v, near the entry of m, is in a function that is known to begin behind that.
func (c *cursor) isBehindEntry(m *module.Module, v module.Vaddr) bool {
	if c.w.functions == nil {
		return false
	}
	start, _, ok := c.w.functions.Bounds(m, v)
	return ok && start > m.Entry()
}

const uncalledNote = "no call before the return address"

// noteReturn marks the frame to be pushed if no call precedes its return address. Such
// frames exist (return thunks, contexts made by hand), so that tables are believed all the same.
//
// The first instruction of a function has been put on the stack for a return to go there, as
// makecontext(3) does with what ends a context: that function has not begun, and nobody called it.
func (c *cursor) noteReturn(to *site) {
	switch {
	case c.next.Interrupted:
		c.at = nil // it is another site as a return address
	case to.returnable:
	case c.beginsFunction(to.pc):
		c.next.Interrupted, c.at, c.uncalled = true, nil, true
		c.regs.Forget(c.arch.LR) // that it was returned to by, and code before it has overwritten: no caller's
	default:
		c.next.Note = uncalledNote
	}
}

// beginsFunction reports whether a table says that a function begins at a.
func (c *cursor) beginsFunction(a mem.Addr) bool {
	m := c.w.modules.Find(a)
	if m == nil || c.w.table(m).cfi == nil {
		return false
	}
	v := uint64(m.Vaddr(a))
	fde, err := c.w.table(m).cfi.FDE(v)
	return err == nil && fde.Start == v
}
