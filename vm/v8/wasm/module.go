package wasm

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of what is read of the bytes of a module of WebAssembly.
const (
	maxSections  = 1 << 12
	maxNames     = 16 << 20 // bytes of the section with the names
	maxFunctions = 1 << 20
	maxName      = 4 << 10
)

var (
	errFormat = errors.New("the module of WebAssembly is malformed")
	errMany   = errors.New("the module of WebAssembly has more sections, or longer names, than are read")
)

// functionsOf reads the names of functions, by index, imported ones first, out of the binary of a module, size bytes at
// a, which does not change while its code runs. A module without a section of names has none.
//
// Source: the WebAssembly core specification, 5.5 (sections), and its appendix on the section "name".
func functionsOf(v *view.View, a mem.Addr, size int) (map[uint32]string, error) {
	const header = 8 // magic and version
	const custom = 0
	for at, n := header, 0; at < size; n++ {
		if n == maxSections {
			return nil, errMany
		}
		const longest = 11 // an id and a length, and the length of a name
		head := v.UpTo(a+mem.Addr(at), min(longest, size-at))
		if len(head) < 2 {
			return nil, errFormat
		}
		id := head[0]
		length, width := binary.Uvarint(head[1:])
		if width <= 0 || length > uint64(size-at-1-width) {
			return nil, errFormat
		}
		begin := at + 1 + width
		at = begin + int(length)
		if id != custom {
			continue
		}
		switch is, err := isNamed(v, a+mem.Addr(begin), length); {
		case err != nil:
			return nil, err
		case !is:
			continue
		case length > maxNames:
			return nil, errMany
		}
		b := make([]byte, length)
		if _, err := v.ReadMem(b, a+mem.Addr(begin)); err != nil {
			return nil, err
		}
		return functionNames(b[len(nameSection):])
	}
	return nil, nil
}

const nameSection = "\x04name"

// isNamed reports whether the custom section at a is that of the names.
func isNamed(v *view.View, a mem.Addr, length uint64) (bool, error) {
	var b [len(nameSection)]byte
	if length < uint64(len(b)) {
		return false, nil
	}
	_, err := v.ReadMem(b[:], a)
	return string(b[:]) == nameSection, err
}

// functionNames reads the names out of the content of the section: subsection 1 of those in it.
func functionNames(b []byte) (map[uint32]string, error) {
	const functions = 1
	for len(b) > 0 {
		id := b[0]
		length, width := binary.Uvarint(b[1:])
		if width <= 0 || length > uint64(len(b)-1-width) {
			return nil, errFormat
		}
		sub := b[1+width:][:length]
		b = b[1+width+int(length):]
		if id == functions {
			return nameMap(sub)
		}
	}
	return nil, nil
}

// cut ends a name that is longer.
const cut = "…"

// nameMap reads a vector of index and name, of a long name the beginning. What was read comes with an error, too.
func nameMap(b []byte) (map[uint32]string, error) {
	count, width := binary.Uvarint(b)
	if width <= 0 || count > maxFunctions || count > uint64(len(b)) {
		return nil, errFormat
	}
	b = b[width:]
	names := make(map[uint32]string, count)
	for range count {
		index, n := binary.Uvarint(b)
		if n <= 0 {
			return names, errFormat
		}
		length, k := binary.Uvarint(b[n:])
		if k <= 0 || length > uint64(len(b)-n-k) || index >= maxFunctions {
			return names, errFormat
		}
		name := string(b[n+k:][:min(length, maxName)])
		if length > maxName {
			name = strings.ToValidUTF8(name[:maxName-len(cut)], "") + cut
		}
		names[uint32(index)] = name
		b = b[n+k+int(length):]
	}
	return names, nil
}
