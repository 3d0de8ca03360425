package object

import (
	"errors"
	"fmt"
)

// Cookie is what _PyRuntime begins with where the release describes itself.
const Cookie = "xdebugpy"

// OffsetsSize is how much of _PyRuntime is read: _Py_DebugOffsets of the last known release.
const OffsetsSize = 896

// described is a field that _Py_DebugOffsets says the offset of.
type described struct {
	in       string // the struct that it is a field of
	size     int    // bytes
	at       [3]int // where 3.13, 3.14 and 3.15 have the offset; 0: they do not
	required bool   // where it has a place
	to       func(*Layout) *int
}

// fields are those that are used. A release behind the last that is known is taken to have them where that has them.
// Source: struct _Py_DebugOffsets in Include/internal/pycore_runtime.h (3.13) and pycore_debug_offsets.h (from 3.14).
var fields = []described{
	{"runtime", 8, [3]int{40, 40, 40}, true, func(l *Layout) *int { return &l.Runtime.Interpreters }},
	{"interp", 8, [3]int{56, 56, 56}, true, func(l *Layout) *int { return &l.Interp.ID }},
	{"interp", 8, [3]int{64, 64, 64}, true, func(l *Layout) *int { return &l.Interp.Next }},
	{"interp", 8, [3]int{72, 72, 72}, true, func(l *Layout) *int { return &l.Interp.Threads }},
	{"interp", 8, [3]int{80, 88, 88}, true, func(l *Layout) *int { return &l.Interp.Collecting }}, // of its gc
	{"interp", 8, [3]int{88, 96, 96}, true, func(l *Layout) *int { return &l.Interp.Modules }},
	{"interp", 8, [3]int{112, 120, 120}, true, func(l *Layout) *int { return &l.Interp.GIL }},
	{"thread", 8, [3]int{168, 192, 192}, true, func(l *Layout) *int { return &l.Thread.Next }},
	{"thread", 8, [3]int{176, 200, 200}, true, func(l *Layout) *int { return &l.Thread.Interp }},
	{"thread", 8, [3]int{184, 208, 208}, true, func(l *Layout) *int { return &l.Thread.Frame }},
	{"base", 8, [3]int{0, 0, 216}, true, func(l *Layout) *int { return &l.Thread.Base }},
	{"thread", 8, [3]int{192, 216, 240}, true, func(l *Layout) *int { return &l.Thread.ThreadID }},
	{"thread", 8, [3]int{200, 224, 248}, true, func(l *Layout) *int { return &l.Thread.NativeID }},
	{"thread", 8, [3]int{208, 232, 256}, true, func(l *Layout) *int { return &l.Thread.Chunk }},
	{"frame", 8, [3]int{232, 256, 320}, true, func(l *Layout) *int { return &l.Frame.Previous }},
	{"frame", 8, [3]int{240, 264, 328}, true, func(l *Layout) *int { return &l.Frame.Code }},
	{"frame", 8, [3]int{248, 272, 336}, true, func(l *Layout) *int { return &l.Frame.Instr }},
	{"frame", 8, [3]int{256, 280, 344}, true, func(l *Layout) *int { return &l.Frame.Locals }},
	{"frame", 1, [3]int{264, 288, 352}, true, func(l *Layout) *int { return &l.Frame.Owner }},
	{"frame", 8, [3]int{0, 296, 360}, true, func(l *Layout) *int { return &l.Frame.Top }},
	{"frame", 4, [3]int{0, 304, 368}, false, func(l *Layout) *int { return &l.Frame.TLBC }}, // free-threaded alone
	{"code", 8, [3]int{280, 320, 384}, true, func(l *Layout) *int { return &l.Code.Filename }},
	{"code", 8, [3]int{288, 328, 392}, true, func(l *Layout) *int { return &l.Code.Name }},
	{"code", 8, [3]int{296, 336, 400}, true, func(l *Layout) *int { return &l.Code.Qualname }},
	{"code", 8, [3]int{304, 344, 408}, true, func(l *Layout) *int { return &l.Code.Lines }},
	{"code", 4, [3]int{312, 352, 416}, true, func(l *Layout) *int { return &l.Code.FirstLine }},
	{"code", 8, [3]int{328, 368, 432}, true, func(l *Layout) *int { return &l.Code.Variables[0] }},
	{"code", 8, [3]int{336, 376, 440}, true, func(l *Layout) *int { return &l.Code.Kinds }},
	{"code", 2, [3]int{344, 384, 448}, true, func(l *Layout) *int { return &l.Code.Bytecode }},
	{"code", 8, [3]int{0, 392, 456}, false, func(l *Layout) *int { return &l.Code.TLBC }}, // free-threaded alone
	{"generator", 1, [3]int{0, 688, 816}, true, func(l *Layout) *int { return &l.Gen.State }},
	{"generator", 8, [3]int{0, 680, 808}, true, func(l *Layout) *int { return &l.Gen.Frame }},
	{"string", 4, [3]int{544, 624, 720}, true, func(l *Layout) *int { return &l.String.State }},
	{"string", 8, [3]int{552, 632, 728}, true, func(l *Layout) *int { return &l.String.Length }},
	{"string", 8, [3]int{560, 640, 736}, true, func(l *Layout) *int { return &l.String.ASCII }},
}

// collecting is where _Py_DebugOffsets has the offset of the field of the same name in the gc of an interpreter.
var collecting = [3]int{576, 656, 760}

// errOffsets says that what a release says of itself cannot be so.
var errOffsets = errors.New("the offsets that it gives of itself make no sense")

// Described returns the Layout of a release that describes itself, by the first bytes of its _PyRuntime. It is refused
// if a field that is needed is missing, lies where none can be, or where another is.
func Described(b []byte) (*Layout, error) {
	if len(b) < OffsetsSize || string(b[:len(Cookie)]) != Cookie {
		return nil, fmt.Errorf("CPython: %w: no description is there", ErrUnknown)
	}
	hex := order.Uint64(b[8:])
	v := Version{int(hex >> 24 & 0xff), int(hex >> 16 & 0xff)}
	release := min(v.Minor, lastMinor) - firstOffsets
	if v.Major != 3 || release < 0 {
		return nil, fmt.Errorf("CPython %v: %w; known are 3.%d to 3.%d", v, ErrUnknown, firstMinor, lastMinor)
	}
	l := &Layout{Version: v, FreeThreaded: order.Uint64(b[16:]) == 1, Header: 16}
	l.Code.Variables = make([]int, 1)
	if l.FreeThreaded {
		l.Header = 32
	}
	if err := l.describe(b, release); err != nil {
		return nil, fmt.Errorf("CPython %v: %w", v, err)
	}
	l.derive(v.Minor)
	return l, nil
}

// maxOffset bounds an offset: PyInterpreterState is the largest, some hundred KB. Structs that are read whole are
// small.
const (
	maxOffset = 1 << 20
	maxSmall  = 512
)

// describe sets the fields that b describes.
func (l *Layout) describe(b []byte, release int) error {
	taken := map[string][]bool{} // bytes of small structs
	for i := range fields {
		f := &fields[i]
		position := f.at[release]
		if position == 0 || !f.required && !l.FreeThreaded {
			continue
		}
		n := order.Uint64(b[position:])
		if n >= maxOffset || n%uint64(f.size) != 0 {
			return errOffsets
		}
		*f.to(l) = int(n)
		switch f.in {
		case "interp":
			continue
		case "runtime", "base":
			if n == 0 {
				return errOffsets
			}
			continue
		case "code", "generator":
			if n < uint64(l.Header) {
				return errOffsets
			}
		}
		if taken[f.in] == nil {
			taken[f.in] = make([]bool, maxSmall)
		}
		for k := n; k < n+uint64(f.size); k++ {
			if k >= maxSmall || taken[f.in][k] {
				return errOffsets
			}
			taken[f.in][k] = true
		}
	}
	in := &l.Interp
	n := order.Uint64(b[collecting[release]:])
	if n >= maxOffset || in.Collecting == 0 || in.Threads == in.Next || in.Threads == in.Modules ||
		in.Threads == in.GIL ||
		l.String.Length != l.Header || l.String.ASCII <= l.String.State {
		return errOffsets
	}
	in.Collecting += int(n)
	return nil
}

// derive sets what follows from what was described.
func (l *Layout) derive(minor int) {
	// struct PyCompactUnicodeObject adds utf8_length and utf8 to PyASCIIObject.
	l.String.Compact, l.String.Shift = l.String.ASCII+16, 2
	t, f, c := &l.Thread, &l.Frame, &l.Code
	if minor == firstOffsets { // it says neither where the values end nor where generators have their frames
		f.Top, f.TopIs = f.Locals-8, topIndex
		l.Gen = GenLayout{Frame: 72 + l.Header - 16, State: 67 + l.Header - 16}
	} else if l.FreeThreaded {
		l.String.Shift = 8 // interned is a byte of its own there
	}
	t.Size = max(t.Next, t.Interp, t.Frame, t.ThreadID, t.NativeID, t.Chunk+8) + 8
	f.Size = max(f.Previous, f.Code, f.Instr, f.Owner, f.TLBC, f.Top) + 8
	c.Size = max(c.Filename, c.Name, c.Qualname, c.Lines, c.FirstLine, c.Variables[0], c.Kinds, c.TLBC, 2*32) + 8
}
