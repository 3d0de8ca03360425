package heap

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Offsets that are the same in V8 10.2 to 14.6. Sources: js-generator.tq, js-promise.tq.
const (
	promiseFlags          = 32 // SMI, its low two bits are the state: 0 is pending
	generatorContext      = 32
	generatorContinuation = 64 // SMI: 0 and more suspended, -1 closed, -2 running
	generatorRegisters    = 72 // parameters_and_registers
	// FrameResult is where the object of an async function has what is settled when it ends.
	FrameResult = asyncPromise

	firstSlot = 2 // of a context: what lies before is its ScopeInfo and the context around it

	mapSpan = 40 // what is read of a Map at once, bytes
)

// Suspendable is a kind of object that a suspended function is found by.
type Suspendable int

// The kinds.
const (
	NotSuspendable Suspendable = iota
	PendingPromise
	AsyncFunction
	AsyncGenerator
	Generator
)

// suspendable is the kind of objects of an instance type.
func (l *Layout) suspendable(typ uint16) Suspendable {
	t := &l.Types
	switch {
	case typ == 0:
		return NotSuspendable
	case typ == t.Promise:
		return PendingPromise
	case typ == t.AsyncFunction:
		return AsyncFunction
	case typ == t.AsyncGenerator:
		return AsyncGenerator
	case typ == t.generator():
		return Generator
	}
	return NotSuspendable
}

// generator is the type of objects of function*: no symbol of most versions says it. It is the one in front of those
// that are derived from it. Source: the order of instance types in src/objects/objects-definitions and js-generator.tq.
func (t *Types) generator() uint16 {
	switch {
	case t.Generator != 0:
		return t.Generator
	case t.AsyncGenerator == t.AsyncFunction+1:
		return t.AsyncFunction - 1
	}
	return 0
}

// MayBeFlags reports whether the second word of a Map may be one of some words, of which this is the union: in front
// are bits that say which elements an object has, where a pointer has none.
func MayBeFlags(union uint64) bool { return union>>48 != 0 }

// MayBeMap reports whether two words may be the first of the Map of such objects.
func (l *Layout) MayBeMap(first, second uint64) bool {
	const least = 5 // words of an object; a small integer behind a pointer, which are many, has none
	return MayRefer(first) && MayBeFlags(second) && second>>(8*(l.Map.InstanceSize-8))&0xff >= least &&
		l.suspendable(uint16(second>>(8*(l.Map.InstanceType-8)))) != NotSuspendable
}

// SuspendableMap is the kind of objects that the Map at a is of: a Map whose own Map is the Map of Maps.
func (h Heap) SuspendableMap(a mem.Addr) Suspendable {
	b, ok := h.Bytes(a, mapSpan)
	if !ok {
		return NotSuspendable
	}
	kind := h.suspendable(binary.LittleEndian.Uint16(b[h.Map.InstanceType:]))
	if kind == NotSuspendable || !h.IsMap(a) {
		return NotSuspendable
	}
	return kind
}

// IsMap reports whether the object at a is a Map, and so is what its Map has for one.
func (h Heap) IsMap(a mem.Addr) bool {
	typ, err := h.Type(a)
	if err != nil || typ != h.Types.Map {
		return false
	}
	meta, err := h.mapOf(a)
	if err != nil {
		return false
	}
	typ, err = h.Type(meta)
	return err == nil && typ == h.Types.Map
}

// MaySuspend reports whether b, the first bytes of an object of that kind, may be one that waits: a promise that is
// pending and has reactions, or a function that is suspended. It is not sure where bytes are missing.
func MaySuspend(kind Suspendable, b []byte) (may, sure bool) {
	word := func(offset int) Tagged { return Tagged(binary.LittleEndian.Uint64(b[offset:])) }
	if kind == PendingPromise {
		if len(b) < promiseFlags+8 {
			return true, false
		}
		state, ok := word(promiseFlags).Int()
		return ok && state&3 == 0 && state >= 0 && MayRefer(uint64(word(promiseReactions))), true
	}
	if len(b) < generatorContinuation+8 {
		return true, false
	}
	at, ok := word(generatorContinuation).Int()
	return ok && at >= 0 && MayRefer(uint64(word(generatorFunction))), true
}

// Frame is a suspended function as its object has it.
type Frame struct {
	Addr     mem.Addr
	Kind     Suspendable
	Closure  mem.Addr
	Shared   Shared
	Receiver Tagged
	Context  Tagged // its variables that closures share
	// Registers are the variables that it keeps while it is suspended, and its arguments.
	Registers Tagged
	// Position is where it waits, as [Heap.PositionOf] takes it; -1 if that is not known.
	Position int
	// Promise is what is settled when it ends; of an async generator that of the first who waits for it. 0: none.
	Promise mem.Addr
}

// FrameOf reads the suspended function whose object is at a. It fails for one that is not suspended.
func (h Heap) FrameOf(a mem.Addr, kind Suspendable) (Frame, error) {
	f := Frame{Addr: a, Kind: kind, Position: -1}
	b, ok := h.Bytes(a, generatorRegisters+8)
	if !ok {
		return f, h.Fault()
	}
	word := func(offset int) Tagged { return Tagged(binary.LittleEndian.Uint64(b[offset:])) }
	at, ok := word(generatorContinuation).Int()
	if !ok || at < 0 {
		return f, fmt.Errorf("%w: the function at %#x is not suspended", ErrMoved, uint64(a))
	}
	f.Receiver, f.Context, f.Registers = word(generatorReceiver), word(generatorContext), word(generatorRegisters)
	if biased, ok := word(generatorPosition).Int(); ok && biased >= 0 && biased <= maxBytecode {
		f.Position = biased
	}
	function, ok := word(generatorFunction).Object()
	if !ok {
		return f, fmt.Errorf("%w: the function of a generator is %#x", ErrMoved, uint64(word(generatorFunction)))
	}
	f.Closure = function
	var err error
	if f.Shared, err = h.FunctionAt(function); err != nil {
		return f, err
	}
	if kind != Generator {
		f.Promise, err = h.promiseOf(a)
	}
	return f, err
}

// Arguments are the arguments of f, and what it keeps behind them, of all at most most.
func (h Heap) Arguments(f *Frame, most int) ([]Tagged, error) {
	a, err := h.object(f.Registers, "registers", h.Types.FixedArray)
	if err != nil {
		return nil, err
	}
	n, err := h.length(a, maxLocals)
	if err != nil {
		return nil, err
	}
	return h.words(a, h.ArrayData, min(n, most))
}

// PositionOf is where in the text of its script the function waits, -1 if that is not known.
func (h Heap) PositionOf(s Shared, position int) int {
	if position < 0 {
		return -1
	}
	b, err := h.bytecodeOf(s)
	if err != nil {
		return -1
	}
	offset, ok := h.BytecodeOffset(b, position)
	if !ok {
		return -1
	}
	table, err := h.Table(b.Positions)
	if err != nil {
		return -1
	}
	if p, ok, err := h.PositionAt(table, offset); ok && err == nil {
		return p.Offset
	}
	return -1
}

// Waiter is what goes on when a promise is fulfilled: a suspended function, or what another promise waits for.
type Waiter struct {
	Frame   mem.Addr // object of the function, 0 if it is a promise
	Promise mem.Addr
	// Result is the promise that is settled when Frame ends, where its object does not say so.
	Result mem.Addr
}

// maxReactions bounds who waits for one promise.
const maxReactions = 1 << 16

// ErrMany says that more wait for a promise than are read.
var ErrMany = fmt.Errorf("more than %d wait for one promise", maxReactions)

// Waiters are those of the promise at a, and whether it is pending. What was found comes with an error, too.
func (h Heap) Waiters(a mem.Addr) (all []Waiter, pending bool, err error) {
	b, ok := h.Bytes(a, promiseFlags+8)
	if !ok {
		return nil, false, h.Fault()
	}
	state, ok := Tagged(binary.LittleEndian.Uint64(b[promiseFlags:])).Int()
	word := Tagged(binary.LittleEndian.Uint64(b[promiseReactions:]))
	if !ok || state&3 != 0 {
		return nil, false, nil
	}
	for n := 0; ; n++ {
		reaction, ok := word.Object()
		if !ok {
			return all, true, nil
		}
		if n == maxReactions {
			return all, true, ErrMany
		}
		typ, err := h.Type(reaction)
		if err == nil && (typ != h.Types.PromiseReaction || typ == 0) {
			err = fmt.Errorf("%w: a reaction at %#x has type %d", ErrMoved, uint64(reaction), typ)
		}
		if err != nil {
			return all, true, err
		}
		w, err := h.waiter(reaction)
		if err != nil {
			return all, true, err
		}
		if w != (Waiter{}) {
			all = append(all, w)
		}
		if word, err = h.Word(reaction, h.Reaction.Next); err != nil {
			return all, true, err
		}
	}
}

// waiter is who a PromiseReaction lets go on.
func (h Heap) waiter(reaction mem.Addr) (Waiter, error) {
	word, err := h.Word(reaction, h.Reaction.Fulfill)
	if err != nil {
		return Waiter{}, err
	}
	if closure, ok := word.Object(); ok && h.IsFunction(closure) {
		if h.isBuiltin(closure) {
			if p, ok := h.settledBy(closure); ok {
				return Waiter{Promise: p}, nil
			}
		} else if w, ok := h.steps(closure); ok {
			return w, nil
		}
	}
	g, p, err := h.react(reaction)
	return Waiter{Frame: g, Promise: p}, err
}

// Settles is the promise that the closure at function settles: one of those that the executor of a Promise gets.
func (h Heap) Settles(function mem.Addr) (mem.Addr, bool) {
	if !h.isBuiltin(function) {
		return 0, false
	}
	return h.settledBy(function)
}

// settledBy is Settles of a function of V8's own.
func (h Heap) settledBy(function mem.Addr) (mem.Addr, bool) {
	word, err := h.contextElement(function, firstSlot)
	if err != nil {
		return 0, false
	}
	a, err := h.object(word, "promise", h.Types.Promise)
	return a, err == nil
}

// steps is the function* that a closure of the program steps on, as compilers make async functions for old engines:
// the context of the closure has the function that settles the promise of the whole, and that or the one around it has
// the generator. Where those engines have no function* either, a function is no object that could be shown, and only
// its promise is known: the context has both functions that settle it, and the closure for the steps that follow.
// Source: __awaiter of TypeScript, asyncGeneratorStep of Babel.
func (h Heap) steps(closure mem.Addr) (w Waiter, ok bool) {
	const around = 2
	contexts, err := h.Context(closure, around)
	if err != nil {
		return w, false
	}
	var own []mem.Addr // functions in the closure's own context
	for depth, slots := range contexts {
		for i := firstSlot; i < len(slots) && i < firstSlot+maxStepSlots; i++ {
			a, isObject := h.slot(slots[i])
			if !isObject {
				continue
			}
			typ, err := h.Type(a)
			switch {
			case err != nil:
			case typ == h.Types.generator() && typ != 0:
				if w.Frame != 0 && w.Frame != a {
					return w, false // which of them is not known
				}
				w.Frame = a
			case h.isFunctionType(typ):
				if depth == 0 {
					own = append(own, a)
				}
				if w.Result == 0 {
					w.Result, _ = h.Settles(a)
				}
			}
		}
	}
	if w.Frame == 0 && w.Result != 0 && slices.Contains(own, closure) {
		settling := slices.DeleteFunc(own, func(a mem.Addr) bool {
			p, ok := h.Settles(a)
			return !ok || p != w.Result
		})
		return Waiter{Promise: w.Result}, len(settling) == 2
	}
	return w, w.Frame != 0 && w.Result != 0
}

// maxStepSlots bounds the variables that are looked at of one context.
const maxStepSlots = 16

// slot is the object that a word of a context refers to, by its cell where it has one.
func (h Heap) slot(t Tagged) (mem.Addr, bool) {
	a, ok := t.Object()
	if !ok || h.Types.ContextCell == 0 {
		return a, ok
	}
	if typ, err := h.Type(a); err != nil || typ != h.Types.ContextCell {
		return a, err == nil
	}
	const value = 8 // src/objects/contexts.tq
	word, err := h.Word(a, value)
	if err != nil {
		return 0, false
	}
	return word.Object()
}

// IsFunctionType reports whether objects of that type are closures.
func (l *Layout) IsFunctionType(typ uint16) bool { return l.isFunctionType(typ) }

// IsContextType reports whether objects of that type are contexts: variables that closures share.
func (l *Layout) IsContextType(typ uint16) bool {
	return typ >= l.Types.FirstContext && typ <= l.Types.LastContext && l.Types.LastContext != 0
}

// IsSuspendable reports whether objects of that type are functions that may be suspended.
func (l *Layout) IsSuspendable(typ uint16) bool {
	kind := l.suspendable(typ)
	return kind != NotSuspendable && kind != PendingPromise
}

// SizeByMap is how large objects of the Map at a are, bytes; false if they are not all the same.
func (h Heap) SizeByMap(a mem.Addr) (size int, fixed bool) {
	words, err := h.uint(a, h.Map.InstanceSize, 1)
	return int(words) * 8, err == nil && words > 0
}
