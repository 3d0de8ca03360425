package codecache

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Kind says how frames of a blob look.
type Kind uint8

// The kinds of blobs.
const (
	Stub        Kind = iota // of the runtime, with a frame of known size
	Compiled                // a compiled method
	Wrapper                 // calls a native method
	Interpreter             // all of it
	Frameless               // vtable stubs, adapters, calls that are being changed: they push nothing
	Routines                // many pieces of assembly in one
	Upcall                  // native code calls Java by it
)

// ID tells a blob from others that lie in the same place at other times.
type ID struct {
	Start     mem.Addr
	Name      mem.Addr // of its name
	Method    mem.Addr
	Size      int64
	CompileID int64
	EntryBCI  int64
}

// Blob is a piece of code.
type Blob struct {
	ID
	Kind       Kind
	Name       string
	Begin, End mem.Addr // of its code
	// Complete is where its frame has been built; FrameSize that of the frame with the return address, bytes, 0 for
	// none, less if it is not said.
	Complete  mem.Addr
	FrameSize int64
	Code      Code
}

// Code is what more is known of a compiled method.
type Code struct {
	Entry, OSREntry mem.Addr // where callers begin; 0 if there is none
	Deopt           [2]mem.Addr
	OrigPC          int64 // where a frame keeps the PC that was replaced, from its SP
	Level           int   // of the compiler: 1 to 3 for C1, 4 for C2
	PCs             mem.Span[mem.Addr]
	Scopes          mem.Span[mem.Addr]
	Metadata        mem.Addr
}

// maxBlob bounds a blob, bytes, and maxTable what describes its code.
const (
	maxBlob  = 64 << 20
	maxTable = 16 << 20
)

// identifyCompiled adds to id what tells a compiled method from others.
func (l *Layout) identifyCompiled(id ID, f *view.Fields) ID {
	id.Method, id.CompileID, id.EntryBCI = l.method.Addr(f), l.compileID.Of(f), l.entryBCI.Of(f)
	return id
}

// Namer gives names of blobs, which are constants of the JVM.
type Namer func(at mem.Addr) (string, error)

// Parse reads the blob at start by its head, of HeadSize bytes.
func (l *Layout) Parse(start mem.Addr, head []byte, names Namer) (*Blob, error) {
	own := view.Copied(nil, mem.Range{Start: start, Data: head})
	f := own.Fields(start)
	b := &Blob{ID: ID{Start: start, Name: l.name.Addr(&f), Size: l.size.Of(&f)},
		FrameSize: l.frameSize.Of(&f) * wordSize}
	if l.codeBegin.OK() {
		b.Begin, b.End = l.codeBegin.Addr(&f), l.codeEnd.Addr(&f)
	} else {
		b.Begin, b.End = start+l.codeOffset.Addr(&f), start+l.dataOffset.Addr(&f)
	}
	b.Complete = b.Begin + mem.Addr(l.frameComplete.Of(&f))
	if f.Err != nil || b.Size <= 0 || b.Size > maxBlob || b.Begin < start || b.End < b.Begin ||
		b.End > start+mem.Addr(b.Size) || b.FrameSize > maxTable {
		return nil, ErrNoBlob
	}
	name, err := names(b.ID.Name)
	if err != nil {
		return nil, err
	}
	b.Name, b.Kind = name, kindOf(name, b.FrameSize)
	if b.Kind == Compiled || b.Kind == Wrapper {
		b.ID = l.identifyCompiled(b.ID, &f)
		b.Code, err = l.compiled(b, &f)
	}
	if err = errors.Join(f.Err, err); err != nil {
		return nil, err
	}
	return b, nil
}

// Same reports whether the blob b is still at its place, as v shows it.
func (l *Layout) Same(v *view.View, b *Blob) (bool, error) {
	data, ok := v.Bytes(b.Start, l.HeadSize)
	if !ok {
		return false, v.Fault()
	}
	own := view.Copied(nil, mem.Range{Start: b.Start, Data: data})
	f := own.Fields(b.Start)
	id := ID{Start: b.Start, Name: l.name.Addr(&f), Size: l.size.Of(&f)}
	if b.Kind == Compiled || b.Kind == Wrapper {
		id = l.identifyCompiled(id, &f)
	}
	return f.Err == nil && id == b.ID, f.Err
}

// kindOf tells the kind by the name, which is the same in all versions.
func kindOf(name string, frameSize int64) Kind {
	switch {
	case name == "nmethod":
		return Compiled
	case name == "native nmethod":
		return Wrapper
	case name == "Interpreter":
		return Interpreter
	case name == "vtable chunks", name == "InlineCacheBuffer", strings.HasPrefix(name, "I2C/C2I adapters"),
		strings.HasPrefix(name, "MethodHandles adapters"), strings.HasPrefix(name, "native signature handlers"):
		return Frameless
	case strings.HasPrefix(name, "upcall_stub"):
		return Upcall
	case frameSize <= 0, strings.HasPrefix(name, "StubRoutines"):
		return Routines
	}
	return Stub
}

// compiled reads where what describes the code of b is.
func (l *Layout) compiled(b *Blob, f *view.Fields) (Code, error) {
	start := b.Start
	c := Code{OrigPC: l.origPC.Of(f), Level: int(l.level.Of(f)), OSREntry: l.osrEntry.Addr(f)}
	if l.verified.OK() {
		c.Entry = l.verified.Addr(f)
	} else {
		c.Entry = b.Begin + l.verifiedOffset.Addr(f)
	}
	if l.deopt.OK() {
		c.Deopt = [2]mem.Addr{l.deopt.Addr(f), l.deoptMH.Addr(f)}
	} else {
		c.Deopt[0] = start + l.deoptOffset.Addr(f)
		if l.deoptMHOffset.OK() {
			c.Deopt[1] = start + l.deoptMHOffset.Addr(f)
		}
	}
	for i, at := range c.Deopt { // -1 and the like where there is none
		if at < b.Begin || at >= b.End {
			c.Deopt[i] = 0
		}
	}
	data := start
	switch {
	case l.immutable.OK():
		data = l.immutable.Addr(f)
		c.Scopes = mem.Span[mem.Addr]{Start: data + l.scopesOffset.Addr(f), End: data + l.immutableEnd.Addr(f)}
		c.PCs = mem.Span[mem.Addr]{Start: data + l.pcs.Addr(f), End: c.Scopes.Start}
	default:
		c.PCs = mem.Span[mem.Addr]{Start: data + l.pcs.Addr(f), End: data + l.pcsEnd.Addr(f)}
		c.Scopes = mem.Span[mem.Addr]{Start: data + l.scopesOffset.Addr(f), End: c.PCs.Start}
		if l.scopesBegin.OK() {
			c.Scopes.Start = l.scopesBegin.Addr(f)
		}
	}
	switch {
	case l.mutable.OK():
		c.Metadata = l.mutable.Addr(f) + l.relocationSize.Addr(f)
	case l.metadataOffset.Size == 2: // JDK 23 and 24
		c.Metadata = b.End + l.metadataOffset.Addr(f)
	default:
		c.Metadata = start + l.metadataOffset.Addr(f)
	}
	if bad(c.PCs) || bad(c.Scopes) {
		return c, fmt.Errorf("what describes the code at %#x is at %#x-%#x", uint64(b.Begin), uint64(c.PCs.Start),
			uint64(c.PCs.End))
	}
	return c, f.Err
}

func bad(s mem.Span[mem.Addr]) bool { return s.End < s.Start || s.End-s.Start > maxTable }
