package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Frame is a frame of a chain.
type Frame struct {
	Addr, Previous, Code mem.Addr
	Instr                uint64 // an address, or where the Layout says so an index
	Owner                byte
	Entry                bool // it ends what one call of the eval loop runs
	TLBC                 int32
	// Top is where the values end that it computes with; it is kept while the frame does not execute.
	Top mem.Addr
}

// FrameAt reads the frame at a.
func (l *Layout) FrameAt(m *view.View, a mem.Addr) (Frame, bool) {
	b, ok := m.Bytes(a, l.Frame.Size)
	if !ok {
		return Frame{}, false
	}
	return l.FrameOf(a, b), true
}

// FrameOf decodes the frame at a, whose bytes are b.
func (l *Layout) FrameOf(a mem.Addr, b []byte) Frame {
	at := &l.Frame
	f := Frame{Addr: a, Previous: mem.Addr(order.Uint64(b[at.Previous:])),
		Code: mem.Addr(order.Uint64(b[at.Code:])) &^ 7} // low bits say how it is counted
	if at.Lasti {
		f.Instr = uint64(int64(int32(order.Uint32(b[at.Instr:]))))
	} else {
		f.Instr = order.Uint64(b[at.Instr:])
	}
	if at.Owner != 0 {
		f.Owner = b[at.Owner]
	}
	if at.IsEntry != 0 {
		f.Entry = b[at.IsEntry] != 0
	}
	if at.TLBC != 0 {
		f.TLBC = int32(order.Uint32(b[at.TLBC:]))
	}
	switch at.TopIs {
	case topIndex:
		f.Top = a + mem.Addr(at.Locals) + mem.Addr(8*int64(int32(order.Uint32(b[at.Top:]))))
	case topDepth:
		f.Top = mem.Addr(order.Uint64(b[at.Top:])) + mem.Addr(8*int64(int32(order.Uint32(b[at.Top+16:]))))
	default:
		f.Top = mem.Addr(order.Uint64(b[at.Top:]))
	}
	return f
}

// Shim reports whether f is an entry frame: it has no code of its own and lies in the stack of its thread.
func (l *Layout) Shim(f *Frame) bool { return l.Version.Minor >= 12 && f.Owner >= OwnedByCStack }

// Bytecode is where the instructions begin that f executes, false if that is not known: a free-threaded interpreter
// has copies of those of its Code, one for each thread. Source: _PyCodeArray in Include/cpython/code.h.
func (l *Layout) Bytecode(m *view.View, f *Frame) (mem.Addr, bool) {
	own := f.Code + mem.Addr(l.Code.Bytecode)
	if f.TLBC == 0 || l.Code.TLBC == 0 {
		return own, true
	}
	at, ok := l.Copies(m, f)
	if !ok {
		return 0, false
	}
	copied, ok := Pointer(m, at)
	if copied == 0 {
		copied = own
	}
	return copied, ok
}

// Copies is where the address of the copy is that f executes; false if it executes none, or if that is not known.
func (l *Layout) Copies(m *view.View, f *Frame) (mem.Addr, bool) {
	const most = 1 << 16 // threads
	if f.TLBC <= 0 || f.TLBC > most || l.Code.TLBC == 0 {
		return 0, false
	}
	array, ok := Pointer(m, f.Code+mem.Addr(l.Code.TLBC))
	return array + 8 + 8*mem.Addr(f.TLBC), ok && array != 0
}

// Offset is how many bytes f is into instructions, which are size bytes long: below 0 before the first. It is false if
// f executes none of them.
func (l *Layout) Offset(f *Frame, instructions mem.Addr, size int) (int, bool) {
	if l.Frame.Lasti {
		return int(int64(f.Instr)) * l.Frame.Unit, true
	}
	const before = 64 // what comes before the first
	d := int64(f.Instr - uint64(instructions))
	return int(max(d, -1)), d >= -before && d <= int64(size)
}

// Thread is the state of a thread.
type Thread struct {
	Addr, Next, Interp mem.Addr
	ThreadID           mem.Addr // pthread_self
	NativeID           int
	Frame, CFrame      mem.Addr
	Chunk, ChunkTop    mem.Addr
	Base               mem.Addr // 0 where the chain ends with null
}

// ThreadOf decodes the state of a thread at a, whose first Size bytes are b.
func (l *Layout) ThreadOf(a mem.Addr, b []byte) Thread {
	at := &l.Thread
	word := func(offset int) mem.Addr {
		if offset == 0 {
			return 0
		}
		return mem.Addr(order.Uint64(b[offset:]))
	}
	t := Thread{Addr: a, Next: word(at.Next), Interp: word(at.Interp), ThreadID: word(at.ThreadID),
		NativeID: int(word(at.NativeID)), Frame: word(at.Frame), CFrame: word(at.CFrame), Chunk: word(at.Chunk)}
	if at.Chunk != 0 {
		t.ChunkTop = word(at.Chunk + 8)
	}
	if at.Base != 0 {
		t.Base = a + mem.Addr(at.Base)
	}
	return t
}
