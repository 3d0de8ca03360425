package object

import "github.com/fpstack/fpstack/mem"

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
func (l *Layout) FrameAt(m Memory, a mem.Addr) (Frame, bool) {
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

// Offset is how many bytes f is into the instructions of the code object at its Code, below 0 before the first.
func (l *Layout) Offset(f *Frame, instructions mem.Addr) int {
	if l.Frame.Lasti {
		return int(int64(f.Instr)) * l.Frame.Unit
	}
	d := int64(f.Instr - uint64(instructions))
	if d < -64 || d > maxBytecode {
		return -1
	}
	return int(d)
}

// maxBytecode bounds the instructions of one code object, bytes.
const maxBytecode = 1 << 30

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
