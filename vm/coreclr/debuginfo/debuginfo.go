// Package debuginfo says which place in the IL of a method an instruction was compiled from: by the bounds that the JIT
// of CoreCLR leaves beside its code, in both encodings that there are.
//
// The caller gives the bytes, of which nothing is believed: work is bounded by their number. It knows no process.
//
// Sources: src/coreclr/vm/debuginfostore.cpp and src/coreclr/inc/nibblestream.h of dotnet/runtime; what the
// numbers mean: ICorDebugInfo in src/coreclr/inc/cordebuginfo.h.
package debuginfo

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Form is how debug information is written.
type Form struct {
	Encoding
	// Bare says that the flags are missing which may tell of more before the bounds: those of precompiled code.
	Bare bool
	// Saved is how many bytes a PatchpointInfo has before the number of its locals: they say what registers were saved.
	Saved int
}

// Encoding is how bounds are written.
type Encoding uint8

// The encodings.
const (
	Nibbles Encoding = iota // .NET 6 to 9: each number in nibbles of three bits
	Packed                  // .NET 10, and ReadyToRun 16: all entries with the same number of bits
)

// Special places, where an entry has no offset.
const (
	NoMapping = -1 // code of the compiler's own
	Prologue  = -2
	Epilogue  = -3
)

// Bound says that code from Native on, bytes from where the method begins, was compiled from the IL at IL, which is one
// of the special places if it is negative.
type Bound struct {
	Native uint32
	IL     int32
}

// ErrMalformed says that bytes are no debug information, or cut.
var ErrMalformed = errors.New("debug information is malformed")

// ErrRewritten says that a profiler has rewritten the IL of a method, and nothing says where it was what before.
var ErrRewritten = errors.New("its IL was rewritten by a profiler")

// Flags of the first byte. Source: enum EXTRA_DEBUG_INFO_FLAGS in debuginfostore.cpp.
const (
	patchpoints = 1
	rich        = 2
)

// instrumented in place of the size of the bounds says that a profiler has rewritten the IL and said which place was
// which: the bounds of the new IL come first, then those of the IL as it is in the assembly, which its PDB is about.
// Source: RestoreBoundaries in docs/design/datacontracts/DebugInfo.md.
const instrumented = 1<<32 - 1

const (
	maxBounds = 1 << 20
	// MaxHead is how many bytes [Size] needs to see.
	MaxHead = 64
)

var order = binary.LittleEndian

// Parse reads the bounds out of b, the debug information of one method: ascending.
func Parse(b []byte, f Form) ([]Bound, error) {
	at, size, err := bounds(b, f)
	if err != nil {
		return nil, err
	}
	if at > len(b) || uint64(len(b)-at) < uint64(size) {
		return nil, fmt.Errorf("%w: bounds of %d bytes are cut", ErrMalformed, size)
	}
	b = b[at : at+int(size)]
	if size == 0 {
		return nil, nil
	}
	if f.Encoding == Packed {
		return packed(b)
	}
	return inNibbles(b)
}

// Size is how many bytes of the debug information Parse needs, which begins with b.
func Size(b []byte, f Form) (int, error) {
	at, size, err := bounds(b, f)
	if size > maxBounds {
		return 0, fmt.Errorf("%w: bounds of %d bytes", ErrMalformed, size)
	}
	return at + int(size), err
}

// bounds finds where the bounds are.
func bounds(b []byte, f Form) (at int, size uint32, err error) {
	if len(b) == 0 {
		return 0, 0, ErrMalformed
	}
	flags := b[0]
	if at = 1; f.Bare {
		flags, at = 0, 0
	}
	if flags&patchpoints != 0 { // a PatchpointInfo and four bytes for each of its locals
		const behind, frame = 24, 4 // the number of locals, the size of the frame, and four places in it
		if len(b) < at+f.Saved+behind {
			return 0, 0, ErrMalformed
		}
		at += f.Saved
		if order.Uint32(b[at+frame:])%8 != 0 {
			return 0, 0, fmt.Errorf("%w: a frame of %d bytes", ErrMalformed, order.Uint32(b[at+frame:]))
		}
		at += behind + 4*int(min(order.Uint32(b[at:]), maxBounds))
	}
	if flags&rich != 0 {
		if len(b) < at+4 {
			return 0, 0, ErrMalformed
		}
		at += 4 + int(min(order.Uint32(b[at:]), maxBounds))
	}
	if at > len(b) {
		return 0, 0, ErrMalformed
	}
	n := nibbles{b: b[at:]}
	size, skipped := n.next(), uint32(0)
	if size == instrumented {
		skipped, size = n.next(), n.next()
		if size == 0 && !n.failed {
			return 0, 0, ErrRewritten
		}
	}
	n.next() // of the variables
	if n.failed || skipped > maxBounds {
		return 0, 0, ErrMalformed
	}
	return at + n.bytes() + int(skipped), size, nil
}

// inNibbles reads bounds whose numbers are in nibbles.
func inNibbles(b []byte) ([]Bound, error) {
	n := nibbles{b: b}
	count := n.next()
	if uint64(count) > uint64(2*len(b)) {
		return nil, fmt.Errorf("%w: %d bounds in %d bytes", ErrMalformed, count, len(b))
	}
	out := make([]Bound, 0, count)
	native := uint32(0)
	for range count {
		native += n.next()
		il := n.next()
		n.next() // where the mapping comes from
		if n.failed {
			return nil, ErrMalformed
		}
		out = append(out, Bound{native, int32(il) + Epilogue})
	}
	return ascending(out)
}

// packed reads bounds whose numbers have a fixed number of bits.
func packed(b []byte) ([]Bound, error) {
	n := nibbles{b: b}
	count, nativeBits, ilBits := n.next(), n.next()+1, n.next()+1
	if n.failed || nativeBits > 32 || ilBits > 32 {
		return nil, ErrMalformed
	}
	const sourceBits = 2
	b = b[n.bytes():]
	each := uint64(sourceBits + nativeBits + ilBits)
	if uint64(count)*each > 8*uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d bounds in %d bytes", ErrMalformed, count, len(b))
	}
	out := make([]Bound, 0, count)
	native := uint32(0)
	for i := range uint64(count) {
		at := i*each + sourceBits
		native += bits(b, at, nativeBits)
		out = append(out, Bound{native, int32(bits(b, at+uint64(nativeBits), ilBits)) + Epilogue})
	}
	return ascending(out)
}

// bits are the n bits from bit number at on, the lowest of a byte being its first.
func bits(b []byte, at uint64, n uint32) (v uint32) {
	for i := range uint64(n) {
		v |= uint32(b[(at+i)/8]>>((at+i)%8)&1) << i
	}
	return v
}

func ascending(list []Bound) ([]Bound, error) {
	for i := 1; i < len(list); i++ {
		if list[i].Native < list[i-1].Native {
			return nil, fmt.Errorf("%w: bounds do not ascend", ErrMalformed)
		}
	}
	return list, nil
}

// nibbles reads numbers, the highest bits first: three in each nibble, whose highest bit says that more follow. The
// lower nibble of a byte comes first.
type nibbles struct {
	b      []byte
	read   int
	failed bool
}

func (n *nibbles) next() (v uint32) {
	const most = 11 // nibbles of a number of 32 bits
	for range most {
		if n.read >= 2*len(n.b) {
			break
		}
		x := n.b[n.read/2] >> (4 * (n.read % 2)) & 0xf
		n.read++
		v = v<<3 | uint32(x&7)
		if x&8 == 0 {
			return v
		}
	}
	n.failed = true
	return 0
}

// bytes is how many have been begun.
func (n *nibbles) bytes() int { return (n.read + 1) / 2 }

// At is the IL offset that code at a native offset was compiled from, false if none is known. As for the runtime's own
// stack traces the prologue counts to the beginning, and an epilogue to the end. Code of the compiler counts to what is
// before it, where the runtime says that it belongs to the beginning.
func At(list []Bound, native uint32) (il int, ok bool) {
	for i := range list {
		b := &list[i]
		switch {
		case b.Native > native:
			return il, ok
		case b.IL >= 0:
			il, ok = int(b.IL), true
		case b.IL == Prologue:
			il, ok = 0, true
		case b.IL == Epilogue:
			il, ok = last(list)
		}
	}
	return il, ok
}

// last is the last place in the IL that any code was compiled from.
func last(list []Bound) (il int, ok bool) {
	for i := range list {
		if at := int(list[i].IL); at >= il {
			il, ok = at, true
		}
	}
	return il, ok
}
