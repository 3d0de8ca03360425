package heap

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Offsets of objects that V8 exports nothing of; they are the same in 9.4 to 14.6. Sources: js-generator.tq,
// js-promise.tq, promise.tq and contexts.h in src/objects.
const (
	generatorFunction = 24
	generatorReceiver = 40
	generatorPosition = 48 // bytecode offset of a suspended one, biased as in frames
	asyncPromise      = 80 // of a JSAsyncFunctionObject
	asyncQueue        = 80 // of a JSAsyncGeneratorObject
	requestPromise    = 32
	promiseReactions  = 24
	capabilityPromise = 8
	contextExtension  = 2  // element of a context: the generator of an await closure
	contextElements   = 5  // of which a promise closure has its capability in one
	interpreterArray  = 8  // of an InterpreterData
	baselineData      = 16 // of a BaselineData, before V8 10
)

// maxAwaiting bounds a chain of async functions that wait for one another.
const maxAwaiting = 256

// Awaiting are the generators of the async functions that wait for the one that the closure at function goes on with,
// innermost first: what Error.stack shows as "at async …". [Heap.Suspended] says what they are. The closure is the
// builtin that is on the stack below an async function which has been resumed (AsyncFunctionAwaitResolveClosure and
// its kin); for any other the result is empty. It follows promises to the await closures that react to them, through
// Promise.all and then.
//
// Promises and generators are young and move: it is to be read from words that were copied, or while the thread is
// stopped. What was found comes with an error, too.
func (h Heap) Awaiting(function mem.Addr) ([]mem.Addr, error) {
	at, ok := h.generatorOf(function)
	if !ok {
		return nil, nil
	}
	promise, err := h.promiseOf(at)
	return h.reactions(promise, err)
}

// AwaitingCall are the generators of the async functions that go on when the closure at function is called: it settles
// a promise that they wait for, as the functions do which the executor of a Promise gets. They are innermost first, as
// those of [Heap.Awaiting].
func (h Heap) AwaitingCall(function mem.Addr) ([]mem.Addr, error) {
	if !h.isBuiltin(function) {
		return nil, nil
	}
	word, err := h.contextElement(function, contextExtension)
	if err != nil {
		return nil, nil
	}
	promise, err := h.object(word, "promise", h.Types.Promise)
	if err != nil {
		return nil, nil
	}
	return h.reactions(promise, nil)
}

// reactions follows the promises that are settled one after the other to the generators that go on then.
func (h Heap) reactions(promise mem.Addr, err error) ([]mem.Addr, error) {
	var at mem.Addr
	var out []mem.Addr
	for range maxAwaiting {
		if err != nil || promise == 0 {
			return out, err
		}
		if at, promise, err = h.reaction(promise); err != nil || at == 0 {
			continue
		}
		out = append(out, at)
		if promise, err = h.promiseOf(at); err != nil {
			return out, err
		}
	}
	return out, fmt.Errorf("%w: more than %d functions wait for one another", ErrMoved, maxAwaiting)
}

// generatorOf is the generator that the await closure at function resumes. A closure of the program may have a
// generator in the same place, as a variable.
func (h Heap) generatorOf(function mem.Addr) (mem.Addr, bool) {
	if !h.isBuiltin(function) {
		return 0, false
	}
	word, err := h.contextElement(function, contextExtension)
	if err != nil {
		return 0, false
	}
	a, err := h.object(word, "generator", h.Types.AsyncFunction, h.Types.AsyncGenerator)
	return a, err == nil
}

// isBuiltin reports whether the closure at function is of V8 itself: it has no script.
func (h Heap) isBuiltin(function mem.Addr) bool {
	shared, err := h.FunctionAt(function)
	if err != nil {
		return false
	}
	script, ok := shared.Script.Object()
	if !ok {
		return false
	}
	typ, err := h.Type(script)
	return err == nil && typ == h.Types.Oddball
}

// contextElement reads an element of the context of a closure.
func (h Heap) contextElement(function mem.Addr, i int) (Tagged, error) {
	if !h.IsFunction(function) {
		return 0, fmt.Errorf("%w: the object at %#x is no function", ErrMoved, uint64(function))
	}
	word, err := h.Word(function, h.Function.Context)
	if err != nil {
		return 0, err
	}
	context, ok := word.Object()
	if !ok {
		return 0, fmt.Errorf("%w: a context is %#x", ErrMoved, uint64(word))
	}
	n, err := h.length(context, maxLocals)
	if err != nil {
		return 0, err
	}
	return h.element(context, i, n)
}

// promiseOf is the promise that the async function or generator at a fulfils next; 0 if there is none.
func (h Heap) promiseOf(a mem.Addr) (mem.Addr, error) {
	typ, err := h.Type(a)
	if err != nil {
		return 0, err
	}
	offset := int32(asyncPromise)
	if typ == h.Types.AsyncGenerator {
		word, err := h.Word(a, asyncQueue)
		if err != nil {
			return 0, err
		}
		request, ok := word.Object()
		if !ok {
			return 0, nil
		}
		if typ, err := h.Type(request); err != nil || typ == h.Types.Oddball {
			return 0, err
		}
		a, offset = request, requestPromise
	}
	word, err := h.Word(a, offset)
	if err != nil {
		return 0, err
	}
	return h.object(word, "promise", h.Types.Promise)
}

// reaction is what happens when the promise is fulfilled: an async function goes on, or another promise is fulfilled.
// Of several reactions none is followed: which of them matters cannot be said.
func (h Heap) reaction(promise mem.Addr) (generator, next mem.Addr, err error) {
	word, err := h.Word(promise, promiseReactions)
	if err != nil {
		return 0, 0, err
	}
	reaction, ok := word.Object()
	if !ok {
		return 0, 0, nil // nobody waits
	}
	if typ, err := h.Type(reaction); err != nil || typ != h.Types.PromiseReaction {
		return 0, 0, err // settled
	}
	if more, err := h.Word(reaction, h.Reaction.Next); err != nil || more != 0 {
		return 0, 0, err
	}
	return h.react(reaction)
}

// react is what the PromiseReaction at a does when its promise is fulfilled.
func (h Heap) react(a mem.Addr) (generator, next mem.Addr, err error) {
	word, err := h.Word(a, h.Reaction.Fulfill)
	if err != nil {
		return 0, 0, err
	}
	if closure, ok := word.Object(); ok {
		if g, ok := h.generatorOf(closure); ok {
			return g, 0, nil
		}
		if p, ok := h.capabilityOf(closure); ok {
			return 0, p, nil
		}
	}
	if word, err = h.Word(a, h.Reaction.Promise); err != nil {
		return 0, 0, err
	}
	next, _ = h.promiseIn(word)
	return 0, next, nil
}

// capabilityOf is the promise that a closure of Promise.all and its kin settles.
func (h Heap) capabilityOf(closure mem.Addr) (mem.Addr, bool) {
	if !h.isBuiltin(closure) {
		return 0, false
	}
	for i := contextExtension; i < contextElements; i++ {
		word, err := h.contextElement(closure, i)
		if err != nil {
			return 0, false
		}
		if a, err := h.object(word, "capability", h.Types.PromiseCapability); err == nil {
			return h.promiseIn(TagOf(a))
		}
	}
	return 0, false
}

// promiseIn is the promise that t refers to, or that of a PromiseCapability.
func (h Heap) promiseIn(t Tagged) (mem.Addr, bool) {
	a, err := h.object(t, "promise", h.Types.Promise, h.Types.PromiseCapability)
	if err != nil {
		return 0, false
	}
	if typ, err := h.Type(a); err == nil && typ == h.Types.Promise {
		return a, true
	}
	word, err := h.Word(a, capabilityPromise)
	if err != nil {
		return 0, false
	}
	a, err = h.object(word, "promise", h.Types.Promise)
	return a, err == nil
}

// Suspended is the function of the generator at a, and where it waits; offset -1 if that is not known. The generator,
// its closure and what that shares are to be words that were copied, as for [Heap.Awaiting]; the bytecode and its
// positions stay where they are mostly, and may be read later.
func (h Heap) Suspended(a mem.Addr) (Call, error) {
	function, err := h.SuspendedClosure(a)
	if err != nil {
		return Call{}, err
	}
	shared, err := h.FunctionAt(function)
	if err != nil {
		return Call{}, err
	}
	c := Call{shared, -1}
	biased, err := h.smi(a, generatorPosition, maxBytecode)
	if err != nil {
		return c, nil // it runs, or has ended
	}
	b, err := h.bytecodeOf(shared)
	if err != nil {
		return c, nil
	}
	offset, ok := h.BytecodeOffset(b, biased)
	if !ok {
		return c, nil
	}
	table, err := h.Table(b.Positions)
	if err != nil {
		return c, nil
	}
	if p, ok, err := h.PositionAt(table, offset); ok && err == nil {
		c.Offset = p.Offset
	}
	return c, nil
}

// SuspendedClosure is where the closure of the generator at a is.
func (h Heap) SuspendedClosure(a mem.Addr) (mem.Addr, error) {
	word, err := h.Word(a, generatorFunction)
	if err != nil {
		return 0, err
	}
	function, ok := word.Object()
	if !ok {
		return 0, fmt.Errorf("%w: the function of a generator is %#x", ErrMoved, uint64(word))
	}
	return h.Follow(function)
}

// SuspendedReceiver is what the function of the generator at a was called on.
func (h Heap) SuspendedReceiver(a mem.Addr) (Tagged, error) { return h.Word(a, generatorReceiver) }

// compiled is where a function has what it was compiled to: function_data, and trusted_function_data from V8 12.8 on.
const compiled = 8

// Runs reports whether s has been compiled to b.
func (h Heap) Runs(s Shared, b Bytecode) (bool, error) {
	word, err := h.Word(s.Addr, compiled)
	if err != nil || word == TagOf(b.Addr) {
		return err == nil, err
	}
	of, err := h.compiledTo(word)
	return err == nil && of.Addr == b.Addr, err
}

// bytecodeOf is the bytecode that s has been compiled to.
func (h Heap) bytecodeOf(s Shared) (Bytecode, error) {
	word, err := h.Word(s.Addr, compiled)
	if err != nil {
		return Bytecode{}, err
	}
	return h.compiledTo(word)
}

// compiledTo is the bytecode that word leads to, which baseline code, or an InterpreterData, does where it is none.
func (h Heap) compiledTo(word Tagged) (Bytecode, error) {
	b, err := h.BytecodeOf(word)
	if err == nil {
		return b, nil
	}
	a, ok := word.Object()
	if !ok {
		return Bytecode{}, ErrUnknown
	}
	if c, err := h.CodeOf(word); err == nil {
		return h.BytecodeOf(c.Deopt)
	}
	offset := int32(interpreterArray)
	if !h.Version.AtLeast(10, 0) {
		offset = baselineData
	}
	if word, err = h.Word(a, offset); err != nil {
		return Bytecode{}, err
	}
	return h.BytecodeOf(word)
}
