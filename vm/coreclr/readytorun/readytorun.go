// Package readytorun reads what the compiler of precompiled .NET code (ReadyToRun) leaves in an image besides the code:
// where its functions are listed, and the debug information of each.
//
// The caller gives a view of the memory that an image lies in, with its sections where they belong. Nothing of it is
// believed: work is bounded, and what is found may lie anywhere. It knows no process and no runtime.
//
// Sources: docs/design/coreclr/botr/readytorun-format.md, src/coreclr/inc/readytorun.h and
// src/coreclr/vm/nativeformatreader.h of dotnet/runtime.
package readytorun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Kind is the kind of a section, a ReadyToRunSectionType.
type Kind uint32

// The kinds that are read here.
const (
	RuntimeFunctions Kind = 102
	DebugInfo        Kind = 105
	HotColdMap       Kind = 120
)

// ErrFormat says that bytes are no such header or array.
var ErrFormat = errors.New("malformed ReadyToRun image")

// Image is an image with its header.
type Image struct {
	Base         mem.Addr
	Major, Minor int // version of the form
	sections     map[Kind]Section
	view         *view.View
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
// What is read later is read of v too, which the caller may begin anew. It fails with ErrFormat if there is none, or
// with the error of v.
func Open(v *view.View, base, header mem.Addr) (*Image, error) {
	b, ok := v.Bytes(header, headerBytes)
	if !ok {
		return nil, fmt.Errorf("read ReadyToRun header at %#x: %w", uint64(header), v.Fault())
	}
	n := order.Uint32(b[12:])
	if order.Uint32(b) != signature || n > maxSections {
		return nil, fmt.Errorf("%w: no header at %#x", ErrFormat, uint64(header))
	}
	im := &Image{Base: base, Major: int(order.Uint16(b[4:])), Minor: int(order.Uint16(b[6:])),
		sections: map[Kind]Section{}, view: v}
	list, ok := v.Bytes(header+headerBytes, int(n*entryBytes))
	if !ok {
		return nil, fmt.Errorf("read ReadyToRun header at %#x: %w", uint64(header), v.Fault())
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

// Hot is which function begins the method whose cold part, that lies apart from the rest, runtime function number
// function belongs to; false if that is not in a cold part. An error says that it is not known.
// Source: HotColdMappingLookupTable in src/coreclr/vm/codeman.cpp: pairs of the first function of a cold part and of
// that of its method, ascending; all cold parts lie behind the others.
func (im *Image) Hot(function int) (hot int, cold bool, err error) {
	const pair = 8
	s, ok := im.sections[HotColdMap]
	if !ok || function < 0 {
		return 0, false, nil
	}
	at := func(i int) (cold, hot uint32) {
		b, ok := im.view.Bytes(im.Base+mem.Addr(s.RVA)+mem.Addr(i)*pair, pair)
		if err == nil && !ok {
			err = fmt.Errorf("read the map of cold code: %w", im.view.Fault())
		}
		if err != nil {
			return 0, 0
		}
		return order.Uint32(b), order.Uint32(b[4:])
	}
	i := sort.Search(int(s.Size/pair), func(i int) bool {
		first, _ := at(i)
		return uint64(first) > uint64(function)
	}) - 1
	if i < 0 || err != nil {
		return 0, false, err
	}
	first, begins := at(i)
	if err == nil && begins >= first {
		err = fmt.Errorf("%w: cold code at function %d belongs to function %d", ErrFormat, first, begins)
	}
	return int(begins), err == nil, err
}

// Debug is where the debug information of the method begins whose code is runtime function number function; false if
// the image has none for it. The information has no flags before its sizes.
//
// It fails with ErrFormat or with the error of the view.
// Source: ReadyToRunInfo::GetDebugInfo in src/coreclr/vm/readytoruninfo.cpp.
func (im *Image) Debug(function int) (mem.Addr, bool, error) {
	s, ok := im.sections[DebugInfo]
	if !ok || function < 0 {
		return 0, false, nil
	}
	r := &reader{view: im.view, base: im.Base + mem.Addr(s.RVA), size: s.Size}
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
