package object

import "github.com/fpstack/fpstack/mem"

// maxVariableName bounds the characters of the name of a local variable that are read.
const maxVariableName = 256

// MaxVariables bounds the local variables of one frame that are read.
const MaxVariables = 64

// Variables gives yield the local variables of f that are set, by name and value, until it returns false: cells and
// variables of enclosing functions by what is in them. It reports whether all could be read.
func (l *Layout) Variables(m Memory, f *Frame, yield func(name string, value mem.Addr) bool) bool {
	at := f.Addr + mem.Addr(l.Frame.Locals)
	left := MaxVariables
	for i, offset := range l.Code.Variables {
		names, ok := Pointer(m, f.Code+mem.Addr(offset))
		if !ok {
			return false
		}
		all, more := true, true
		n := 0
		ok = l.Elements(m, names, false, func(name mem.Addr) bool {
			if left--; left < 0 {
				return false
			}
			value, isSet, ok := l.variable(m, at+mem.Addr(8*n), i > 0)
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
func (l *Layout) variable(m Memory, a mem.Addr, cell bool) (value mem.Addr, isSet, ok bool) {
	const tags = 7 // low bits say how it is counted
	value, ok = Pointer(m, a)
	value &^= tags
	if !ok || value == 0 {
		return 0, false, ok
	}
	if !cell && l.Code.Kinds != 0 { // one tuple has all
		t, ok := l.TypeOf(m, value)
		if !ok {
			return value, true, true
		}
		cell = t.Name == "cell"
	}
	if cell {
		value, ok = Pointer(m, value+l.header())
		value &^= tags
	}
	return value, value != 0, ok
}
