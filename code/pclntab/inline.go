package pclntab

import (
	"errors"
	"fmt"
)

// Numbers of the tables of inlined calls and the size of an entry, struct inlinedCall:
// funcID u8, 3 bytes unused, nameOff i32, parentPc i32, startLine i32.
// Source: internal/abi/symtab.go, runtime/symtabinl.go.
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
	inlinedCallSize    = 16

	maxInline = 64 // inlined calls in each other at one address
)

// inlines is where the trees of inlined calls are.
type inlines struct {
	base  uint64    // address of go:func.*, which funcdata offsets count from
	spans []section // what may hold it
	err   error     // why there are none
}

// Frame is one logical frame at an address.
type Frame struct {
	Func    string // full name as the linker wrote it
	File    string // "" if unknown
	Line    int    // 0 if unknown
	Inlined bool
}

// InlineErr says why inlined calls are not found in this table; nil if they are.
func (t *Table) InlineErr() error { return t.inline.err }

// Frames returns the logical frames at pc: inlined functions, innermost first, and at last
// the function itself. It has always at least one element, except for the zero Func.
func (f Func) Frames(pc uint64) []Frame {
	if f.t == nil {
		return nil
	}
	var out []Frame
	left := f.t.question()
	tree, ok := f.inlineTree()
	for ok && len(out) < maxInline {
		i, found := f.pcdata(pcdataInlTreeIndex, pc, left)
		if !found || i < 0 {
			break
		}
		name, parent, found := f.inlinedCall(tree, uint64(i))
		if !found {
			break
		}
		out = append(out, f.frame(name, pc, true, left))
		pc = parent
	}
	return append(out, f.frame(f.Name(), pc, false, left))
}

func (f *Func) frame(name string, pc uint64, inlined bool, left *budget) Frame {
	file, line, _ := f.line(pc, left)
	return Frame{Func: name, File: file, Line: line, Inlined: inlined}
}

// pcdata looks pc up in table number n of the function.
func (f *Func) pcdata(n uint32, pc uint64, left *budget) (int32, bool) {
	at := f.fixed() + 4*int(n)
	if n >= f.u32(24) || at+4 > len(f.rec) {
		return 0, false
	}
	return f.value(f.t.order.Uint32(f.rec[at:]), pc, left)
}

// inlineTree returns the address of the function's tree of inlined calls.
func (f *Func) inlineTree() (uint64, bool) {
	if f.t.inline.err != nil || f.rec[f.fixed()-1] <= funcdataInlTree {
		return 0, false
	}
	at := uint64(f.fixed()) + 4*uint64(f.u32(24)) + 4*funcdataInlTree
	if at+4 > uint64(len(f.rec)) {
		return 0, false
	}
	off := f.t.order.Uint32(f.rec[at:])
	return f.t.inline.base + uint64(off), off != ^uint32(0)
}

// inlinedCall reads entry i of a tree: the inlined function and an address whose position is
// the call's.
func (f *Func) inlinedCall(tree, i uint64) (name string, parent uint64, ok bool) {
	b, ok := f.t.inline.read(tree+i*inlinedCallSize, inlinedCallSize)
	if !ok {
		return "", 0, false
	}
	name = cstring(f.t.names, uint64(f.t.order.Uint32(b[4:])))
	parent = f.Entry + uint64(f.t.order.Uint32(b[8:]))
	return name, parent, name != "" && parent < f.End
}

// read returns n bytes at addr.
func (in *inlines) read(addr, n uint64) ([]byte, bool) {
	for _, s := range in.spans {
		if b, ok := s.bytes(addr, n); ok {
			return b, true
		}
	}
	return nil, false
}

// checkInlines reads the trees of some functions with the base that moduledata gave, because
// a release may put another field there without a new magic number.
func (t *Table) checkInlines() error {
	const want, most = 16, 4096
	checked := 0
	for i := 0; i < t.nfunc && i < most && checked < want; i++ {
		f, ok := t.Func(t.entry(i))
		if !ok {
			continue
		}
		tree, ok := f.inlineTree()
		if !ok {
			continue
		}
		if _, _, ok := f.inlinedCall(tree, 0); !ok {
			return fmt.Errorf("inlined calls: tree of %q at %#x holds no call", f.Name(), tree)
		}
		checked++
	}
	return nil
}

var errOldInline = errors.New("inlined calls: not read before Go 1.20")
