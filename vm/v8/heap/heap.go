package heap

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// ErrMoved says that an object is not what it has to be: the heap has changed since the word that leads to it was
// copied, or it is hostile.
var ErrMoved = errors.New("the heap has changed since, or is damaged")

// ErrUnknown says that the heap does not hold what was asked for.
var ErrUnknown = errors.New("V8 does not keep it")

// Tagged is a word of the heap: a small integer, or a pointer to an object, strong or weak.
// Source: include/v8-internal.h.
type Tagged uint64

// Int is the value of a small integer, a SMI; false if t is a pointer.
func (t Tagged) Int() (int, bool) { return int(int32(t >> 32)), t&1 == 0 && uint32(t) == 0 }

// Object is the address of the object that t refers to, without the tag; false if t is no pointer, or a weak one that
// was cleared.
func (t Tagged) Object() (mem.Addr, bool) {
	const cleared = 3
	return mem.Addr(t &^ 3), t&1 == 1 && t != cleared
}

// Space is where the memory of processes ends, of those that do not ask for more: arm64 gives them 48 bits, x86-64 47.
// Source: linux/Documentation/arch/arm64/memory.rst, x86_64/mm.rst.
const Space = 1 << 48

// MayRefer reports whether w may be a strong pointer to an object.
func MayRefer(w uint64) bool { return w&3 == 1 && w > 1<<12 && w < Space }

// TagOf is the strong pointer to the object at a.
func TagOf(a mem.Addr) Tagged { return Tagged(a | 1) }

// Heap reads objects of one V8 by a View: what was copied of the stop over the live heap. It holds nothing that it
// read.
type Heap struct {
	*Layout
	*view.View
}

// read fills b with the bytes of the object at a from offset on.
func (h Heap) read(b []byte, a mem.Addr, offset int32) error {
	_, err := h.ReadMem(b, a+mem.Addr(offset))
	return err
}

// Word reads the tagged word at offset of the object at a.
func (h Heap) Word(a mem.Addr, offset int32) (Tagged, error) {
	v, err := h.uint(a, offset, 8)
	return Tagged(v), err
}

func (h Heap) uint(a mem.Addr, offset int32, size int) (uint64, error) {
	return h.Uint(a+mem.Addr(offset), size)
}

// Follow is where the object at a is now: while the garbage collector moves objects the map word of one that was moved
// is its new address. An address that is not of an object comes back as it is.
// Source: MapWord in src/objects/map-word.h.
func (h Heap) Follow(a mem.Addr) (mem.Addr, error) {
	word, err := h.Word(a, h.Map.Of)
	if err != nil {
		return 0, err
	}
	if word&3 == 0 && word != 0 {
		return mem.Addr(word), nil
	}
	return a, nil
}

// Type reads the instance type of the object at a, by its map.
func (h Heap) Type(a mem.Addr) (uint16, error) {
	at, err := h.mapOf(a)
	if err != nil {
		return 0, err
	}
	return h.typeOfMap(at)
}

// mapOf is the map of the object at a.
func (h Heap) mapOf(a mem.Addr) (mem.Addr, error) {
	word, err := h.Word(a, h.Map.Of)
	if err != nil {
		return 0, err
	}
	at, ok := word.Object()
	if !ok {
		return 0, fmt.Errorf("%w: the object at %#x has no map", ErrMoved, uint64(a))
	}
	return at, nil
}

func (h Heap) typeOfMap(at mem.Addr) (uint16, error) {
	v, err := h.uint(at, h.Map.InstanceType, 2)
	return uint16(v), err
}

// object is the address of what t refers to, if that has one of the types. What was moved is found where it is now.
func (h Heap) object(t Tagged, what string, types ...uint16) (mem.Addr, error) {
	a, ok := t.Object()
	if !ok {
		return 0, fmt.Errorf("%w: %#x is no %s", ErrMoved, uint64(t), what)
	}
	a, err := h.Follow(a)
	if err != nil {
		return 0, err
	}
	got, err := h.Type(a)
	if err != nil {
		return 0, err
	}
	for _, want := range types {
		if got == want && want != 0 {
			return a, nil
		}
	}
	return 0, fmt.Errorf("%w: the object at %#x is no %s but has type %d", ErrMoved, uint64(a), what, got)
}

// length is that of a FixedArray or ByteArray at a, in elements, at most most.
func (h Heap) length(a mem.Addr, most int) (int, error) {
	return h.smi(a, h.ArrayLen, most)
}

// smi reads a small integer of 0 to most.
func (h Heap) smi(a mem.Addr, offset int32, most int) (int, error) {
	word, err := h.Word(a, offset)
	if err != nil {
		return 0, err
	}
	n, ok := word.Int()
	if !ok || n < 0 || n > most {
		return 0, fmt.Errorf("%w: the word at %#x is %#x, no number of 0 to %d", ErrMoved, uint64(a)+uint64(offset),
			uint64(word), most)
	}
	return n, nil
}

// element reads element i of the FixedArray at a, which has at least n.
func (h Heap) element(a mem.Addr, i, n int) (Tagged, error) {
	if i < 0 || i >= n {
		return 0, fmt.Errorf("%w: the array at %#x has %d elements, not %d", ErrMoved, uint64(a), n, i+1)
	}
	return h.Word(a, h.ArrayData+int32(i)*8)
}

// maxTable bounds a table of bytes.
const maxTable = 8 << 20

// Table reads the bytes of the ByteArray that t refers to. They do not change while the code or bytecode is alive that
// refers to it.
func (h Heap) Table(t Tagged) ([]byte, error) {
	a, err := h.object(t, "byte array", h.Types.ByteArray, h.Types.TrustedByteArray)
	if err != nil {
		return nil, err
	}
	n, err := h.length(a, maxTable)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, h.read(b, a, h.ArrayData)
}
