package object

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of what is shown of one object.
const (
	maxReprDepth = 2  // containers in containers
	maxReprItems = 4  // of a container
	maxReprText  = 64 // characters of a str, bytes of a bytes
	maxRepr      = 160
	maxDigits    = 20 // of 30 bits, of an int that is shown
)

// Repr says what the object at a is, as Python's repr does for builtin types, in short: of containers the first few
// elements, of other objects type and address. It calls nothing of the process. It is false if the object could not be
// read.
func (l *Layout) Repr(m *view.View, a mem.Addr) (string, bool) {
	r := reprWriter{l: l, m: m}
	r.object(a, 0)
	return r.String(), !r.missing
}

type reprWriter struct {
	strings.Builder
	l       *Layout
	m       *view.View
	missing bool
}

// unread stands for what could not be read.
const unread = "<not read>"

func (r *reprWriter) fail() {
	r.missing = true
	r.WriteString(unread)
}

// object writes the object at a, which is so many containers deep.
func (r *reprWriter) object(a mem.Addr, depth int) {
	t, ok := r.l.TypeOf(r.m, a)
	if !ok {
		r.fail()
		return
	}
	derived := t.Flags&FlagHeap != 0
	if derived && t.Flags&(FlagInt|FlagStr|FlagBytes|FlagTuple|FlagList|FlagDict) != 0 {
		r.WriteString(t.Name + "(")
		defer r.WriteByte(')')
	}
	switch {
	case t.Name == "NoneType":
		r.WriteString("None")
	case t.Name == "bool" && !derived:
		r.boolean(a)
	case t.Flags&FlagInt != 0:
		r.integer(a)
	case t.Name == "float" && !derived:
		r.float(a)
	case t.Flags&FlagStr != 0:
		r.text(a)
	case t.Flags&FlagBytes != 0:
		r.bytes(a)
	case t.Flags&FlagTuple != 0 && derived:
		r.sequence(a, false, "", "", depth)
	case t.Flags&FlagTuple != 0:
		r.sequence(a, false, "(", ")", depth)
	case t.Flags&FlagList != 0:
		r.sequence(a, true, "[", "]", depth)
	case t.Flags&FlagDict != 0:
		r.dict(a, depth)
	case (t.Name == "set" || t.Name == "frozenset") && !derived:
		r.set(a, t.Name, depth)
	case t.Flags&FlagType != 0:
		if named, ok := r.l.TypeAt(r.m, a); ok {
			fmt.Fprintf(r, "<class %s>", named.Name)
			return
		}
		r.fail()
	default:
		fmt.Fprintf(r, "<%s at %#x>", t.Name, uint64(a))
	}
}

func (r *reprWriter) boolean(a mem.Addr) {
	switch n, ok := r.l.IntAt(r.m, a); {
	case !ok:
		r.fail()
	case n == 0:
		r.WriteString("False")
	default:
		r.WriteString("True")
	}
}

// integer writes an int of any size: digits of 30 bits, the least first. Source: Include/cpython/longintrepr.h.
func (r *reprWriter) integer(a mem.Addr) {
	b, ok := r.m.Bytes(a+r.l.header(), 8)
	if !ok {
		r.fail()
		return
	}
	count, negative := int64(order.Uint64(b)), false
	if r.l.Version.Minor >= 12 {
		negative = count&3 == 2
		count = int64(uint64(count) >> 3)
	} else if count < 0 {
		negative, count = true, -count
	}
	if count > maxDigits || count < 0 {
		fmt.Fprintf(r, "<int of %d bits or less>", uint64(count)*30)
		return
	}
	value := new(big.Int)
	if count > 0 {
		digits, ok := r.m.Bytes(a+r.l.header()+8, int(4*count))
		if !ok {
			r.fail()
			return
		}
		for i := int(count) - 1; i >= 0; i-- {
			value.Lsh(value, 30).Or(value, big.NewInt(int64(order.Uint32(digits[4*i:]))))
		}
	}
	if negative {
		value.Neg(value)
	}
	r.WriteString(value.String())
}

func (r *reprWriter) float(a mem.Addr) {
	b, ok := r.m.Bytes(a+r.l.header(), 8)
	if !ok {
		r.fail()
		return
	}
	v := math.Float64frombits(order.Uint64(b))
	switch {
	case math.IsInf(v, 1):
		r.WriteString("inf")
	case math.IsInf(v, -1):
		r.WriteString("-inf")
	case math.IsNaN(v):
		r.WriteString("nan")
	default:
		form := byte('f')
		if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
			form = 'e'
		}
		s := strconv.FormatFloat(v, form, -1, 64)
		if form == 'f' && !strings.Contains(s, ".") {
			s += ".0"
		}
		r.WriteString(s)
	}
}

func (r *reprWriter) text(a mem.Addr) {
	s, length, ok := r.l.StringStart(r.m, a, maxReprText)
	if !ok {
		r.fail()
		return
	}
	quote(&r.Builder, s, false)
	if length > maxReprText {
		fmt.Fprintf(r, "…(%d characters)", length)
	}
}

func (r *reprWriter) bytes(a mem.Addr) {
	b, ok := r.m.Bytes(a+r.l.header(), 8)
	if !ok {
		r.fail()
		return
	}
	size := order.Uint64(b)
	n := int(min(size, maxReprText))
	if n > 0 {
		if b, ok = r.m.Bytes(a+r.l.header()+16, n); !ok {
			r.fail()
			return
		}
	}
	r.WriteByte('b')
	quote(&r.Builder, string(b[:n]), true)
	if size > maxReprText {
		fmt.Fprintf(r, "…(%d bytes)", size)
	}
}

// quote writes s in quotes, as Python does. Of bytes each byte stands for itself.
func quote(w *strings.Builder, s string, raw bool) {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	w.WriteByte(mark)
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == rune(mark) || c == '\\':
			w.WriteByte('\\')
			w.WriteRune(c)
		case c == '\n':
			w.WriteString(`\n`)
		case c == '\r':
			w.WriteString(`\r`)
		case c == '\t':
			w.WriteString(`\t`)
		case c < 0x20, c == 0x7f, raw && s[i] >= 0x80, c == utf8.RuneError && size == 1:
			fmt.Fprintf(w, `\x%02x`, s[i])
			size = 1
		case !unicode.IsPrint(c):
			fmt.Fprintf(w, `\u%04x`, c)
		default:
			w.WriteRune(c)
		}
		i += size
	}
	w.WriteByte(mark)
}

// items writes elements between begin and end: the first few of them.
func (r *reprWriter) items(begin, end string, depth int, each func(yield func() bool) bool) {
	r.WriteString(begin)
	n := 0
	more := false
	ok := each(func() bool {
		if more = n == maxReprItems || r.Len() > maxRepr; more {
			return false
		}
		if n++; n > 1 {
			r.WriteString(", ")
		}
		return true
	})
	switch {
	case !ok:
		r.fail()
	case more:
		r.WriteString(", …")
	case n == 1 && begin == "(":
		r.WriteByte(',')
	}
	r.WriteString(end)
}

// deep writes that a container is not looked into.
func (r *reprWriter) deep(begin, end string, depth int) bool {
	if depth < maxReprDepth {
		return false
	}
	r.WriteString(begin + "…" + end)
	return true
}

func (r *reprWriter) sequence(a mem.Addr, list bool, begin, end string, depth int) {
	if r.deep(begin, end, depth) {
		return
	}
	r.items(begin, end, depth, func(yield func() bool) bool {
		return r.l.Elements(r.m, a, list, func(item mem.Addr) bool {
			if !yield() {
				return false
			}
			r.object(item, depth+1)
			return true
		})
	})
}

func (r *reprWriter) set(a mem.Addr, name string, depth int) {
	begin, end := "{", "}"
	if name == "frozenset" {
		begin, end = "frozenset({", "})"
	}
	if b, ok := r.m.Bytes(a+r.l.header()+8, 8); ok && order.Uint64(b) == 0 {
		r.WriteString(name + "()")
		return
	}
	if r.deep(begin, end, depth) {
		return
	}
	r.items(begin, end, depth, func(yield func() bool) bool {
		return r.l.Items(r.m, a, func(item mem.Addr) bool {
			if !yield() {
				return false
			}
			r.object(item, depth+1)
			return true
		})
	})
}

func (r *reprWriter) dict(a mem.Addr, depth int) {
	if r.deep("{", "}", depth) {
		return
	}
	r.items("{", "}", depth, func(yield func() bool) bool {
		return r.l.Entries(r.m, a, func(key, value mem.Addr) bool {
			if !yield() {
				return false
			}
			r.object(key, depth+1)
			r.WriteString(": ")
			r.object(value, depth+1)
			return true
		})
	})
}
