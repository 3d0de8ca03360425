// Package node reads what Node.js keeps beside the heap of V8: what the handles of its event loop, its timers and its
// requests belong to, and which functions they call.
//
// The caller gives the symbols of the program, the heap of the process as it is now, which a thread that waits in its
// loop does not move, and names functions. Each object is what it is taken for by its type and by what refers to it.
package node

import (
	"cmp"
	"errors"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

const wordSize = 8

// Layout is how Node.js keeps what belongs to one instance of itself, of which each worker has one: objects of its
// C++ classes, which its symbols for debuggers describe. All addresses are of the process; 0 where a symbol is missing.
// Source: src/node_postmortem_metadata.cc, src/env.h, src/base_object.h and src/node_realm.h of Node.js.
type Layout struct {
	vtable, realm mem.Addr // of class Environment, and of PrincipalRealm, which has the functions from Node.js 18 on
	// Offsets that the program sets when it starts: where they are.
	persistent, requests, request, next mem.Addr
}

// virtual is where a vtable begins that objects refer to, bytes behind its symbol. Source: the Itanium C++ ABI, 2.5.2.
const virtual = 16

// Find looks up the symbols of Node.js, which are exported: symbol is where one is, 0 if it is not there, as in other
// programs.
func Find(symbol func(name string) mem.Addr) Layout {
	const offset = "nodedbg_offset_"
	l := Layout{
		vtable:     symbol("_ZTVN4node11EnvironmentE"),
		realm:      cmp.Or(symbol("_ZTVN4node14PrincipalRealmE"), symbol("_ZTVN4node5RealmE")),
		persistent: symbol(offset + "BaseObject__persistent_handle___v8_Persistent_v8_Object"),
		requests:   symbol(offset + "Environment__req_wrap_queue___Environment_ReqWrapQueue"),
		request:    symbol(offset + "ReqWrap__req_wrap_queue___ListNode_ReqWrapQueue"),
		next:       symbol(offset + "ListNode_ReqWrap__next___uintptr_t"),
	}
	if l.vtable != 0 {
		l.vtable += virtual
	}
	if l.realm != 0 {
		l.realm += virtual
	}
	return l
}

// Program names functions of JavaScript.
type Program interface {
	Function(shared heap.Shared, v *view.View) (Function, error)
}

// Function is a function, and where it is written.
type Function struct {
	Name  string // "" for none
	Shown string // what it is called if it has none, else Name
	Start int    // of its text in that of its script
	// Place gives a call the place of an offset in its script; nil if it has none.
	Place func(offset int, of *profile.Call)
}

// reading reads what Node.js keeps, from the process as it is now.
type reading struct {
	heap.Heap
	Layout
	program Program
	err     error // why less is known than could be
}

// sure calls f, whose reads all succeed where the heap is as it should be: the first that does not is n.err.
func (n *reading) sure(f func()) {
	before := n.Fault()
	if f(); n.err == nil && n.Fault() != before {
		n.err = n.Fault()
	}
}

// miss takes why a read failed that asks of something whether it is an object. Where it is none its words lead
// anywhere, and that nothing is mapped there answers it; another reason is n.err.
func (n *reading) miss(err error) {
	if n.err == nil && err != nil && !errors.Is(err, mem.ErrUnmapped) {
		n.err = err
	}
}

// maxOffset bounds an offset in one of the classes.
const maxOffset = 1 << 14

// offset reads an offset of a class.
func (n *reading) offset(at mem.Addr) (mem.Addr, bool) {
	if at == 0 {
		return 0, false
	}
	v, err := n.Word(at, 0)
	n.miss(err)
	return mem.Addr(v), err == nil && v < maxOffset
}

// objectOf is the JavaScript object that the BaseObject at a stands for: it has a in a field of its own.
func (n *reading) objectOf(a mem.Addr) (mem.Addr, bool) {
	offset, ok := n.offset(n.persistent)
	if !ok || a == 0 || a%wordSize != 0 {
		return 0, false
	}
	slot, err := n.Word(a, int32(offset))
	if n.miss(err); err != nil || slot == 0 {
		return 0, false
	}
	word, err := n.Word(mem.Addr(slot), 0)
	if n.miss(err); err != nil {
		return 0, false
	}
	before := n.Fault()
	object, ok := n.IsReceiver(word)
	if now := n.Fault(); now != before {
		n.miss(now)
	}
	if !ok {
		return 0, false
	}
	const first, last = 24, 48 // the header of an object, and of its fields those that refer to C++
	for at := int32(first); at <= last; at += wordSize {
		field, err := n.Word(object, at)
		if n.miss(err); err == nil && mem.Addr(field) == a {
			return object, true
		}
	}
	return 0, false
}

const (
	// environmentSpan is how much of an Environment and of a realm is searched, bytes.
	environmentSpan = 16 << 10
	// timersFile is the file of Node.js that has the timers.
	timersFile = "node:internal/timers"
)

// environmentOf is the Environment that the handle at a is a part of.
func (n *reading) environmentOf(handle mem.Addr) (mem.Addr, bool) {
	if n.vtable == 0 {
		return 0, false
	}
	const block = 512
	for end := handle; handle-end < environmentSpan; end -= block {
		words := n.block(end-block, block)
		for i := len(words) - 1; i >= 0; i-- {
			if mem.Addr(words[i]) == n.vtable {
				return end - block + mem.Addr(i*wordSize), true
			}
		}
	}
	return 0, false
}

// block reads words of memory, as many as can be read.
func (n *reading) block(a mem.Addr, size int) []uint64 {
	return view.WordsOf(n.UpTo(a, size))
}

// processTimers is the function that runs the timers of the Environment at a: one of the handles that it, or its realm,
// has of functions.
func (n *reading) processTimers(a mem.Addr) (mem.Addr, bool) {
	words := n.block(a, environmentSpan)
	if n.realm != 0 {
		for _, w := range words {
			if first, err := n.Word(mem.Addr(w), 0); w%wordSize == 0 && w > 1<<16 && err == nil &&
				mem.Addr(first) == n.realm {
				if f, ok := n.timersAmong(n.block(mem.Addr(w), environmentSpan)); ok {
					return f, true
				}
			}
		}
	}
	return n.timersAmong(words)
}

func (n *reading) timersAmong(handles []uint64) (mem.Addr, bool) {
	for _, w := range handles {
		if w%wordSize != 0 || w < 1<<16 {
			continue
		}
		word, err := n.Word(mem.Addr(w), 0)
		if err != nil || !heap.MayRefer(uint64(word)) {
			continue
		}
		function, _ := word.Object()
		if n.isNodes(function, "processTimers", timersFile) {
			return function, true
		}
	}
	return 0, false
}

// isNodes reports whether the object at a is a function of Node.js itself with that name, in that file.
func (n *reading) isNodes(a mem.Addr, name, file string) bool {
	shared, err := n.FunctionAt(a)
	if err != nil {
		return false
	}
	if got, _, err := n.Describe(shared); err != nil || got != name {
		return false
	}
	p, ok, err := n.ScriptOf(shared)
	return err == nil && ok && strings.TrimSuffix(p.Name, ".js") == file
}
