package object

import (
	"errors"
	"fmt"
)

// Cookie is what _PyRuntime begins with where the release describes itself.
const Cookie = "xdebugpy"

// OffsetsSize is how much of _PyRuntime is read: _Py_DebugOffsets of the last known release.
const OffsetsSize = 896

// positions are where _Py_DebugOffsets has what is used of it; 0: the release has it not.
type positions struct {
	interpreters                                                            int
	interpID, interpNext, interpThreads, interpGC, interpModules, interpGIL int
	threadNext, threadInterp, threadFrame, threadBase                       int
	threadID, nativeID, chunk                                               int
	previous, executable, instr, locals, owner, stack, tlbcIndex            int
	filename, name, qualname, lines, firstLine, bytecode, tlbc              int
	variables, kinds, genFrame, genState                                    int
	strState, strLength, strASCII, collecting                               int
}

// Source: struct _Py_DebugOffsets in Include/internal/pycore_runtime.h (3.13) and pycore_debug_offsets.h (from 3.14).
var offsets = map[int]positions{
	13: {interpreters: 40, interpID: 56, interpNext: 64, interpThreads: 72, interpGC: 80, interpModules: 88,
		interpGIL: 112, threadNext: 168, threadInterp: 176, threadFrame: 184, threadID: 192, nativeID: 200,
		chunk: 208, previous: 232, executable: 240, instr: 248, locals: 256, owner: 264, variables: 328,
		kinds: 336, filename: 280, name: 288, qualname: 296, lines: 304, firstLine: 312, bytecode: 344,
		strState: 544, strLength: 552, strASCII: 560, collecting: 576},
	14: {interpreters: 40, interpID: 56, interpNext: 64, interpThreads: 72, interpGC: 88, interpModules: 96,
		interpGIL: 120, threadNext: 192, threadInterp: 200, threadFrame: 208, threadID: 216, nativeID: 224,
		chunk: 232, previous: 256, executable: 264, instr: 272, locals: 280, owner: 288, stack: 296,
		tlbcIndex: 304, variables: 368, kinds: 376, genFrame: 680, genState: 688, filename: 320, name: 328,
		qualname: 336, lines: 344, firstLine: 352, bytecode: 384, tlbc: 392, strState: 624, strLength: 632,
		strASCII: 640, collecting: 656},
	15: {interpreters: 40, interpID: 56, interpNext: 64, interpThreads: 72, interpGC: 88, interpModules: 96,
		interpGIL: 120, threadNext: 192, threadInterp: 200, threadFrame: 208, threadBase: 216, threadID: 240,
		nativeID: 248, chunk: 256, previous: 320, executable: 328, instr: 336, locals: 344, owner: 352,
		stack: 360, tlbcIndex: 368, variables: 432, kinds: 440, genFrame: 808, genState: 816, filename: 384,
		name: 392, qualname: 400, lines: 408, firstLine: 416, bytecode: 448, tlbc: 456, strState: 720,
		strLength: 728, strASCII: 736, collecting: 760},
}

var errOffsets = errors.New("the offsets that it gives of itself make no sense")

// Described returns the Layout of a release that describes itself, by the first bytes of its _PyRuntime. A release
// behind the last that is known is taken to have the same fields in the same places of the description, and refused if
// what it says cannot be so.
func Described(b []byte) (*Layout, error) {
	if len(b) < OffsetsSize || string(b[:len(Cookie)]) != Cookie {
		return nil, fmt.Errorf("CPython: %w: no description is there", ErrUnknown)
	}
	hex := order.Uint64(b[8:])
	v := Version{int(hex >> 24 & 0xff), int(hex >> 16 & 0xff)}
	at, ok := offsets[min(v.Minor, lastMinor)]
	if v.Major != 3 || !ok {
		return nil, fmt.Errorf("CPython %v: %w; known are 3.%d to 3.%d", v, ErrUnknown, firstMinor, lastMinor)
	}
	r := offsetReader{b: b}
	l := r.layout(&at)
	l.Version, l.FreeThreaded, l.Header = v, order.Uint64(b[16:]) == 1, 16
	if v.Minor == firstOffsets {
		l.Gen = GenLayout{Frame: 72, State: 67}
	}
	if l.FreeThreaded {
		l.Header = 32
		if v.Minor == firstOffsets {
			l.Gen = GenLayout{Frame: 72 + 16, State: 67 + 16}
		}
		if v.Minor >= 14 {
			l.String.Shift = 8 // interned is a byte of its own there
		}
	}
	if r.bad || l.String.Length != l.Header || l.String.ASCII <= l.String.State || l.Frame.Owner == 0 {
		return nil, fmt.Errorf("CPython %v: %w", v, errOffsets)
	}
	return l, nil
}

// maxOffset bounds an offset: PyInterpreterState is the largest, some hundred KB.
const maxOffset = 1 << 20

type offsetReader struct {
	b   []byte
	bad bool
}

func (r *offsetReader) at(position int) int {
	if position == 0 {
		return 0
	}
	v := order.Uint64(r.b[position:])
	if v >= maxOffset {
		r.bad = true
		return 0
	}
	return int(v)
}

// small is an offset in a struct that is read whole.
func (r *offsetReader) small(position int) int {
	v := r.at(position)
	if v >= 512 {
		r.bad = true
		return 0
	}
	return v
}

func (r *offsetReader) layout(at *positions) *Layout {
	l := &Layout{
		Runtime: RuntimeLayout{Interpreters: r.at(at.interpreters)},
		Interp: InterpLayout{Next: r.at(at.interpNext), ID: r.at(at.interpID), Threads: r.at(at.interpThreads),
			Modules: r.at(at.interpModules), GIL: r.at(at.interpGIL),
			Collecting: r.at(at.interpGC) + r.at(at.collecting)},
		Thread: ThreadLayout{Next: r.small(at.threadNext), Interp: r.small(at.threadInterp),
			Frame: r.small(at.threadFrame), Base: r.at(at.threadBase), ThreadID: r.small(at.threadID),
			NativeID: r.small(at.nativeID), Chunk: r.small(at.chunk)},
		Frame: FrameLayout{Previous: r.small(at.previous), Code: r.small(at.executable), Instr: r.small(at.instr),
			Owner: r.small(at.owner), TLBC: r.small(at.tlbcIndex), Locals: r.small(at.locals), Top: r.small(at.stack)},
		Code: CodeLayout{Filename: r.small(at.filename), Name: r.small(at.name), Qualname: r.small(at.qualname),
			Lines: r.small(at.lines), FirstLine: r.small(at.firstLine), Bytecode: r.small(at.bytecode),
			TLBC: r.small(at.tlbc), Variables: []int{r.small(at.variables)}, Kinds: r.small(at.kinds)},
		Gen: GenLayout{Frame: r.small(at.genFrame), State: r.small(at.genState)},
		String: StringLayout{Length: r.small(at.strLength), State: r.small(at.strState), ASCII: r.small(at.strASCII),
			Shift: 2},
	}
	// struct PyCompactUnicodeObject adds utf8_length and utf8 to PyASCIIObject.
	l.String.Compact = l.String.ASCII + 16
	t, f, c := &l.Thread, &l.Frame, &l.Code
	if at.stack == 0 { // 3.13 says neither where the values end nor where generators have their frames
		f.Top, f.TopIs = f.Locals-8, topIndex
	}
	t.Size = max(t.Next, t.Interp, t.Frame, t.ThreadID, t.NativeID, t.Chunk+8) + 8
	f.Size = max(f.Previous, f.Code, f.Instr, f.Owner, f.TLBC, f.Top) + 8
	c.Size = max(c.Filename, c.Name, c.Qualname, c.Lines, c.FirstLine, c.Variables[0], c.Kinds, 2*32) + 8
	if !l.FreeThreaded {
		c.TLBC, f.TLBC = 0, 0
	}
	return l
}
