package heap

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fpstack/fpstack/mem"
)

const (
	// MaxName bounds names of functions and scripts, UTF-16 units. A path has 4,096 bytes; what is longer is a data:
	// URL.
	MaxName = 8 << 10
	// MaxSource bounds the text of a script, bytes as V8 holds them.
	MaxSource = 16 << 20

	maxDepth  = 64      // of strings that are made of strings
	maxPieces = 1 << 12 // of which one is made
	atOnce    = 64 << 10
)

// String reads the string that t refers to, as UTF-8; half a surrogate pair becomes U+FFFD. It has at most most UTF-16
// units, else that is an error. It is for names: [Heap.Units] is for text.
func (h Heap) String(t Tagged, most int) (string, error) {
	var out []byte
	var rest []uint16 // half a surrogate pair at the end of a piece
	err := h.Units(t, most, func(piece []byte, wide bool) {
		if !wide {
			out, rest = appendUTF16(out, rest), rest[:0]
			for _, c := range piece {
				out = utf8.AppendRune(out, rune(c)) // Latin-1
			}
			return
		}
		units := rest
		for ; len(piece) >= 2; piece = piece[2:] {
			units = append(units, binary.LittleEndian.Uint16(piece))
		}
		rest = rest[:0]
		if n := len(units); n > 0 && utf16.IsSurrogate(rune(units[n-1])) && units[n-1] < 0xdc00 {
			units, rest = units[:n-1], append([]uint16(nil), units[n-1])
		}
		out = appendUTF16(out, units)
	})
	if err != nil {
		return "", err
	}
	return string(appendUTF16(out, rest)), nil
}

func appendUTF16(out []byte, units []uint16) []byte {
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out
}

// Units calls f with each piece of the string that t refers to, of at most most UTF-16 units: one byte a unit, or, if
// wide, two. f does not keep the piece.
//
// Kinds of strings are those of src/objects/string.h: sequential and external ones hold text, cons strings are two
// others, sliced ones a part of another, and a thin one stands for another.
func (h Heap) Units(t Tagged, most int, f func(piece []byte, wide bool)) error {
	a, ok := t.Object()
	if !ok {
		return fmt.Errorf("%w: %#x is no string", ErrMoved, uint64(t))
	}
	n, err := h.uint(a, h.Strings.Length, 4)
	if err != nil {
		return err
	}
	if n > uint64(most) {
		return fmt.Errorf("%w: a string at %#x has %d characters, more than %d", ErrMoved, uint64(a), n, most)
	}
	r := stringReader{Heap: h, f: f, pieces: maxPieces}
	return r.part(t, 0, int(n), 0)
}

type stringReader struct {
	Heap
	f      func([]byte, bool)
	pieces int // that may yet be read
	buffer []byte
}

// part reads units [from, from+n) of t, which must have them.
func (r *stringReader) part(t Tagged, from, n, depth int) error {
	if r.pieces--; r.pieces < 0 || depth > maxDepth {
		return fmt.Errorf("%w: a string is made of more than %d others or %d levels", ErrMoved, maxPieces, maxDepth)
	}
	a, ok := t.Object()
	if !ok {
		return fmt.Errorf("%w: %#x is no string", ErrMoved, uint64(t))
	}
	typ, err := r.Type(a)
	if err != nil {
		return err
	}
	length, err := r.uint(a, r.Strings.Length, 4)
	if err != nil {
		return err
	}
	if typ >= r.Types.FirstNonstring || uint64(from)+uint64(n) > length {
		return fmt.Errorf("%w: the object at %#x, type %d, is no string of %d characters", ErrMoved, uint64(a), typ,
			from+n)
	}
	if n == 0 {
		return nil
	}
	return r.ofKind(a, int32(typ), from, n, depth)
}

func (r *stringReader) ofKind(a mem.Addr, typ int32, from, n, depth int) error {
	s := &r.Strings
	wide := typ&s.OneByte == 0
	switch typ & s.RepresentationMask {
	case s.Seq:
		return r.text(a+mem.Addr(s.Chars), from, n, wide)
	case s.External:
		data, err := r.uint(a, s.ExternalData, 8)
		if err != nil {
			return err
		}
		return r.text(mem.Addr(data), from, n, wide)
	case s.Thin:
		return r.refers(a, s.ThinActual, from, n, depth)
	case s.Sliced:
		offset, err := r.smi(a, s.SlicedOffset, 1<<30)
		if err != nil {
			return err
		}
		return r.refers(a, s.SlicedParent, from+offset, n, depth)
	case s.Cons:
		return r.cons(a, from, n, depth)
	}
	return fmt.Errorf("%w: a string at %#x has type %d", ErrMoved, uint64(a), typ)
}

// refers reads a part of the string that the word at offset of a refers to.
func (r *stringReader) refers(a mem.Addr, offset int32, from, n, depth int) error {
	t, err := r.Word(a, offset)
	if err != nil {
		return err
	}
	return r.part(t, from, n, depth+1)
}

// cons reads a part of a concatenation: what lies in its first string, and the rest in the second.
func (r *stringReader) cons(a mem.Addr, from, n, depth int) error {
	first, err := r.Word(a, r.Strings.ConsFirst)
	if err != nil {
		return err
	}
	at, ok := first.Object()
	if !ok {
		return fmt.Errorf("%w: %#x is no string", ErrMoved, uint64(first))
	}
	length, err := r.uint(at, r.Strings.Length, 4)
	if err != nil {
		return err
	}
	head := min(max(int(length)-from, 0), n)
	if head > 0 {
		if err := r.part(first, from, head, depth+1); err != nil {
			return err
		}
	}
	if head == n {
		return nil
	}
	return r.refers(a, r.Strings.ConsSecond, from+head-int(length), n-head, depth)
}

// text gives units [from, from+n) of the characters at a to f.
func (r *stringReader) text(a mem.Addr, from, n int, wide bool) error {
	size := 1
	if wide {
		size = 2
	}
	a += mem.Addr(from * size)
	for left := n * size; left > 0; {
		piece := min(left, atOnce)
		if len(r.buffer) < piece {
			r.buffer = make([]byte, piece)
		}
		if err := r.read(r.buffer[:piece], a, 0); err != nil {
			return err
		}
		r.f(r.buffer[:piece], wide)
		a += mem.Addr(piece)
		left -= piece
	}
	return nil
}
