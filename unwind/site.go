package unwind

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// siteKey names a place in code: the same PC is another place as a return address.
type siteKey struct {
	pc          mem.Addr
	interrupted bool
}

// site is what the code and the tables at one PC say, which is the same for every stack.
type site struct {
	found       // row is nil where no table covers it
	entry  bool // no table, and it lies in the start code of a program
	signal signalSite
	// call says that a call instruction ends here, so that PC can be a return address; called
	// is its target if direct, or through a fixed word of memory.
	call, direct bool
	called       uint64
	// code are the rows that reading the instructions gave, best first; filled on demand.
	code     []codeRow
	codeRead bool
}

// codeRow is a row found by reading code, and whether it knows where the function begins.
type codeRow struct {
	row   cfi.Row
	exact bool
}

// maxSites bounds the cache; a dump needs some hundred.
const maxSites = 1 << 18

// site returns what is known of the top frame's PC.
func (c *cursor) site(f *Frame) *site {
	return c.siteAt(f.PC, f.Interrupted, f.Module)
}

func (c *cursor) siteAt(pc mem.Addr, interrupted bool, m *module.Module) *site {
	key := siteKey{pc, interrupted}
	if s, ok := c.w.sites[key]; ok {
		return s
	}
	s := &site{}
	c.fill(s, key, m)
	if len(c.w.sites) >= maxSites {
		clear(c.w.sites)
	}
	c.w.sites[key] = s
	return s
}

// fill looks everything up but the rows by code.
func (c *cursor) fill(s *site, key siteKey, m *module.Module) {
	s.signal = c.findSignal(key.pc)
	if !key.interrupted {
		s.called, s.direct, s.call = c.callBefore(key.pc)
	}
	if m == nil {
		s.why = "code of no file"
		return
	}
	lookup := key.pc
	if !key.interrupted {
		lookup--
	}
	v := m.Vaddr(lookup)
	t := c.w.table(m)
	s.found = t.find(uint64(v), c.arch)
	if key.interrupted && hasCode(c.arch) {
		c.mendThunk(s, key.pc, m)
	}
	s.entry = s.row == nil && isEntry(m, v)
}

// mendThunk replaces the row at the return of a return thunk, where gcc's tables are wrong.
func (c *cursor) mendThunk(s *site, pc mem.Addr, m *module.Module) {
	code, bias, ok := c.codeAt(pc, m)
	if !ok {
		return
	}
	if row, ok := code.ThunkReturn(uint64(pc) - bias); ok {
		s.row, s.origin = &row, Code
	}
}

// entryStub is how many bytes of start code of a program are taken for its outermost function:
// the C libraries' _start without tables are 20 to 50 bytes long.
const entryStub = 64

// isEntry tells whether v lies in the start code of m.
func isEntry(m *module.Module, v module.Vaddr) bool {
	e := m.Entry()
	return m.Err == nil && e != 0 && v >= e && v < e+entryStub
}

// noteReturn marks the frame to be pushed if no call stands before its return address. Such
// frames exist (return thunks, contexts made by hand), so that tables are believed all the same.
func (c *cursor) noteReturn(ra mem.Addr) {
	if !c.next.Interrupted && !c.mayReturnTo(ra) {
		c.next.Note = "no call before the return address"
	}
}

// mayReturnTo tells whether code may return to ra: a call stands before it, or it is a signal
// trampoline or the root of a stack, whose addresses were written by other means. It is true
// where instructions cannot be read.
func (c *cursor) mayReturnTo(ra mem.Addr) bool {
	if !hasCode(c.arch) {
		return true
	}
	s := c.siteAt(ra, false, c.w.modules.Find(ra-1))
	return s.call || s.root || s.signal.kind != noSignal
}
