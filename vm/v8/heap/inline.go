package heap

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Call is a function and a place in its text, one of those that share a frame of optimised code.
type Call struct {
	Shared Shared
	Offset int // in its script, UTF-16 units from 0; -1 if it is not known
}

// maxInlined bounds the calls that are inlined at one place. TurboFan's limits allow for fewer than a hundred.
const maxInlined = 256

// Calls are the functions that the optimised code c runs at p, the position of its program counter, innermost first:
// those that were inlined there, and the one that c was made of, which comes last. The deoptimisation data that say so
// do not change while the code is alive.
//
// What was found comes with an error, too: those in front of the gap. Source: class DeoptimizationData in
// src/objects/deoptimization-data.h, SourcePosition::InliningStack in src/codegen/source-position.cc.
func (h Heap) Calls(c Code, p Position) ([]Call, error) {
	d, err := h.deoptData(c.Deopt)
	if err != nil {
		return nil, err
	}
	var calls []Call
	for p.Inlining > 0 {
		if len(calls) == maxInlined {
			return calls, fmt.Errorf("more than %d calls are inlined into one another", maxInlined)
		}
		function, at, err := d.inlining(p.Inlining)
		if err != nil {
			return calls, err
		}
		if at.Inlining >= p.Inlining { // a call is numbered after the one that it is inlined into
			return calls, fmt.Errorf("%w: the inlined call %d is inlined into call %d", ErrMoved, p.Inlining,
				at.Inlining)
		}
		shared, err := d.shared(function)
		if err != nil {
			return calls, err
		}
		calls = append(calls, Call{shared, p.Offset})
		p = at
	}
	outer, err := d.shared(outermost)
	if err != nil {
		return calls, err
	}
	return append(calls, Call{outer, p.Offset}), nil
}

// CodeFunction is the function that the optimised code c was made of.
func (h Heap) CodeFunction(c Code) (Shared, error) {
	d, err := h.deoptData(c.Deopt)
	if err != nil {
		return Shared{}, err
	}
	return d.shared(outermost)
}

// outermost stands for the function that is optimised itself.
const outermost = -1

type deoptData struct {
	Heap
	at mem.Addr
	n  int // elements
}

// maxDeopt bounds the elements of deoptimisation data, of literals and of inlining positions.
const maxDeopt = 1 << 20

// deoptData checks the array by its elements: its type is that of a FixedArray of one of three kinds, of which two
// have no symbols.
func (h Heap) deoptData(t Tagged) (deoptData, error) {
	a, ok := t.Object()
	if !ok {
		return deoptData{}, fmt.Errorf("%w: deoptimisation data are %#x", ErrMoved, uint64(t))
	}
	n, err := h.length(a, maxDeopt)
	if err != nil {
		return deoptData{}, err
	}
	if n == 0 {
		return deoptData{}, fmt.Errorf("%w: the code has no deoptimisation data", ErrUnknown)
	}
	return deoptData{h, a, n}, nil
}

func (d *deoptData) get(index int32) (Tagged, error) { return d.element(d.at, int(index), d.n) }

// inlining reads entry number of the inlining positions, from 1: where the call is, and which function is called. An
// entry is a position of 8 bytes and an int32, in 16 bytes.
func (d *deoptData) inlining(number int) (function int, at Position, err error) {
	word, err := d.get(d.Deopt.Inlining)
	if err != nil {
		return 0, at, err
	}
	a, err := d.object(word, "table of inlining positions", d.Types.ByteArray, d.Types.TrustedByteArray)
	if err != nil {
		return 0, at, err
	}
	n, err := d.Heap.length(a, maxTable)
	if err != nil {
		return 0, at, err
	}
	const size = 16
	if number*size > n {
		return 0, at, fmt.Errorf("%w: there are %d bytes of inlining positions, not %d", ErrMoved, n, number*size)
	}
	var b [size]byte
	if err := d.read(b[:], a, d.ArrayData+int32((number-1)*size)); err != nil {
		return 0, at, err
	}
	at = positionOf(binary.LittleEndian.Uint64(b[:]))
	return int(int32(binary.LittleEndian.Uint32(b[8:]))), at, nil
}

// shared reads the function of that number: the first literals are the functions that are inlined.
func (d *deoptData) shared(function int) (Shared, error) {
	if function == outermost {
		word, err := d.get(d.Deopt.Shared)
		if err != nil {
			return Shared{}, err
		}
		return d.SharedAt(word)
	}
	word, err := d.get(d.Deopt.InlinedCount)
	if err != nil {
		return Shared{}, err
	}
	if n, ok := word.Int(); !ok || function < 0 || function >= n {
		return Shared{}, fmt.Errorf("%w: inlined function %d of %#x", ErrMoved, function, uint64(word))
	}
	if word, err = d.get(d.Deopt.Literals); err != nil {
		return Shared{}, err
	}
	literals, ok := word.Object()
	if !ok {
		return Shared{}, fmt.Errorf("%w: literals of optimised code are %#x", ErrMoved, uint64(word))
	}
	n, err := d.Heap.length(literals, maxDeopt)
	if err != nil {
		return Shared{}, err
	}
	if word, err = d.element(literals, function, n); err != nil {
		return Shared{}, err
	}
	return d.SharedAt(word)
}
