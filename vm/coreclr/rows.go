package coreclr

import (
	"hash/maphash"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// codes are the places that were looked up. What stays is kept; of the rest only what tells it from other code at the
// same place.
type codes struct {
	byPC        map[mem.Addr]*code
	generations map[identity]uint64
	last        uint64 // generation that was given
	seed        maphash.Seed
}

// identity is what code is: where, which method, and the bytes that its rows rest on.
type identity struct {
	start, begin, desc mem.Addr
	rows               uint64
}

// Bounds of codes: behind them all is looked up again.
const (
	maxPlaces      = 1 << 16
	maxGenerations = 1 << 16
)

func (c *codes) reset() {
	c.byPC, c.generations, c.seed = map[mem.Addr]*code{}, map[identity]uint64{}, maphash.MakeSeed()
}

// keep keeps what stays.
func (c *codes) keep(pc mem.Addr, found *code) {
	if len(c.byPC) >= maxPlaces {
		clear(c.byPC)
	}
	c.byPC[pc] = found
}

// generation is the number of code with that identity.
func (c *codes) generation(i identity) uint64 {
	if n, ok := c.generations[i]; ok {
		return n
	}
	if len(c.generations) >= maxGenerations {
		clear(c.generations)
	}
	c.last++
	c.generations[i] = c.last
	return c.last
}

// look returns what is at pc, as tables are looked up with it; nil if it is no managed code. An error says why it is
// not known what of s it is.
func (r *Runtime) look(pc mem.Addr) (*section, *code, error) {
	if c := r.codes.byPC[pc]; c != nil {
		return c.section, c, nil
	}
	s := r.sectionAt(pc)
	if s == nil || r.view == nil {
		return nil, nil, nil
	}
	c, err := r.codeAt(r.view, s, pc)
	if err != nil {
		return s, nil, err
	}
	id := identity{start: c.start, begin: c.base + mem.Addr(c.function.Begin), desc: c.desc}
	if !c.stays() {
		id.rows = maphash.Bytes(r.codes.seed, r.info(c, c.function.Info, unwindcode.MaxInfo))
	}
	c.generation = r.codes.generation(id)
	if c.stays() {
		r.codes.keep(pc, c)
	}
	return s, c, nil
}

// sectionAt finds the section of pc. Code may be younger than the mappings that were seen: then sections are read
// again, once a walk; where that brought nothing, less and less often.
func (r *Runtime) sectionAt(pc mem.Addr) *section {
	if s := r.sections.Load().find(pc); s != nil || r.missed || !r.mayHold(pc) {
		return s
	}
	r.missed = true
	if r.skip > 0 {
		r.skip--
		return nil
	}
	r.readSections()
	s := r.sections.Load().find(pc)
	const most = 16
	if r.skips = min(2*r.skips+1, most); s != nil {
		r.skips = 0
	}
	r.skip = r.skips
	return s
}

// mayHold reports whether code may have been made at pc since the mappings were read: nothing else was there, or the
// runtime keeps that memory for code, which becomes executable bit by bit.
func (r *Runtime) mayHold(pc mem.Addr) bool {
	if r.table == nil {
		return false
	}
	m := r.table.Find(pc)
	return m == nil || m.Perm == 0 || strings.Contains(m.Path, doubleMapper) || r.jitMapping(pc) != nil
}

// doubleMapper is the file in memory that code lies in, which is mapped a second time to be written.
// Source: VMToOSInterface::CreateDoubleMemoryMapper in src/coreclr/minipal/Unix/doublemapping.cpp.
const doubleMapper = "doublemapper"

// jitMapping returns the mapping of pc if the runtime's own code may lie there, in a section or not; nil if not.
func (r *Runtime) jitMapping(pc mem.Addr) *maps.Mapping {
	if r.table == nil {
		return nil
	}
	m := r.table.Find(pc)
	if m == nil || m.Perm&maps.Exec == 0 || m.Path != "" && !strings.Contains(m.Path, doubleMapper) {
		return nil
	}
	return m
}

// Region implements [unwind.Runtime].
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	s, c, err := r.look(pc)
	switch {
	case s == nil:
		if t := r.tripAt(pc); t != nil {
			return t.region(), true
		}
		m := r.jitMapping(pc)
		if m == nil || m.Path == "" {
			return unwind.Region{}, false
		}
		return unwind.Region{Start: m.Start, End: m.End, Alike: true}, true
	case err != nil || c.kind == StubCode:
		return unwind.Region{Start: s.start, End: s.end, Alike: true}, true
	}
	start, end := c.span()
	return unwind.Region{Start: start, End: end, Generation: c.generation, Proved: c.kind == JITCode}, true
}

// Row implements [unwind.RowSource].
func (r *Runtime) Row(_ unwind.Region, pc mem.Addr, interrupted bool) (*cfi.Row, bool, error) {
	if t := r.tripAt(pc); t != nil {
		row := t.row(pc, interrupted)
		return row, row != nil, nil
	}
	s, c, err := r.look(pc)
	switch {
	case err != nil:
		return nil, false, err
	case s == nil || c.kind == StubCode:
		if !interrupted {
			return nil, false, nil
		}
		return r.stubRow(pc), true, nil
	}
	start, end := c.span()
	at, size := uint32(pc-start), uint32(end-start)
	var row *cfi.Row
	if interrupted {
		var b [unwindcode.MaxEpilogue]byte
		n, _ := r.view.ReadMem(b[:], pc)
		if found, ok := unwindcode.Epilogue(b[:n], at, size); ok && at > 0 {
			row = found
		}
	}
	if row == nil {
		info := func(offset uint32, n int) []byte { return r.info(c, offset, n) }
		if row, err = unwindcode.Row(c.function, at, info); err != nil {
			return nil, false, err
		}
	}
	row.Start, row.End = uint64(pc), uint64(pc)+1
	return row, true, nil
}

// info reads up to n bytes of the unwind information at an offset from the base of c.
func (r *Runtime) info(c *code, offset uint32, n int) []byte {
	b := make([]byte, n)
	at := c.base + mem.Addr(offset)
	const head = 4
	if had, err := r.view.ReadMem(b[:head], at); err != nil {
		return b[:had]
	}
	whole := min(n, head+2*(int(b[2])+int(b[2]&1))+unwindcode.FunctionSize)
	if had, err := r.view.ReadMem(b[:whole], at); err == nil || had > head {
		return b[:had]
	}
	whole = min(n, head+2*int(b[2])) // the last of a mapping, not chained
	had, _ := r.view.ReadMem(b[:whole], at)
	return b[:had]
}
