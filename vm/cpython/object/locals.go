package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// maxVariableName bounds the characters of the name of a local variable that are read.
const maxVariableName = 256

// MaxVariables bounds the local variables of one frame that are read.
const MaxVariables = 64

// Variables gives yield the local variables of f that are set, by name and value, until it returns false: cells and
// variables of enclosing functions by what is in them. It reports whether all could be read.
func (l *Layout) Variables(m *view.View, f *Frame, yield func(name string, value mem.Addr) bool) bool {
	at := f.Addr + mem.Addr(l.Frame.Locals)
	left := MaxVariables
	for i, offset := range l.Code.Variables {
		names, ok := Pointer(m, f.Code+mem.Addr(offset))
		if !ok {
			return false
		}
		all, more := true, true
		n := 0
		kinds := l.kinds(m, f, i)
		ok = l.Elements(m, names, false, func(name mem.Addr) bool {
			if left--; left < 0 {
				all = false
				return false
			}
			value, isSet, ok := l.variable(m, at+mem.Addr(8*n), kinds[n])
			n++
			if all = all && ok; !ok || !isSet {
				return true
			}
			text, _, ok := l.StringStart(m, name, maxVariableName)
			if all = all && ok; ok {
				more = yield(text, value)
			}
			return more
		})
		at += mem.Addr(8 * n)
		if !ok || !all || !more {
			return ok && all
		}
	}
	return true
}

// variable is the value at a, which may be in a cell.
func (l *Layout) variable(m *view.View, a mem.Addr, k variableKind) (value mem.Addr, isSet, ok bool) {
	const tags = 7 // low bits say how it is counted
	value, ok = Pointer(m, a)
	value &^= tags
	if !ok || value == 0 {
		return 0, false, ok
	}
	cell := k == inCell
	if k != plain && l.Code.Kinds != 0 { // an argument is put into its cell when the function has begun
		t, ok := l.TypeOf(m, value)
		cell = t.Name == "cell"
		if !ok || cell && k == unknownKind {
			return 0, false, false
		}
	}
	if cell {
		value, ok = Pointer(m, value+l.header())
		value &^= tags
	}
	return value, value != 0, ok
}

// variableKind says where a variable is.
type variableKind uint8

const (
	unknownKind variableKind = iota
	plain
	inCell
)

// kinds are those of the variables of tuple number i of f, as many as are read.
// Source: CO_FAST_CELL and CO_FAST_FREE in Include/internal/pycore_code.h.
func (l *Layout) kinds(m *view.View, f *Frame, i int) (all [MaxVariables]variableKind) {
	if l.Code.Kinds == 0 { // one tuple for each kind
		for k := range all {
			all[k] = plain
			if i > 0 {
				all[k] = inCell
			}
		}
		return all
	}
	const cellOrFree = 0x40 | 0x80
	at, ok := Pointer(m, f.Code+mem.Addr(l.Code.Kinds))
	if !ok {
		return all
	}
	b, ok := m.Bytes(at+mem.Addr(l.BytesHead()), MaxVariables)
	if !ok { // at the end of what is mapped
		b, _ = l.BytesAt(m, at)
	}
	for k := range b[:min(len(b), len(all))] {
		all[k] = plain
		if b[k]&cellOrFree != 0 {
			all[k] = inCell
		}
	}
	return all
}
