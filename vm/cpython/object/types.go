package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Type is a type object.
type Type struct {
	Addr, Base mem.Addr
	Name       string // tp_name: with the module for types of C alone
	Flags      uint64
	basicSize  uint64
}

// Flags of types that tell builtin ones and what is derived from them. Source: Include/object.h.
const (
	FlagHeap  = 1 << 9
	FlagInt   = 1 << 24
	FlagList  = 1 << 25
	FlagTuple = 1 << 26
	FlagBytes = 1 << 27
	FlagStr   = 1 << 28
	FlagDict  = 1 << 29
	FlagType  = 1 << 31
)

// Offsets from the end of the header of variable size, as below in dict.go.
const (
	typeName       = 0
	typeBase       = 232
	typeSubclasses = 336
)

// Size is how many bytes objects of the type have at least.
func (t *Type) Size() int { return int(min(t.basicSize, 1<<30)) }

// Subclasses gives yield the types that are derived from the type at a, until it returns false: of a type that is no
// static one of the interpreter itself. Source: tp_subclasses in Include/cpython/object.h, a dictionary of
// weak references.
func (l *Layout) Subclasses(m *view.View, a mem.Addr, yield func(sub mem.Addr) bool) {
	dict, ok := Pointer(m, a+l.header()+8+typeSubclasses)
	if !ok || dict == 0 {
		return
	}
	l.Entries(m, dict, func(_, reference mem.Addr) bool {
		sub, ok := Pointer(m, reference+l.header())
		return !ok || sub == 0 || yield(sub)
	})
}

// maxTypeName bounds the bytes of the name of a type.
const maxTypeName = 128

// TypeOf reads the type of the object at a.
func (l *Layout) TypeOf(m *view.View, a mem.Addr) (Type, bool) {
	at, ok := Pointer(m, a+l.header()-8)
	if !ok {
		return Type{}, false
	}
	return l.TypeAt(m, at)
}

// TypeAt reads the type at a.
func (l *Layout) TypeAt(m *view.View, a mem.Addr) (Type, bool) {
	b, ok := m.Bytes(a+l.header()+8, typeDictOffset+8)
	if !ok || a == 0 {
		return Type{}, false
	}
	t := Type{Addr: a, Base: mem.Addr(order.Uint64(b[typeBase:])), Flags: order.Uint64(b[typeFlags:]),
		basicSize: order.Uint64(b[typeBasicSize:])}
	name := mem.Addr(order.Uint64(b[typeName:]))
	t.Name, ok, _ = m.Text(name, maxTypeName) // not whole where it failed
	return t, ok && t.Name != ""
}
