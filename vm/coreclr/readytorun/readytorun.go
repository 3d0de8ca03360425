// Package readytorun reads what the compiler of precompiled .NET code (ReadyToRun) leaves in an image besides the code:
// where its functions are listed, and the debug information of each.
//
// The caller gives the memory that an image lies in, with its sections where they belong. Nothing of it is believed:
// work is bounded, and what is found may lie anywhere. It knows no process and no runtime.
//
// Sources: docs/design/coreclr/botr/readytorun-format.md, src/coreclr/inc/readytorun.h and
// src/coreclr/vm/nativeformatreader.h of dotnet/runtime.
package readytorun

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Kind is the kind of a section, a ReadyToRunSectionType.
type Kind uint32

// The kinds that are read here.
const (
	RuntimeFunctions Kind = 102
	DebugInfo        Kind = 105
)

// ErrFormat says that bytes are no such header or array.
var ErrFormat = errors.New("malformed ReadyToRun image")

// Image is an image with its header.
type Image struct {
	Base         mem.Addr
	Major, Minor int // version of the form
	sections     map[Kind]Section
	memory       mem.Reader
}

// Section is a part of an image.
type Section struct {
	RVA, Size uint32 // from the image's base, bytes
}

const (
	signature   = 0x00525452 // "RTR"
	headerBytes = 16         // signature, versions, flags, number of sections
	entryBytes  = 12
	maxSections = 256 // 17 were seen
)

var order = binary.LittleEndian

// Open reads the header at header of the image at base.
//
// It fails with ErrFormat if there is none, or with the error of memory.
func Open(memory mem.Reader, base, header mem.Addr) (*Image, error) {
	var b [headerBytes]byte
	if _, err := memory.ReadMem(b[:], header); err != nil {
		return nil, fmt.Errorf("read ReadyToRun header at %#x: %w", uint64(header), err)
	}
	n := order.Uint32(b[12:])
	if order.Uint32(b[:]) != signature || n > maxSections {
		return nil, fmt.Errorf("%w: no header at %#x", ErrFormat, uint64(header))
	}
	im := &Image{Base: base, Major: int(order.Uint16(b[4:])), Minor: int(order.Uint16(b[6:])),
		sections: map[Kind]Section{}, memory: memory}
	list := make([]byte, n*entryBytes)
	if _, err := memory.ReadMem(list, header+headerBytes); err != nil {
		return nil, fmt.Errorf("read ReadyToRun header at %#x: %w", uint64(header), err)
	}
	for ; len(list) > 0; list = list[entryBytes:] {
		im.sections[Kind(order.Uint32(list))] = Section{order.Uint32(list[4:]), order.Uint32(list[8:])}
	}
	return im, nil
}

// Section returns the section of a kind; false if the image has none.
func (im *Image) Section(k Kind) (Section, bool) {
	s, ok := im.sections[k]
	return s, ok
}

// Debug is where the debug information of the method begins whose code is runtime function number function; false if
// the image has none for it. The information has no flags before its sizes.
//
// It fails with ErrFormat or with the error of memory.
// Source: ReadyToRunInfo::GetDebugInfo in src/coreclr/vm/readytoruninfo.cpp.
func (im *Image) Debug(function int) (mem.Addr, bool, error) {
	s, ok := im.sections[DebugInfo]
	if !ok || function < 0 {
		return 0, false, nil
	}
	r := &reader{memory: im.memory, base: im.Base + mem.Addr(s.RVA), size: s.Size}
	at, ok := r.element(uint32(function))
	if !ok || r.err != nil {
		return 0, false, r.wrapped()
	}
	// It is behind this number, or, where several methods have the same, so many bytes before it.
	back, behind := r.unsigned(at)
	if back != 0 {
		behind = at - back
	}
	if r.err == nil && (back > at || behind >= r.size) {
		r.err = fmt.Errorf("%w: debug information outside of its section", ErrFormat)
	}
	return r.base + mem.Addr(behind), r.err == nil, r.wrapped()
}
