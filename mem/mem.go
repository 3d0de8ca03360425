// Package mem names addresses of a target and reads bytes there.
//
// It provides [Addr], the [Reader] interface, typed reads that fail rather than
// return zero, [Overlay], which answers from copied ranges before it asks another
// reader, [Spans] of addresses, and [Image], a drawn memory for tests.
//
// The caller provides the bytes: a live process, a core file or a recorded file.
// A Reader never returns fewer bytes than requested without an error.
package mem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Addr is an address in the running target.
type Addr uint64

// ErrUnmapped is the cause of a read that no range or mapping covers.
var ErrUnmapped = errors.New("not mapped")

// Reader reads the memory of one target.
type Reader interface {
	// ReadMem fills b with the bytes at addr and returns how many it could get.
	// n < len(b) if and only if err is not nil; the first n bytes are valid then too.
	// It does not keep b.
	ReadMem(b []byte, addr Addr) (n int, err error)
}

// FaultError says that bytes of the target could not be read.
type FaultError struct {
	Addr Addr // first byte that was not had
	Len  int  // bytes that were still wanted
	Err  error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("read %d bytes at %#x: %v", e.Len, uint64(e.Addr), e.Err)
}

func (e *FaultError) Unwrap() error { return e.Err }

// Uint reads an unsigned integer of size bytes (1, 2, 4 or 8) at addr.
// It panics on another size, which is a fault of the program and never of the target.
func Uint(r Reader, addr Addr, size int, order binary.ByteOrder) (uint64, error) {
	if o, ok := r.(*Overlay); ok {
		if b, ok := o.Bytes(addr, size); ok {
			return decode(b, size, order), nil
		}
	}
	var buf [8]byte
	if _, err := r.ReadMem(buf[:size], addr); err != nil {
		return 0, err
	}
	return decode(buf[:size], size, order), nil
}

func decode(b []byte, size int, order binary.ByteOrder) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	case 8:
		return order.Uint64(b)
	}
	panic(fmt.Sprintf("mem: integer of %d bytes", size))
}

// Range is a copy of the bytes [Start, Start+len(Data)) of a target.
type Range struct {
	Start Addr
	Data  []byte
}

// End is the address behind the last copied byte, 0 if that is the last of the address space.
func (r Range) End() Addr { return r.Start + Addr(len(r.Data)) }

// Bytes returns the n bytes at addr without copying, or false if the range does
// not hold all of them.
func (r Range) Bytes(addr Addr, n int) ([]byte, bool) {
	if addr < r.Start || n < 0 {
		return nil, false
	}
	off := uint64(addr - r.Start)
	if off > uint64(len(r.Data)) || uint64(n) > uint64(len(r.Data))-off {
		return nil, false
	}
	return r.Data[off : off+uint64(n) : off+uint64(n)], true
}

// Overlay answers from copied ranges and asks a base reader for the rest.
// It is read-only but for [Overlay.Reset], so goroutines may share it if the base allows.
type Overlay struct {
	ranges []Range
	base   Reader
	// Still says that base is of the same moment as the ranges, as in a core: then all of it counts as copied. Reset
	// makes it false.
	Still bool
}

// NewOverlay returns an Overlay of ranges over base. Base may be nil: then an
// address outside the ranges is [ErrUnmapped]. Where ranges overlap the first of them answers. It keeps them.
func NewOverlay(base Reader, ranges ...Range) *Overlay {
	o := &Overlay{ranges: make([]Range, 0, len(ranges))}
	o.Reset(base, ranges...)
	return o
}

// Reset makes o what NewOverlay returns, and uses its memory again: who copies many stacks,
// one after the other, needs one Overlay. Nobody else may be using o.
func (o *Overlay) Reset(base Reader, ranges ...Range) {
	clear(o.ranges)
	o.ranges, o.base, o.Still = o.ranges[:0], base, false
	for _, r := range ranges {
		o.add(r)
	}
}

// add adds the parts of r that no range holds yet.
func (o *Overlay) add(r Range) {
	for len(r.Data) > 0 { // ends: each round takes bytes from r
		i := o.after(r.Start)
		if i > 0 { // what the range before holds
			if held := uint64(r.Start - o.ranges[i-1].Start); held < uint64(len(o.ranges[i-1].Data)) {
				n := min(uint64(len(r.Data)), uint64(len(o.ranges[i-1].Data))-held)
				r = Range{r.Start + Addr(n), r.Data[n:]}
				continue
			}
		}
		n := len(r.Data)
		if i < len(o.ranges) && uint64(o.ranges[i].Start-r.Start) < uint64(n) {
			n = int(o.ranges[i].Start - r.Start)
		}
		o.ranges = slices.Insert(o.ranges, i, Range{r.Start, r.Data[:n:n]})
		r = Range{r.Start + Addr(n), r.Data[n:]}
	}
}

// after returns the index of the first range that starts behind addr. It is by Start alone: End of a range at the top
// of the address space is 0.
func (o *Overlay) after(addr Addr) int {
	low, high := 0, len(o.ranges)
	for low < high {
		if at := (low + high) / 2; o.ranges[at].Start > addr {
			high = at
		} else {
			low = at + 1
		}
	}
	return low
}

// Around returns the copied range that holds addr. The bytes are not copied again.
func (o *Overlay) Around(addr Addr) (Range, bool) {
	if r := o.find(addr); r != nil {
		return *r, true
	}
	return Range{}, false
}

// Bytes returns the n bytes at addr without copying, if one range holds them all.
func (o *Overlay) Bytes(addr Addr, n int) ([]byte, bool) {
	r := o.find(addr)
	if r == nil {
		return nil, false
	}
	return r.Bytes(addr, n)
}

// Holds reports whether copied ranges hold the n bytes at addr.
func (o *Overlay) Holds(addr Addr, n int) bool {
	for n > 0 && !o.Still {
		r := o.find(addr)
		if r == nil {
			return false
		}
		held := len(r.Data) - int(addr-r.Start)
		n -= held
		addr += Addr(held)
	}
	return true
}

// ReadMem implements [Reader]. A read may cross from a range into the base and back.
func (o *Overlay) ReadMem(b []byte, addr Addr) (int, error) {
	done := 0
	for done < len(b) {
		at := addr + Addr(done)
		if at < addr { // behind the end of the address space
			return done, &FaultError{Addr: at, Len: len(b) - done, Err: ErrUnmapped}
		}
		if r := o.find(at); r != nil {
			done += copy(b[done:], r.Data[at-r.Start:])
			continue
		}
		want := len(b) - done
		if next := o.next(at); next != nil && uint64(next.Start-at) < uint64(want) {
			want = int(next.Start - at)
		} else if room := -uint64(at); room != 0 && room < uint64(want) { // bytes up to 2^64
			want = int(room)
		}
		if o.base == nil {
			return done, &FaultError{Addr: at, Len: len(b) - done, Err: ErrUnmapped}
		}
		n, err := o.base.ReadMem(b[done:done+want], at)
		done += n
		if err != nil {
			return done, widen(err, len(b)-done)
		}
		if n < want { // the base breaks its contract: do not ask it for ever
			return done, &FaultError{Addr: at + Addr(n), Len: len(b) - done, Err: io.ErrUnexpectedEOF}
		}
	}
	return done, nil
}

// widen makes a fault of the base, which read a piece, one of the whole read.
func widen(err error, wanted int) error {
	if fault, ok := err.(*FaultError); ok && fault.Len != wanted {
		return &FaultError{Addr: fault.Addr, Len: wanted, Err: fault.Err}
	}
	return err
}

// find returns the range that holds addr, or nil.
func (o *Overlay) find(addr Addr) *Range {
	if len(o.ranges) == 1 { // one stack: what nearly every read is for
		if r := &o.ranges[0]; uint64(addr-r.Start) < uint64(len(r.Data)) {
			return r
		}
		return nil
	}
	i := o.after(addr) - 1
	if i < 0 || uint64(addr-o.ranges[i].Start) >= uint64(len(o.ranges[i].Data)) {
		return nil
	}
	return &o.ranges[i]
}

// next returns the first range that starts behind addr, or nil.
func (o *Overlay) next(addr Addr) *Range {
	i := o.after(addr)
	if i == len(o.ranges) {
		return nil
	}
	return &o.ranges[i]
}
