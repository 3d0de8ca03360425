// Package heap reads objects of Java in a HotSpot JVM: references, classes, texts.
//
// Objects are moved by the garbage collector: what was not copied while the threads stood still may be another object,
// which is the caller's matter. A collector that colours its references is heeded; what it has moved and not healed yet
// is not found.
//
// Source: src/hotspot/share/oops/oop.hpp, compressedOops.hpp, arrayOop.hpp; gc/z/zAddress.hpp.
package heap

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/view"
)

// Layout is how objects look, which the flags of a JVM say.
type Layout struct {
	oops, klasses scale
	compact       bool // the class is in the upper bits of the mark
	compactShift  int64
	coloured      bool // generational ZGC: the lower bits of a reference say how it is shifted
	shifted       uint // by how much it always is; 0 where that is what they say
	lengthAt      int64
	bytesAt       int64 // of an array of bytes or chars
}

// scale is how an address is made of 32 bits; narrow is false where it has 64.
type scale struct {
	narrow bool
	base   mem.Addr
	shift  uint
}

func (s scale) addr(n uint64) mem.Addr {
	if n == 0 || !s.narrow {
		return mem.Addr(n)
	}
	return s.base + mem.Addr(n<<s.shift)
}

// ErrNoObject says that no object is at an address.
var ErrNoObject = errors.New("no object is there")

const (
	wordSize   = 8
	relaxed    = 23 // the JDK from which on elements follow the length without a gap
	generation = 24 // from which on ZGC is generational always
)

// ReadLayout reads how objects look in a JVM of that version. shifted is by how many bits generational ZGC shifts each
// reference, 0 on machines where the reference says that.
func ReadLayout(v *view.View, t *vmstructs.Table, version int, shifted uint) (*Layout, error) {
	flags, err := t.Flags(v, "UseCompressedOops", "UseCompressedClassPointers", "UseCompactObjectHeaders", "UseZGC",
		"ZGenerational")
	if err != nil {
		return nil, err
	}
	l := &Layout{compact: flags["UseCompactObjectHeaders"] == 1, compactShift: -1, shifted: shifted}
	if l.oops, err = readScale(v, t, flags["UseCompressedOops"] == 1, place{"CompressedOops", "_base", "_shift"},
		place{"CompressedOops", "_narrow_oop._base", "_narrow_oop._shift"},
		place{"Universe", "_narrow_oop._base", "_narrow_oop._shift"}); err != nil {
		return nil, err
	}
	if l.klasses, err = readScale(v, t, flags["UseCompressedClassPointers"] != 0,
		place{"CompressedKlassPointers", "_base", "_shift"},
		place{"CompressedKlassPointers", "_narrow_klass._base", "_narrow_klass._shift"},
		place{"Universe", "_narrow_klass._base", "_narrow_klass._shift"}); err != nil {
		return nil, err
	}
	if n, ok := t.Constant("markWord::klass_shift"); ok {
		l.compactShift = n
	}
	l.coloured = flags["UseZGC"] == 1 && (flags["ZGenerational"] == 1 || version >= generation)
	switch {
	case l.compact:
		l.lengthAt, l.bytesAt = 8, 12
	case l.klasses.narrow:
		l.lengthAt, l.bytesAt = 12, 16
	case version >= relaxed:
		l.lengthAt, l.bytesAt = 16, 20
	default:
		l.lengthAt, l.bytesAt = 16, 24
	}
	return l, nil
}

// place is where base and shift of a scale are, in one of the versions.
type place struct{ owner, base, shift string }

func readScale(v *view.View, t *vmstructs.Table, narrow bool, places ...place) (scale, error) {
	s := scale{narrow: narrow}
	if !narrow {
		return s, nil
	}
	p := t.Pick()
	for _, at := range places {
		base, shift := p.Static(at.base, at.owner), p.Static(at.shift, at.owner)
		if base == 0 || shift == 0 {
			continue
		}
		b, err := v.Word(base)
		if err != nil {
			return s, err
		}
		n, err := v.Uint(shift, 4)
		if err == nil && n > 31 {
			err = errors.New("the JVM says that references are shifted by more than 31 bits")
		}
		s.base, s.shift = mem.Addr(b), uint(n)
		return s, err
	}
	return s, errors.New("the JVM does not say how references are compressed")
}

// plain is the address in a reference of 64 bits.
func (l *Layout) plain(n uint64) mem.Addr {
	if !l.coloured || n == 0 {
		return mem.Addr(n)
	}
	// One of four bits says which colour is good, and with it how far the address is shifted.
	const first, mask = 12, 0xf
	load := n >> first & mask
	if l.shifted != 0 { // all but that bit are set
		load ^= mask
	}
	if load == 0 || load&(load-1) != 0 {
		return 0
	}
	if l.shifted != 0 {
		return mem.Addr(n >> l.shifted)
	}
	return mem.Addr(n >> (first + 1 + bits.TrailingZeros64(load)))
}

// Root is the object that a slot outside of the heap leads to, 0 for none.
func (l *Layout) Root(v *view.View, slot mem.Addr) (mem.Addr, error) {
	n, err := v.Word(slot)
	return l.plain(n), err
}

// Root64 is the object that the word of a slot outside of the heap leads to, 0 for none.
func (l *Layout) Root64(n uint64) mem.Addr { return l.plain(n) }

// Reference is the object that the field at an address leads to, 0 for none.
func (l *Layout) Reference(v *view.View, field mem.Addr) (mem.Addr, error) {
	if l.oops.narrow {
		n, err := v.Uint(field, 4)
		return l.oops.addr(n), err
	}
	return l.Root(v, field)
}

// RefBytes is the size of a reference in an object, bytes.
func (l *Layout) RefBytes() int {
	if l.oops.narrow {
		return 4
	}
	return wordSize
}

// Ref is the object that the reference at the begin of b, of RefBytes, leads to, 0 for none.
func (l *Layout) Ref(b []byte) mem.Addr {
	if l.oops.narrow {
		return l.oops.addr(uint64(binary.LittleEndian.Uint32(b)))
	}
	return l.plain(binary.LittleEndian.Uint64(b))
}

// ArrayHead is how much of an array is before its elements if they are references, bytes, and where its length is.
func (l *Layout) ArrayHead() (head, length int) {
	n := l.RefBytes()
	return (int(l.lengthAt) + 4 + n - 1) / n * n, int(l.lengthAt)
}

// BytesHead is how much of an array of bytes is before them.
func (l *Layout) BytesHead() int { return int(l.bytesAt) }

// Class is the class of the object at an address.
func (l *Layout) Class(v *view.View, object mem.Addr) (mem.Addr, error) {
	if object == 0 || object%wordSize != 0 {
		return 0, ErrNoObject
	}
	if l.compact {
		mark, err := v.Word(object)
		if err != nil || l.compactShift < 0 {
			return 0, errors.Join(err, ErrNoObject)
		}
		return l.klasses.addr(mark >> uint(l.compactShift)), nil
	}
	size := wordSize
	if l.klasses.narrow {
		size = 4
	}
	n, err := v.Uint(object+wordSize, size)
	return l.klasses.addr(n), err
}

// ClassSpace is where classes are, false if they may be anywhere.
func (l *Layout) ClassSpace() (s mem.Span[mem.Addr], ok bool) {
	const lowest = 1 << 16
	if !l.klasses.narrow {
		return s, false
	}
	s.Start = max(l.klasses.base, lowest)
	s.End = l.klasses.base + 1<<32<<l.klasses.shift
	return s, s.Start < s.End
}

// maxText bounds a text that is read, bytes.
const maxText = 1 << 10

// Text is the text in the array at an address: of Latin-1 or UTF-16 as wide says. An ellipsis stands for what is behind
// the first maxText bytes.
func (l *Layout) Text(v *view.View, array mem.Addr, wide bool) (string, error) {
	const usual = 48 // of a name, with its length read at once
	near := v.Near(array, int(l.bytesAt)+usual)
	f := near.Fields(array)
	n := f.Uint(l.lengthAt, 4)
	if f.Err != nil || array == 0 {
		return "", errors.Join(f.Err, ErrNoObject)
	}
	if wide && n%2 != 0 {
		return "", ErrNoObject
	}
	if n > usual {
		near = v
	}
	b, ok := near.Bytes(array+mem.Addr(l.bytesAt), int(min(n, maxText)))
	if !ok {
		return "", near.Fault()
	}
	return ended(decode(b, wide), n > maxText), nil
}

// Begin is Text, as far as it is among the first most bytes.
func (l *Layout) Begin(v *view.View, array mem.Addr, wide bool, most int) (string, error) {
	f := v.Fields(array)
	n := f.Uint(l.lengthAt, 4)
	if f.Err != nil || array == 0 {
		return "", errors.Join(f.Err, ErrNoObject)
	}
	b := v.UpTo(array+mem.Addr(l.bytesAt), int(min(n, uint64(most))))
	if wide {
		b = b[:len(b)&^1]
	}
	return ended(decode(b, wide), n > uint64(len(b))), nil
}

// Chars is the text in an array of characters, as strings up to JDK 8 have.
func (l *Layout) Chars(v *view.View, array mem.Addr) (string, error) {
	f := v.Fields(array)
	n := f.Uint(l.lengthAt, 4)
	if f.Err != nil || array == 0 {
		return "", errors.Join(f.Err, ErrNoObject)
	}
	b, ok := v.Bytes(array+mem.Addr(l.bytesAt), int(min(2*n, maxText)))
	if !ok {
		return "", v.Fault()
	}
	return ended(decode(b, true), 2*n > maxText), nil
}

// ended is a text, with an ellipsis for the rest where it is cut.
func ended(text string, cut bool) string {
	if cut {
		text += "…"
	}
	return text
}

func decode(b []byte, wide bool) string {
	if !wide {
		out := make([]rune, len(b))
		for i, c := range b {
			out[i] = rune(c)
		}
		return string(out)
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}
