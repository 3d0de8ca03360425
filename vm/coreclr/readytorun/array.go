package readytorun

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// reader reads numbers of a section, until one cannot be read: then all are 0 and err says why.
type reader struct {
	view *view.View
	base mem.Addr
	size uint32
	err  error
}

// wrapped is err with the place.
func (r *reader) wrapped() error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("read ReadyToRun section at %#x: %w", uint64(r.base), r.err)
}

// bytes reads up to len(b) bytes at an offset, as many as the section has.
func (r *reader) bytes(b []byte, at uint32) []byte {
	if r.err == nil && at >= r.size {
		r.err = fmt.Errorf("%w: offset %#x of %#x", ErrFormat, at, r.size)
	}
	if r.err != nil {
		return nil
	}
	b = b[:min(uint32(len(b)), r.size-at)]
	if _, r.err = r.view.ReadMem(b, r.base+mem.Addr(at)); r.err != nil {
		return nil
	}
	return b
}

// fixed reads a number of 1, 2 or 4 bytes.
func (r *reader) fixed(at uint32, size int) (v uint32) {
	var room [4]byte
	b := r.bytes(room[:size], at)
	if r.err == nil && len(b) < size {
		r.err = fmt.Errorf("%w: a number is cut", ErrFormat)
	}
	for i := len(b) - 1; i >= 0 && r.err == nil; i-- {
		v = v<<8 | uint32(b[i])
	}
	return v
}

// unsigned reads a number whose lowest bits say how long it is, and where the next one begins.
func (r *reader) unsigned(at uint32) (v, next uint32) {
	var room [5]byte
	b := r.bytes(room[:], at)
	if r.err != nil {
		return 0, at
	}
	n := 1 // bytes
	for n < len(room) && b[0]>>(n-1)&1 != 0 {
		n++
	}
	if n > len(b) || b[0]&0x1f == 0x1f {
		r.err = fmt.Errorf("%w: a number is cut or too large", ErrFormat)
		return 0, at
	}
	if n == len(room) {
		return order.Uint32(b[1:]), at + uint32(n)
	}
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint32(b[i])
	}
	return v >> n, at + uint32(n)
}

// blockSize is how many elements of an array share a tree.
const blockSize = 16

// element finds element number i of the array that the section is: a table of blocks, each of them a tree whose nodes
// say which branches they have. The left branch follows its node, the right one is so many bytes behind its beginning;
// a tree of one element says its number instead. False if there is no such element.
// Source: NativeArray::TryGetAt in src/coreclr/vm/nativeformatreader.h.
func (r *reader) element(i uint32) (at uint32, ok bool) {
	head, blocks := r.unsigned(0)
	if i >= head>>2 {
		return 0, false
	}
	size := [...]uint32{1, 2, 4, 4}[head&3]
	at = blocks + r.fixed(blocks+i/blockSize*size, int(size))
	for bit := uint32(blockSize / 2); bit > 0 && r.err == nil; bit /= 2 {
		const left, right = 1, 2
		node, next := r.unsigned(at)
		switch {
		case i&bit != 0 && node&right != 0:
			at += node >> 2
		case i&bit == 0 && node&left != 0:
			at = next
		case node&(left|right) == 0 && node>>2 == i%blockSize:
			return next, r.err == nil
		default:
			return 0, false
		}
	}
	return at, r.err == nil
}
