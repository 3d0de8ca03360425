// Package xdata makes rows of the unwind information that Windows has for arm64 (.pdata and .xdata), which CoreCLR
// writes on Linux too: how the caller's registers are found from a place in a function, its prologue and epilogues
// included.
//
// The caller gives the bytes, of which nothing is believed: work is bounded by their number. It knows no process.
//
// Sources: "ARM64 exception handling" of the Microsoft documentation; src/coreclr/unwinder/arm64/unwinder.cpp and
// src/coreclr/jit/unwindarm64.cpp of dotnet/runtime.
package xdata

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Function is a RUNTIME_FUNCTION: its code begins at Begin, its record is at Data, both from one base.
type Function struct{ Begin, Data uint32 }

// FunctionSize is how many bytes one takes.
const FunctionSize = 8

// ParseFunction reads b, which has FunctionSize bytes at the least.
func ParseFunction(b []byte) Function { return Function{order.Uint32(b), order.Uint32(b[4:])} }

var order = binary.LittleEndian

// ErrMalformed says that bytes are no record, or contradict each other.
var ErrMalformed = errors.New("unwind information is malformed")

const (
	// HeadSize is how many bytes of a record say how long it is, and its function.
	HeadSize = 2 * word
	// MaxRecord bounds a record, bytes: a longer one is malformed. All codes and some hundred epilogues fit.
	MaxRecord = 4 << 10

	word        = 4
	instruction = 4
)

// Packed reports whether f has no record: Data itself says how it is unwound, in a form that no compiler of CoreCLR
// writes.
func (f Function) Packed() bool { return f.Data&3 != 0 }

// Length is how many bytes of code the function has whose record begins with head, of HeadSize bytes.
func Length(head []byte) uint32 { return order.Uint32(head) & (1<<18 - 1) * instruction }

// Size is how many bytes the record has that begins with head, of HeadSize bytes: without what belongs to a handler of
// exceptions. It may be more than MaxRecord.
func Size(head []byte) int {
	h := parseHeader(head)
	return h.size + h.scopes + h.codes
}

// header is what a record begins with.
type header struct {
	size, scopes, codes int // bytes, one behind the other: its own, of places of epilogues, of codes
	version             uint32
	end                 int // where the codes of the epilogue begin that ends the function; below 0: it has scopes
}

func parseHeader(b []byte) header {
	w := order.Uint32(b)
	h := header{size: word, codes: int(w>>27) * word, version: w >> 18 & 3, end: -1}
	epilogues := int(w >> 22 & 31)
	if epilogues == 0 && h.codes == 0 { // their numbers need more bits
		more := order.Uint32(b[word:])
		h.size, h.codes, epilogues = 2*word, int(more>>16&0xff)*word, int(more&0xffff)
	}
	if w>>21&1 != 0 {
		h.end = epilogues
	} else {
		h.scopes = epilogues * word
	}
	return h
}

// record is a record with its parts.
type record struct {
	length    uint32 // of the function, instructions
	epilogues []epilogue
	codes     []byte
}

// epilogue is where one begins, in instructions, and its first code.
type epilogue struct {
	at    uint32
	codes []byte
}

func parse(b []byte) (record, error) {
	if len(b) < HeadSize {
		return record{}, fmt.Errorf("%w: it cannot be read", ErrMalformed)
	}
	h, size := parseHeader(b), Size(b)
	if h.version != 0 || size > min(len(b), MaxRecord) {
		return record{}, fmt.Errorf("%w: version %d, %d bytes of %d", ErrMalformed, h.version, len(b), size)
	}
	r := record{length: Length(b) / instruction, codes: b[size-h.codes : size]}
	if h.end >= 0 {
		e := epilogue{codes: r.codes[min(h.end, h.codes):]}
		n, err := count(e.codes)
		if err != nil || n >= r.length {
			return record{}, fmt.Errorf("%w: its epilogue has %d instructions", ErrMalformed, n)
		}
		e.at = r.length - 1 - n // behind it is the instruction that leaves
		r.epilogues = []epilogue{e}
		return r, nil
	}
	for scopes := b[h.size:][:h.scopes]; len(scopes) > 0; scopes = scopes[word:] {
		w := order.Uint32(scopes)
		r.epilogues = append(r.epilogues, epilogue{w & (1<<18 - 1), r.codes[min(int(w>>22), h.codes):]})
	}
	return r, nil
}
