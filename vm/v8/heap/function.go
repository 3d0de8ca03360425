package heap

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Shared is what all closures of one function have in common, a SharedFunctionInfo. It is the identity of a function:
// while NameOrScope and Script at Addr are the same words, it is the same function. Objects of this kind are old and
// move seldom, but they can.
type Shared struct {
	Addr mem.Addr
	// NameOrScope is the name, or the ScopeInfo that has it: a function that runs has one.
	NameOrScope Tagged
	// Script is no Script for a builtin.
	Script Tagged
}

// sharedSpan is how much of a SharedFunctionInfo [Heap.SharedAt] reads.
const sharedSpan = 64

// IsFunction reports whether the object at a is a JSFunction.
func (h Heap) IsFunction(a mem.Addr) bool {
	typ, err := h.Type(a)
	return err == nil && h.isFunctionType(typ)
}

func (l *Layout) isFunctionType(typ uint16) bool {
	return typ >= l.Types.FirstFunction && typ <= l.Types.LastFunction
}

// FunctionAt reads what the closure at a shares with others. Closures are young and move: a is one that was copied,
// or that was found in the same stop.
func (h Heap) FunctionAt(a mem.Addr) (Shared, error) {
	if !h.IsFunction(a) {
		return Shared{}, fmt.Errorf("%w: the object at %#x is no function", ErrMoved, uint64(a))
	}
	word, err := h.Word(a, h.Function.Shared)
	if err != nil {
		return Shared{}, err
	}
	return h.SharedAt(word)
}

// SharedAt reads the SharedFunctionInfo that t refers to, or that of a SharedFunctionInfoWrapper.
func (h Heap) SharedAt(t Tagged) (Shared, error) {
	a, err := h.object(t, "function", h.Types.Shared, h.Types.SharedWrapper)
	if err != nil {
		return Shared{}, err
	}
	if typ, err := h.Type(a); err != nil {
		return Shared{}, err
	} else if typ != h.Types.Shared {
		word, err := h.Word(a, h.Shared.InWrapper)
		if err != nil {
			return Shared{}, err
		}
		if a, err = h.object(word, "function", h.Types.Shared); err != nil {
			return Shared{}, err
		}
	}
	var b [sharedSpan]byte
	if err := h.read(b[:], a, 0); err != nil {
		return Shared{}, err
	}
	word := func(offset int32) Tagged { return Tagged(binary.LittleEndian.Uint64(b[offset:])) }
	return Shared{Addr: a, NameOrScope: word(h.Shared.NameOrScope), Script: word(h.Shared.Script)}, nil
}

// Describe reads the name of s and where its text begins. Both are immutable; they are read from objects that may have
// moved since s was read, which the error says then.
//
// The name is the one that the source gives, else the one that V8 inferred from what the function was assigned to, as
// "ns.deep.fn"; "" for an anonymous function. Start is -1 where it is not known.
func (h Heap) Describe(s Shared) (name string, start int, err error) {
	if _, isInt := s.NameOrScope.Int(); isInt {
		return "", -1, nil
	}
	a, ok := s.NameOrScope.Object()
	if !ok {
		return "", -1, fmt.Errorf("%w: the name of the function at %#x is %#x", ErrMoved, uint64(s.Addr),
			uint64(s.NameOrScope))
	}
	typ, err := h.Type(a)
	switch {
	case err != nil:
		return "", -1, err
	case typ < h.Types.FirstNonstring:
		name, err = h.String(s.NameOrScope, MaxName)
		return name, -1, err
	case typ == h.Types.Scope:
		return h.scope(a)
	case typ == h.Types.Oddball:
		return "", -1, nil
	}
	return "", -1, fmt.Errorf("%w: the name of the function at %#x is an object of type %d", ErrMoved,
		uint64(s.Addr), typ)
}

// maxLocals bounds the local variables of a function that closures capture.
const maxLocals = 1 << 20

// scope reads name and start of a function out of its ScopeInfo. Behind the local variables come, for a function: its
// name, or 0, and a number; the inferred name, or undefined; and up to V8 12.7 start and end. For a script and eval it
// is start and end alone. A module has its number of variables in front of the locals.
// Source: src/objects/scope-info.tq.
func (h Heap) scope(a mem.Addr) (name string, start int, err error) {
	c := &h.Scope
	const slot = 8
	slotAt := func(i int) int32 { return int32(slot * (1 + i)) } // behind the map
	n, err := h.smi(a, slotAt(int(c.Locals)), maxLocals)
	if err != nil {
		return "", -1, err
	}
	at := int(c.FirstVars) + 2*n
	if n >= int(c.MaxInlined) {
		at = int(c.FirstVars) + 1 + n
	}
	words, err := h.behind(a, slotAt(at))
	if err != nil {
		return "", -1, err
	}
	name, names, err := h.firstName(words)
	if err != nil {
		return "", -1, err
	}
	start = -1
	if c.Positions > 0 {
		if v, err := h.smi(a, slotAt(int(c.Positions)), 1<<30); err == nil {
			start = v
		}
	} else if names < 0 || names+1 < len(words) {
		if v, ok := words[names+1].Int(); ok && v >= 0 {
			start = v
		}
	}
	return name, start, nil
}

// behind are the words at offset of the ScopeInfo at a, up to six: one at the end of a page of the heap has fewer.
func (h Heap) behind(a mem.Addr, offset int32) ([]Tagged, error) {
	const most, page = 6, 256 << 10 // src/common/globals.h
	left := page - int(a+mem.Addr(offset))%page
	return h.words(a, offset, min(most, left/8))
}

// firstName is the first string of words that is not empty, and the index of the last string or Oddball in front of
// the rest; -1 if there is none. Other objects belong to what comes behind the names.
func (h Heap) firstName(words []Tagged) (name string, last int, err error) {
	last = -1
	for i, w := range words {
		a, ok := w.Object()
		if !ok {
			continue
		}
		typ, err := h.Type(a)
		switch {
		case err != nil && name != "":
			return name, last, nil // not of this ScopeInfo any more
		case err != nil:
			return "", last, err
		case typ == h.Types.Oddball:
		case typ < h.Types.FirstNonstring:
			if name != "" {
				break
			}
			if name, err = h.String(w, MaxName); err != nil {
				return "", last, err
			}
		default:
			return name, last, nil
		}
		last = i
	}
	return name, last, nil
}
