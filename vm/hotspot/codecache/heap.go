package codecache

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Heap is a part of the code cache.
type Heap struct {
	Low, High mem.Addr // what is reserved
	segmap    mem.Addr
	shift     uint
}

// Bounds of the code cache: a JVM has one part or three, of 240 MB together; 2 GB at most.
const (
	maxHeaps = 8
	maxSpan  = 4 << 30
	maxShift = 16
)

// Heaps reads where the code cache is. Its parts are reserved at once when the JVM starts: there are none before.
func (l *Layout) Heaps(v *view.View) ([]Heap, error) {
	if l.heaps == 0 {
		at, err := v.Word(l.heap)
		if err != nil || at == 0 {
			return nil, err
		}
		h, err := l.readHeap(v, mem.Addr(at))
		return []Heap{h}, err
	}
	list, err := v.Word(l.heaps)
	if err != nil || list == 0 {
		return nil, err
	}
	f := v.Fields(mem.Addr(list))
	n, data := l.listLength.Of(&f), l.listData.Addr(&f)
	switch {
	case f.Err != nil:
		return nil, f.Err
	case n < 0 || n > maxHeaps:
		return nil, fmt.Errorf("the code cache has %d parts", n)
	}
	words, err := v.Words(data, int(n))
	if err != nil {
		return nil, err
	}
	heaps := make([]Heap, 0, n)
	for _, at := range words {
		h, err := l.readHeap(v, mem.Addr(at))
		if err != nil {
			return nil, err
		}
		heaps = append(heaps, h)
	}
	return heaps, nil
}

func (l *Layout) readHeap(v *view.View, at mem.Addr) (Heap, error) {
	code, segmap, own := v.Fields(at+mem.Addr(l.memory)), v.Fields(at+mem.Addr(l.segmap)), v.Fields(at)
	h := Heap{Low: l.low.Addr(&code), High: l.spread.Addr(&code), segmap: l.low.Addr(&segmap),
		shift: uint(l.segmentShift.Of(&own))}
	switch err := errors.Join(code.Err, segmap.Err, own.Err); {
	case err != nil:
		return h, err
	case h.Low == 0 || h.Low >= h.High || h.High-h.Low > maxSpan ||
		h.shift > maxShift || h.segmap == 0:
		return h, fmt.Errorf("a part of the code cache is at %#x-%#x", uint64(h.Low), uint64(h.High))
	}
	return h, nil
}

// ErrNoBlob says that no code is at an address.
var ErrNoBlob = errors.New("no code of the JVM is there")

const (
	freeSegment = 0xff
	// maxHops bounds the way to the begin of a block: each but the last is of 254 segments at the most.
	maxHops = 1 << 12
)

// Segments is where the segment map says what pc is in, and how many bytes before it are wanted to follow it to the
// begin of a block of usual size.
func (h *Heap) Segments(pc mem.Addr) (at mem.Addr, back int) {
	n := uint64(pc-h.Low) >> h.shift
	return h.segmap + mem.Addr(n), int(min(n, 2*freeSegment))
}

// Blob finds the begin of the blob that pc is in.
func (l *Layout) Blob(v *view.View, h *Heap, pc mem.Addr) (mem.Addr, error) {
	var err error
	start, ok := l.BlobBy(h, pc, func(a mem.Addr) (byte, bool) {
		t, e := v.Uint(a, 1)
		err = e
		return byte(t), e == nil
	})
	if ok {
		return start, nil
	}
	if err == nil {
		err = ErrNoBlob
	}
	return 0, err
}

// BlobBy is Blob by a function that reads bytes.
func (l *Layout) BlobBy(h *Heap, pc mem.Addr, read func(mem.Addr) (byte, bool)) (start mem.Addr, ok bool) {
	n := uint64(pc-h.Low) >> h.shift
	for range maxHops {
		t, ok := read(h.segmap + mem.Addr(n))
		switch {
		case !ok, t == freeSegment, uint64(t) > n:
			return 0, false
		case t == 0:
			return h.Low + mem.Addr(n<<h.shift) + mem.Addr(l.header), true
		}
		n -= uint64(t)
	}
	return 0, false
}

// Codelet is a piece of the interpreter.
type Codelet struct {
	Start, End mem.Addr
	Name       string // "method entry point (kind = zerolocals)", the name of a bytecode
	Bytecode   int    // -1 for none
}

const (
	maxCodelets = 1 << 12
	maxText     = 256
)

// Codelets lists the pieces of the interpreter. It is made once: none before the JVM has begun.
func (l *Layout) Codelets(v *view.View) ([]Codelet, error) {
	queue, err := v.Word(l.interpreter)
	if err != nil || queue == 0 {
		return nil, err
	}
	f := v.Fields(mem.Addr(queue))
	at, limit := l.stubBuffer.Addr(&f), l.bufferLimit.Of(&f)
	if f.Err != nil || limit <= 0 || limit > maxSpan {
		return nil, f.Err
	}
	var all []Codelet
	for end := at + mem.Addr(limit); at < end && len(all) < maxCodelets; {
		f := v.Fields(at)
		size, text := l.codeletSize.Of(&f), l.codeletText.Addr(&f)
		c := Codelet{Start: at, End: at + mem.Addr(size), Bytecode: int(l.code.Of(&f))}
		if f.Err != nil {
			return nil, f.Err
		}
		if size <= 0 || c.End > end {
			break // it is cut to what is used
		}
		if text != 0 {
			if c.Name, _, err = v.Text(text, maxText); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
		at = c.End
	}
	return all, nil
}

// Each gives yield where each blob of a heap begins, ascending, until it returns false: one block lies behind the other
// up to where the heap is in use. What the JVM makes meanwhile may be missing.
func (l *Layout) Each(v *view.View, h *Heap, yield func(start mem.Addr) bool) error {
	if !l.blockLength.OK() || !l.blockUsed.OK() {
		return errors.New("the JVM does not say how long a piece of code is")
	}
	for at := h.Low; at < h.High; {
		f := v.Fields(at)
		length, used := uint64(l.blockLength.Of(&f)), l.blockUsed.Of(&f)
		if f.Err != nil {
			return v.Refused() // what is behind is reserved alone
		}
		if length == 0 || length > uint64(h.High-at)>>h.shift {
			return nil
		}
		if used != 0 && !yield(at+mem.Addr(l.header)) {
			return nil
		}
		at += mem.Addr(length << h.shift)
	}
	return nil
}
