package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/view"
)

// code is what the runtime knows of the code at one PC.
type code struct {
	section section
	kind    CodeKind
	start   mem.Addr // of the method, or of the stub
	// function is the part of it that holds the PC (the method itself or a funclet), from base; zero for a stub.
	function unwindcode.Function
	base     mem.Addr
	stub     uint64   // which kind of stub
	header   mem.Addr // of code that was compiled
	desc     mem.Addr
	debug    mem.Addr // debug information of the JIT; 0: none
	entry    int      // number of the runtime function that begins a precompiled method
	// shift is how many bytes of a precompiled method lie before function, where it is a cold part; else what lies
	// between them is that.
	shift mem.Addr
	cold  bool
	// class is that of desc. What is not a dynamic method, and not collectible, stays for ever.
	class      Class
	generation uint64
	// late says that some of this was read when the thread ran again, of what may have been freed by then.
	late bool
	// unnamed is why desc is not known, where only that is not.
	unnamed error
}

// span is the code that has the rows of function, or of the stub.
func (c *code) span() (start, end mem.Addr) {
	return c.base + mem.Addr(c.function.Begin), c.base + mem.Addr(c.function.End)
}

// stays reports whether the runtime frees this code never.
func (c *code) stays() bool {
	return !c.section.mayBeFreed() && c.class != DynamicMethod && c.kind != StubCode
}

var (
	errBounds   = errors.New("there are more than any program has")
	errNoMethod = errors.New("no method begins before it")
	errNoInfo   = errors.New("no unwind information covers it")
	errReplaced = errors.New("its code was freed meanwhile")
)

const (
	maxInfos = 1 << 10 // funclets of a method
	// maxBack bounds how far before a place a method may begin, units of a nibble map: 1 MB of code.
	maxBack = 1 << 12
)

// codeAt finds out what is at pc, a place in s as tables are looked up with it.
func (r *Runtime) codeAt(v *view.View, s *section, pc mem.Addr) (*code, error) {
	switch {
	case s.flags&codeHeap != 0:
		return r.codeInHeap(v, s, pc)
	case s.flags&(rangeList|interpreted) == 0 && s.module != 0:
		return r.precompiled(s, pc)
	}
	return &code{section: *s, kind: StubCode}, nil
}

// codeInHeap finds the method in a heap of compiled code. That may have grown since its end was read.
func (r *Runtime) codeInHeap(v *view.View, s *section, pc mem.Addr) (*code, error) {
	if pc < s.heap.start || pc < s.heap.base {
		return &code{section: *s, kind: StubCode}, nil
	}
	c, err := r.compiled(v, s, pc)
	if errors.Is(err, errNoMethod) && pc >= s.heap.end {
		return &code{section: *s, kind: StubCode}, nil
	}
	return c, err
}

// compiled finds the method by the nibble map of a heap.
func (r *Runtime) compiled(v *view.View, s *section, pc mem.Addr) (*code, error) {
	if s.mayBeFreed() {
		switch same, err := s.stands(v, r.layout); {
		case err != nil:
			return nil, err
		case !same:
			return nil, errReplaced
		}
	}
	h := &s.heap
	window := nibbleMap{v: v, at: h.nibbles}
	rel, ok := methodStart(uint64(pc-h.base), r.layout.constantMap, maxBack, window.unit)
	switch {
	case window.err != nil:
		return nil, window.err
	case !ok:
		return nil, errNoMethod
	}
	c := &code{section: *s, kind: JITCode, start: h.base + mem.Addr(rel), base: s.start}
	header, err := v.Word(c.start - wordSize)
	if err != nil {
		return nil, err
	}
	if header <= r.layout.stubLast {
		c.kind, c.stub = StubCode, header
		return c, nil
	}
	c.header = mem.Addr(header)
	return c, r.readHeader(v, c, pc)
}

// readHeader reads the RealCodeHeader of c, and which of its functions holds pc.
func (r *Runtime) readHeader(v *view.View, c *code, pc mem.Addr) error {
	l, f := r.layout, v.Fields(c.header)
	c.desc = f.Addr(l.headerMethod)
	if l.headerDebugInfo != unknown {
		c.debug = f.Addr(l.headerDebugInfo)
	}
	n := f.Uint(l.headerInfos, 4)
	if f.Err != nil {
		return f.Err
	}
	if n == 0 || n > maxInfos {
		return fmt.Errorf("its code header says that it has %d functions", n)
	}
	port, rel := r.o.port, uint64(pc-c.base)
	list, ok := v.Bytes(c.header+mem.Addr(l.headerInfo), int(n)*port.functionSize)
	if !ok {
		return v.Fault()
	}
	if c.function, ok = port.holding(list, rel); !ok {
		return errNoInfo
	}
	if err := port.end(v, c.base, &c.function); err != nil {
		return err
	}
	if rel >= uint64(c.function.End) {
		return errNoInfo
	}
	class, err := r.classOf(v, c.desc)
	c.class = class
	return err
}

// classOf is the class of a MethodDesc.
func (r *Runtime) classOf(v *view.View, desc mem.Addr) (Class, error) {
	flags, err := v.Uint(desc+mem.Addr(r.layout.methodFlags), 2)
	return Class(flags & 7), err
}

// nibbleMap reads a nibble map, a unit at a time or, where that is not copied, some.
type nibbleMap struct {
	v     *view.View
	at    mem.Addr
	first uint64
	have  []byte
	buf   [64]byte
	err   error
}

// unit is number i.
func (n *nibbleMap) unit(i uint64) (uint32, bool) {
	at := n.at + mem.Addr(i*unitSize)
	if i >= n.first && i-n.first < uint64(len(n.have))/unitSize {
		return order.Uint32(n.have[(i-n.first)*unitSize:]), true
	}
	// One goes back from unit to unit.
	n.first = i &^ (uint64(len(n.buf))/unitSize - 1)
	n.have = n.buf[:(i-n.first+1)*unitSize]
	if begin := n.at + mem.Addr(n.first*unitSize); !n.v.Held(at, unitSize) || n.v.Held(begin, len(n.have)) {
		if _, err := n.v.ReadMem(n.have, begin); err == nil {
			return order.Uint32(n.have[(i-n.first)*unitSize:]), true
		}
	}
	n.have = nil
	var u uint64
	u, n.err = n.v.Uint(at, unitSize)
	return uint32(u), n.err == nil
}
