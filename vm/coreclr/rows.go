package coreclr

import (
	"bytes"
	"hash/maphash"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// codes are the places that were looked up. What stays is kept; of the rest only what tells it from other code at the
// same place.
type codes struct {
	at       sites.Recent[spot, *code]
	sections sites.Recent[section, uint64] // ids, by all else that is said of them
	pieces   sites.Recent[identity, uint64]
	last     uint64 // number that was given
	seed     maphash.Seed
}

// spot is an address in a section.
type spot struct {
	section uint64
	pc      mem.Addr
}

// identity is what code is: where, which method, and the bytes that its rows rest on.
type identity struct {
	section            uint64
	start, begin, desc mem.Addr
	rows               uint64
}

const maxCodes = 16 << 20 // bytes of each

func newCodes(b *work.Budget) codes {
	return codes{at: sites.NewRecent[spot, *code](b, maxCodes), sections: sites.NewRecent[section, uint64](b, maxCodes),
		pieces: sites.NewRecent[identity, uint64](b, maxCodes), seed: maphash.MakeSeed()}
}

// numbered is what was given to k in known, or what is given to it now: no number twice.
func numbered[K comparable](c *codes, known *sites.Recent[K, uint64], k K, size int) uint64 {
	n, ok := known.Get(k)
	if !ok {
		c.last++
		n = c.last
		known.Keep(k, n, size)
	}
	return n
}

// look returns what is at pc, as tables are looked up with it; nil if it is no managed code. An error says why it is
// not known what of s it is.
func (r *Runtime) look(pc mem.Addr) (*section, *code, error) {
	s := r.sectionAt(pc)
	if s == nil {
		return nil, nil, nil
	}
	if c, ok := r.codes.at.Get(spot{s.id, pc}); ok {
		return s, c, nil
	}
	v := &r.walk
	v.TakeLate()
	c, err := r.codeAt(v, s, pc)
	if err != nil {
		return s, nil, err
	}
	id := identity{section: s.id, start: c.start, begin: c.base + mem.Addr(c.function.Begin), desc: c.desc}
	if !c.stays() {
		if id.rows, err = r.print(c, pc); err != nil {
			return s, nil, err
		}
		c.late = v.TakeLate() && c.kind != StubCode
	}
	c.generation = numbered(&r.codes, &r.codes.pieces, id, codeSize)
	if c.stays() && c.unnamed == nil {
		r.codes.at.Keep(spot{s.id, pc}, c, codeSize)
	}
	return s, c, nil
}

const codeSize = 320 // bytes

// print is a hash of the bytes that the row of c at pc rests on, and of those of its method that tell it from others.
func (r *Runtime) print(c *code, pc mem.Addr) (uint64, error) {
	if c.kind == StubCode {
		return 0, nil
	}
	var h maphash.Hash
	h.SetSeed(r.codes.seed)
	h.Write(r.info(c, c.function.Info, r.o.port.maxInfo))
	if r.walk.Held(pc, codeAtPC) { // it is the innermost
		b, _ := r.walk.Bytes(pc, codeAtPC)
		h.Write(b)
	}
	desc, ok := r.walk.Bytes(c.desc, descBytes)
	if !ok {
		return 0, r.walk.Fault()
	}
	h.Write(desc)
	return h.Sum64(), nil
}

const descBytes = 16 // of a MethodDesc: its token, its number in its chunk and its class

// sectionAt finds the section of pc. Code may be younger than the mappings that were seen: then sections are read
// again, once a walk; where that brought nothing, less and less often.
func (r *Runtime) sectionAt(pc mem.Addr) *section {
	if s := r.sections.Load().find(pc); s != nil || !r.again.due(r.walks) || !r.mayHold(pc) {
		return s
	}
	r.readSections()
	s := r.sections.Load().find(pc)
	if s != nil {
		r.again = retry{next: r.walks + 1}
	} else {
		r.again.failed(r.walks + 1)
	}
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
		row, err := r.o.port.stub(r, pc)
		return row, row != nil, err
	}
	start, _ := c.span()
	row, err := r.o.port.row(r, c, uint32(pc-start), interrupted)
	if err != nil {
		return nil, false, err
	}
	row.Start, row.End = uint64(pc), uint64(pc)+1
	return row, true, nil
}

// text reads n bytes of code at a, a place in c.
func (r *Runtime) text(c *code, a mem.Addr, n int) ([]byte, error) {
	b, ok := r.walk.Bytes(a, n)
	if !ok {
		b, ok = r.viewOf(c).Bytes(a, n)
	}
	if !ok {
		return nil, r.viewOf(c).Fault()
	}
	return bytes.Clone(b), nil
}

// viewOf is what has the code of c and what belongs to it: of precompiled code the image.
func (r *Runtime) viewOf(c *code) *view.View {
	if c.kind == R2RCode {
		return &r.lasting
	}
	return &r.walk
}

// info reads up to n bytes of the unwind information at an offset from the base of c, nil if they cannot be read.
func (r *Runtime) info(c *code, offset uint32, n int) []byte {
	v, at := r.viewOf(c), c.base+mem.Addr(offset)
	b, ok := v.Bytes(at, r.o.port.headSize)
	if !ok {
		return nil
	}
	if b, ok = v.Bytes(at, min(n, r.o.port.infoSize(b))); !ok {
		return nil
	}
	return bytes.Clone(b)
}
