package object

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// MaxString bounds the characters of a string that are read.
const MaxString = 4096

// StringHead is how much of a string is read to know how long it is.
func (l *Layout) StringHead() int { return l.String.Compact }

// StringSpan returns where the characters of the string at a are and how many bytes of them are read, by its head;
// false if there is no such string.
func (l *Layout) StringSpan(a mem.Addr, head []byte) (at mem.Addr, n int, ok bool) {
	at, n, _, ok = l.span(a, head)
	return at, n, ok
}

func (l *Layout) span(a mem.Addr, head []byte) (at mem.Addr, n, kind int, ok bool) {
	if len(head) < l.StringHead() {
		return 0, 0, 0, false
	}
	length := order.Uint64(head[l.String.Length:])
	state := order.Uint32(head[l.String.State:]) >> l.String.Shift
	kind = int(state & 7)
	compact, ascii := state&8 != 0, state&16 != 0
	if !compact || length > 1<<40 || kind != 1 && kind != 2 && kind != 4 || ascii && kind != 1 {
		return 0, 0, 0, false
	}
	at = a + mem.Addr(l.String.Compact)
	if ascii {
		at = a + mem.Addr(l.String.ASCII)
	}
	return at, int(min(length, MaxString)) * kind, kind, true
}

// StringAt reads the string at a.
func (l *Layout) StringAt(m *view.View, a mem.Addr) (string, bool) {
	if a == 0 {
		return "", false
	}
	head, ok := m.Bytes(a, l.StringHead())
	if !ok {
		return "", false
	}
	at, n, kind, ok := l.span(a, head)
	if !ok {
		return "", false
	}
	b, ok := m.Bytes(at, n)
	if !ok {
		return "", false
	}
	return decode(b, kind), true
}

// StringStart reads up to most characters of the string at a, and says how many it has.
func (l *Layout) StringStart(m *view.View, a mem.Addr, most int) (s string, length uint64, ok bool) {
	head, ok := m.Bytes(a, l.StringHead())
	if !ok {
		return "", 0, false
	}
	at, n, kind, ok := l.span(a, head)
	length = order.Uint64(head[l.String.Length:])
	if !ok { // of a class made of str: its characters are elsewhere
		kind = int(order.Uint32(head[l.String.State:])>>l.String.Shift) & 7
		if at, ok = Pointer(m, a+mem.Addr(l.String.Compact)); !ok || kind != 1 && kind != 2 && kind != 4 {
			return "", 0, false
		}
		n = int(min(length, MaxString)) * kind
	}
	if n == 0 {
		return "", length, true
	}
	b, ok := m.Bytes(at, min(n, most*kind))
	if !ok {
		return "", 0, false
	}
	return decode(b, kind), length, true
}

// decode makes text of Latin-1, UCS-2 or UCS-4.
func decode(b []byte, kind int) string {
	out := make([]byte, 0, len(b)+len(b)/4)
	for ; len(b) >= kind; b = b[kind:] {
		switch kind {
		case 1:
			out = utf8.AppendRune(out, rune(b[0]))
		case 2:
			out = appendCode(out, rune(order.Uint16(b)))
		default:
			out = appendCode(out, rune(order.Uint32(b)))
		}
	}
	return string(out)
}

// appendCode appends a code point. Half of a surrogate pair stands for a byte of a name that was no text
// (surrogateescape, PEP 383).
func appendCode(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) && r >= 0xdc80 && r <= 0xdcff {
		return append(out, byte(r-0xdc00))
	}
	return utf8.AppendRune(out, r)
}

// MaxBytes bounds a bytes object that is read.
const MaxBytes = 1 << 20

// BytesHead is how much of a bytes object is read to know how long it is.
func (l *Layout) BytesHead() int { return l.Header + 16 }

// BytesSpan is [Layout.StringSpan] of a bytes object.
func (l *Layout) BytesSpan(a mem.Addr, head []byte) (at mem.Addr, n int, ok bool) {
	if len(head) < l.BytesHead() {
		return 0, 0, false
	}
	size := order.Uint64(head[l.Header:])
	return a + mem.Addr(l.BytesHead()), int(size), size <= MaxBytes
}

// BytesAt reads the bytes object at a, at most MaxBytes. They are valid until the next read.
func (l *Layout) BytesAt(m *view.View, a mem.Addr) ([]byte, bool) {
	head, ok := m.Bytes(a, l.BytesHead())
	if !ok {
		return nil, false
	}
	at, n, ok := l.BytesSpan(a, head)
	if !ok {
		return nil, false
	}
	return m.Bytes(at, n)
}
