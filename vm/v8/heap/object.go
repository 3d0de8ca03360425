package heap

import (
	"fmt"
	"math"
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Key is the name of a property.
type Key struct {
	Name string
	// Symbol says that Name is the description of a symbol, which private names (#heap) are, too.
	Symbol bool
}

// maxKey bounds the name of a property that [Heap.Properties] reads, UTF-16 units; longer ones are left out.
const maxKey = 256

// Properties calls f with each named property of the JavaScript object at a until that returns false. Objects move and
// change: what is read while the process runs is to be checked by who knows what it should be.
func (h Heap) Properties(a mem.Addr, f func(k Key, value Tagged) bool) error {
	return h.properties(a, func(key, value Tagged) bool {
		k, ok := h.key(key)
		return !ok || f(k, value)
	})
}

func (h Heap) key(t Tagged) (k Key, ok bool) {
	a, ok := t.Object()
	if !ok {
		return k, false
	}
	typ, err := h.Type(a)
	if err != nil {
		return k, false
	}
	if typ == h.Types.Symbol {
		k.Symbol = true
		if t, err = h.Word(a, h.SymbolName); err != nil {
			return k, false
		}
	} else if typ >= h.Types.FirstNonstring {
		return k, false
	}
	k.Name, err = h.String(t, maxKey)
	return k, err == nil
}

// PropertyOf is the property of the object at a with the string key name.
func (h Heap) PropertyOf(a mem.Addr, name string) (value Tagged, ok bool) {
	_ = h.properties(a, func(k, v Tagged) bool {
		if h.isString(k, name) {
			value, ok = v, true
		}
		return !ok
	})
	return value, ok
}

// IsReceiver reports whether t refers to an object of JavaScript that may have properties, and where that is.
func (h Heap) IsReceiver(t Tagged) (mem.Addr, bool) {
	a, ok := t.Object()
	return a, ok && h.isReceiver(a)
}

// ClassOf is the name of the class that the object at a is an instance of: that of the property "constructor" of its
// nearest prototype that has one.
func (h Heap) ClassOf(a mem.Addr) (string, bool) {
	for range maxPrototypes {
		shape, err := h.mapOf(a)
		if err != nil {
			return "", false
		}
		next, err := h.Word(shape, h.Map.Prototype)
		if err != nil {
			return "", false
		}
		var ok bool
		if a, ok = h.IsReceiver(next); !ok {
			return "", false
		}
		if name, ok := h.className(a); ok {
			return name, true
		}
	}
	return "", false
}

// Number is the value of a number.
func (h Heap) Number(t Tagged) (float64, bool) {
	if n, ok := t.Int(); ok {
		return float64(n), true
	}
	a, err := h.object(t, "number", h.Types.HeapNumber)
	if err != nil {
		return 0, false
	}
	v, err := h.uint(a, h.NumberValue, 8)
	return math.Float64frombits(v), err == nil
}

// Bool is the value of true or false.
func (h Heap) Bool(t Tagged) (value, ok bool) {
	a, err := h.object(t, "boolean", h.Types.Oddball)
	if err != nil {
		return false, false
	}
	const no, yes = 0, 1
	kind, err := h.smi(a, h.OddballKind, yes)
	return kind == yes, err == nil && kind >= no
}

// Text is the value of a string of at most most UTF-16 units.
func (h Heap) Text(t Tagged, most int) (string, bool) {
	a, ok := t.Object()
	if !ok {
		return "", false
	}
	if typ, err := h.Type(a); err != nil || typ >= h.Types.FirstNonstring {
		return "", false
	}
	s, err := h.String(t, most)
	return s, err == nil
}

// Elements are those of the array that t refers to, which has them in one piece, at most most.
func (h Heap) Elements(t Tagged, most int) ([]Tagged, error) {
	const length = 24 // of a JSArray; src/objects/js-array.tq
	a, err := h.object(t, "array", h.Types.Array)
	if err != nil {
		return nil, err
	}
	n, err := h.smi(a, length, most)
	if err != nil {
		return nil, err
	}
	word, err := h.Word(a, h.ObjectElements)
	if err != nil {
		return nil, err
	}
	store, err := h.object(word, "elements", h.Types.FixedArray)
	if err != nil {
		return nil, err
	}
	if held, err := h.length(store, math.MaxInt32); err != nil || held < n {
		return nil, fmt.Errorf("%w: an array of %d has %d elements: %w", ErrMoved, n, held, err)
	}
	return h.words(store, h.ArrayData, n)
}

// BoundTo is the function that a bound function calls, and what it calls it on.
func (h Heap) BoundTo(t Tagged) (target, this Tagged, ok bool) {
	const at = 24 // of the target; the receiver is next. src/objects/js-function.tq
	a, err := h.object(t, "bound function", h.Types.BoundFunction)
	if err != nil {
		return 0, 0, false
	}
	words, err := h.words(a, at, 2)
	if err != nil {
		return 0, 0, false
	}
	return words[0], words[1], true
}

// Context are the words of the context of the closure at function, and of those around it, innermost first, at most
// depth of them.
func (h Heap) Context(function mem.Addr, depth int) ([][]Tagged, error) {
	const previous = 1 // src/objects/contexts.h
	if !h.IsFunction(function) {
		return nil, fmt.Errorf("%w: the object at %#x is no function", ErrMoved, uint64(function))
	}
	word, err := h.Word(function, h.Function.Context)
	var out [][]Tagged
	for err == nil && len(out) < depth {
		a, ok := word.Object()
		if !ok {
			break
		}
		if typ, err := h.Type(a); err != nil || typ < h.Types.FirstContext || typ > h.Types.LastContext {
			break
		}
		n, err := h.length(a, maxLocals)
		if err != nil {
			return out, err
		}
		words, err := h.words(a, h.ArrayData, min(n, maxProperties))
		if err != nil {
			return out, err
		}
		if out = append(out, words); len(words) <= previous {
			break
		}
		word = words[previous]
	}
	return out, err
}

// Uncompiled is where the text of s begins and its name, if it is a function that has not run yet, or not lately:
// that has no ScopeInfo. It is false for any other.
func (h Heap) Uncompiled(s Shared) (name string, start int, ok bool) {
	const trusted = 8 // trusted_function_data, from V8 12.8 on; the same as function_data before
	for _, offset := range []int32{trusted, h.Shared.Data} {
		word, err := h.Word(s.Addr, offset)
		if err != nil {
			continue
		}
		a, isObject := word.Object()
		if !isObject {
			continue
		}
		typ, err := h.Type(a)
		if err != nil || typ == 0 || !slices.Contains(h.Types.Uncompiled[:], typ) {
			continue
		}
		at, err := h.uint(a, h.Shared.UncompiledStart, 4)
		if err != nil || at > 1<<30 {
			continue
		}
		if word, err = h.Word(a, h.Shared.UncompiledName); err == nil {
			name, _ = h.Text(word, MaxName)
		}
		return name, int(at), true
	}
	return "", -1, false
}
