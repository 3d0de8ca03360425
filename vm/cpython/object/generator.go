package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// GenState is what a generator, coroutine or asynchronous generator does.
type GenState uint8

// The states.
const (
	GenUnknown   GenState = iota
	GenCreated            // nothing of it has run
	GenYielded            // it waits to be asked for its next value
	GenAwaiting           // it waits for what it awaits, or yields from
	GenExecuting          // a thread runs it
	GenEnded
)

// Generator is a generator, coroutine or asynchronous generator.
type Generator struct {
	State GenState
	Frame Frame // unless it has ended
	// Awaits is what it awaits or yields from, if State is GenAwaiting; 0 if that is not known.
	Awaits mem.Addr
}

// Generates reports whether objects of the type with that name are generators.
func Generates(typeName string) bool {
	return typeName == "coroutine" || typeName == "generator" || typeName == "async_generator"
}

// genWindow is how much of a generator is read at once: mostly the values that its frame computes with are in it.
const genWindow = 256

// Frame states. Source: enum _framestate in Include/internal/pycore_frame.h; from 3.15 on
// pycore_interpframe_structs.h.
const (
	suspended311 = -1 // 3.10 to 3.12, whatever it waits for
	suspended313 = -2
	awaiting313  = -1
)

// GeneratorAt reads the generator at a. Source: Objects/genobject.c, _PyGen_yf.
func (l *Layout) GeneratorAt(m *view.View, a mem.Addr) (Generator, bool) {
	if l.Gen.Apart {
		return l.generatorApart(m, a)
	}
	size := l.Gen.Frame + l.Frame.Size
	b, ok := m.Bytes(a, genWindow)
	if !ok {
		b, ok = m.Bytes(a, size) // at the end of what is mapped
	}
	if !ok || l.Gen.State >= len(b) || size > len(b) {
		return Generator{}, false
	}
	g := Generator{State: l.genState(int8(b[l.Gen.State])), Frame: l.FrameOf(a+mem.Addr(l.Gen.Frame), b[l.Gen.Frame:])}
	if g.State != GenAwaiting {
		return g, true
	}
	below := mem.Addr(8)
	if l.Version.Minor >= 15 { // an index is above it
		below = 16
	}
	at := g.Frame.Top - below
	if from := int64(at - a); from >= 0 && from+8 <= int64(len(b)) {
		g.Awaits = mem.Addr(order.Uint64(b[from:]))
	} else {
		g.Awaits, ok = Pointer(m, at)
	}
	g.Awaits &^= 7
	if l.Version.Minor <= 12 {
		next, known := m.Bytes(mem.Addr(g.Frame.Instr)+2, 2)
		if known && !resumesAwait(next) {
			g.State, g.Awaits = GenYielded, 0
			return g, true
		}
		ok = ok && known
	}
	return g, ok
}

// genState is the state of a generator that has its frame in it, by the byte that says so.
func (l *Layout) genState(s int8) GenState {
	switch minor := l.Version.Minor; {
	case minor >= 15:
		switch s {
		case 0:
			return GenCreated
		case 1:
			return GenYielded
		case 2, 3:
			return GenAwaiting
		case 4:
			return GenExecuting
		}
		return GenEnded
	case s == 0:
		return GenExecuting
	case s > 0:
		return GenEnded
	case minor <= 12 && s == suspended311, minor > 12 && s == awaiting313:
		return GenAwaiting // up to 3.12 the next instruction tells
	case minor > 12 && s == suspended313:
		return GenYielded
	}
	return GenCreated
}

// resumesAwait reports whether an instruction of 3.11 or 3.12 goes on behind a yield from or an await.
func resumesAwait(code []byte) bool {
	// RESUME_QUICK of 3.11, RESUME, and INSTRUMENTED_RESUME of 3.12, where something listens to sys.monitoring.
	const quick, resume, instrumented = 150, 151, 240
	return (code[0] == quick || code[0] == resume || code[0] == instrumented) && code[1] >= 2
}

// generatorApart reads a generator whose frame is an object of its own (3.8 to 3.10).
func (l *Layout) generatorApart(m *view.View, a mem.Addr) (Generator, bool) {
	at, ok := Pointer(m, a+mem.Addr(l.Gen.Frame))
	if !ok || at == 0 {
		return Generator{State: GenEnded}, ok
	}
	const size, executing = 120, 116 // f_executing of 3.8 and 3.9
	b, ok := m.Bytes(at, size)
	if !ok {
		return Generator{}, false
	}
	g := Generator{Frame: l.FrameOf(at, b)}
	switch {
	case l.Gen.State != 0 && b[l.Gen.State] == 0, l.Gen.State == 0 && b[executing] != 0:
		g.State = GenExecuting
		return g, true
	case int64(g.Frame.Instr) < 0:
		g.State = GenCreated
		return g, true
	case g.Frame.Top == 0, l.Gen.State != 0 && int8(b[l.Gen.State]) > 0:
		g.State = GenEnded
		return g, true
	}
	g.State = GenYielded
	awaited, known := Pointer(m, g.Frame.Top-8) // before it is asked whether: both are fetched at once
	awaits, ok := l.yieldsFrom(m, &g.Frame)
	if ok && awaits {
		g.State = GenAwaiting
		g.Awaits, ok = awaited, known
	}
	return g, ok
}

// yieldsFrom reports whether the instruction behind that which f executed last is YIELD_FROM.
func (l *Layout) yieldsFrom(m *view.View, f *Frame) (bool, bool) {
	const yieldFrom, head = 72, 32 // of a bytes object
	code, ok := Pointer(m, f.Code+mem.Addr(l.Code.Object))
	if !ok {
		return false, false
	}
	next := mem.Addr((int64(f.Instr) + int64(2/l.Frame.Unit)) * int64(l.Frame.Unit))
	b, ok := m.Bytes(code+head+next, 1)
	return ok && b[0] == yieldFrom, ok
}
