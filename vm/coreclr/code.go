package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// code is what the runtime knows of the code at one PC.
type code struct {
	section *section
	kind    CodeKind
	start   mem.Addr // of the method, or of the stub
	// function is the part of it that holds the PC (the method itself or a funclet), from base; zero for a stub.
	function unwindcode.Function
	base     mem.Addr
	stub     uint64 // which kind of stub
	desc     mem.Addr
	debug    mem.Addr // debug information of the JIT; 0: none
	entry    int      // number of the runtime function that begins a precompiled method
	// class is that of desc. What is not a dynamic method, and not collectible, stays for ever.
	class      Class
	generation uint64
}

// span is the code that has the rows of function, or of the stub.
func (c *code) span() (start, end mem.Addr) {
	return c.base + mem.Addr(c.function.Begin), c.base + mem.Addr(c.function.End)
}

// stays reports whether the runtime frees this code never.
func (c *code) stays() bool {
	return c.section.flags&collectible == 0 && c.class != DynamicMethod && c.kind != StubCode
}

var (
	errBounds   = errors.New("there are more than any program has")
	errNoMethod = errors.New("no method begins before it")
	errNoInfo   = errors.New("no unwind information covers it")
)

const (
	maxInfos = 1 << 10 // funclets of a method
	// maxBack bounds how far before a place a method may begin, units of a nibble map: 1 MB of code.
	maxBack = 1 << 12
)

// codeAt finds out what is at pc, a place in s as tables are looked up with it. m has what was copied, and the rest as
// it is now.
func (r *Runtime) codeAt(m mem.Reader, s *section, pc mem.Addr) (*code, error) {
	switch {
	case s.flags&codeHeap != 0:
		return r.codeInHeap(m, s, pc)
	case s.flags&(rangeList|interpreted) == 0 && s.module != 0:
		return r.precompiled(m, s, pc)
	}
	return &code{section: s, kind: StubCode}, nil
}

// codeInHeap finds the method in a heap of compiled code. That may have grown since its end was read.
func (r *Runtime) codeInHeap(m mem.Reader, s *section, pc mem.Addr) (*code, error) {
	if pc < s.heap.start || pc < s.heap.base {
		return &code{section: s, kind: StubCode}, nil
	}
	c, err := r.compiled(m, s, pc)
	if err != nil && pc >= s.heap.end {
		return &code{section: s, kind: StubCode}, nil
	}
	return c, err
}

// compiled finds the method by the nibble map of a heap.
func (r *Runtime) compiled(m mem.Reader, s *section, pc mem.Addr) (*code, error) {
	h := &s.heap
	window := nibbles{m: m, at: h.nibbles}
	rel, ok := methodStart(uint64(pc-h.base), r.layout.constantMap, maxBack, window.unit)
	switch {
	case window.err != nil:
		return nil, window.err
	case !ok:
		return nil, errNoMethod
	}
	c := &code{section: s, kind: JITCode, start: h.base + mem.Addr(rel), base: s.start}
	f := fields{m: m, at: c.start}
	header := f.word(-wordSize)
	if f.err != nil {
		return nil, f.err
	}
	if header <= r.layout.stubLast {
		c.kind, c.stub = StubCode, header
		return c, nil
	}
	return c, r.readHeader(m, c, mem.Addr(header), pc)
}

// readHeader reads the RealCodeHeader of c, and which of its functions holds pc.
func (r *Runtime) readHeader(m mem.Reader, c *code, header, pc mem.Addr) error {
	l, f := r.layout, fields{m: m, at: header}
	c.desc, c.debug = mem.Addr(f.word(l.headerMethod)), mem.Addr(f.word(l.headerDebugInfo))
	n := f.uint(l.headerInfos, 4)
	if f.err != nil {
		return f.err
	}
	if n == 0 || n > maxInfos {
		return fmt.Errorf("its code header says that it has %d functions", n)
	}
	list := make([]byte, n*unwindcode.FunctionSize)
	if _, err := m.ReadMem(list, header+mem.Addr(l.headerInfo)); err != nil {
		return err
	}
	rel, found := uint64(pc-c.base), false
	for ; len(list) > 0; list = list[unwindcode.FunctionSize:] {
		if x := unwindcode.ParseFunction(list); uint64(x.Begin) <= rel && rel < uint64(x.End) {
			c.function, found = x, true
		}
	}
	if !found {
		return errNoInfo
	}
	d := fields{m: m, at: c.desc}
	c.class = Class(d.uint(l.methodFlags, 2) & 7)
	return d.err
}

// nibbles reads a nibble map, some units at a time.
type nibbles struct {
	m     mem.Reader
	at    mem.Addr
	first uint64
	have  []byte
	buf   [64]byte
	err   error
}

// unit is number i.
func (n *nibbles) unit(i uint64) (uint32, bool) {
	if i < n.first || i-n.first >= uint64(len(n.have))/unitSize {
		n.read(i)
	}
	if n.err != nil {
		return 0, false
	}
	return order.Uint32(n.have[(i-n.first)*unitSize:]), true
}

// read reads the units up to number i, or that one alone where the others were not copied.
func (n *nibbles) read(i uint64) {
	n.first = i &^ (uint64(len(n.buf))/unitSize - 1)
	n.have = n.buf[:(i-n.first+1)*unitSize]
	if _, n.err = n.m.ReadMem(n.have, n.at+mem.Addr(n.first*unitSize)); n.err != nil {
		n.first, n.have = i, n.buf[:unitSize]
		_, n.err = n.m.ReadMem(n.have, n.at+mem.Addr(i*unitSize))
	}
}
