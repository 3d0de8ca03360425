package wasm

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

const wordSize = 8

// order is that of x86-64, as a type that costs no call.
var order = binary.LittleEndian

// maxCode bounds the instructions of one function, bytes.
const maxCode = 2 << 20

// native reads what V8 keeps of WebAssembly in objects of C++. No symbol describes those; each is what it is taken for
// by what refers to what: a NativeModule to the binary of its module, which begins as all do, and to its code, a
// WasmCode to its NativeModule and to instructions around the PC. Where a WasmCode has its other fields depends on the
// version: seen in Node.js 18 to 26. Sources: src/wasm/wasm-code-manager.h and src/objects/managed.h of V8.
type native struct{ heap.Heap }

// codeFields are offsets in a WasmCode.
type codeFields struct{ size, index int32 }

const (
	codeModule = 0 // in a WasmCode: its NativeModule
	codeBegin  = 8
)

func (n *native) fields() codeFields {
	switch v := n.Version; {
	case v.AtLeast(13, 0):
		return codeFields{32, 56}
	case v.AtLeast(12, 8):
		return codeFields{24, 48}
	case v.AtLeast(11, 0):
		return codeFields{24, 44}
	}
	return codeFields{32, 48}
}

// words reads n words at a, as many as can be read.
func (n *native) words(a mem.Addr, count int) []uint64 {
	return view.WordsOf(n.UpTo(a, count*wordSize))
}

// isNative reports whether w may be the address of an object of C++.
func isNative(w uint64) bool { return w%wordSize == 0 && w > 1<<16 && w < heap.Space }

// moduleOf finds the NativeModule of an instance, and its code that holds pc: one of the objects that the instance
// leads to is a Managed, which refers to what releases the module, and this to a shared pointer to it. There may be
// several for one module; its script refers to one of them. The code proves it: next to freed memory lies now and
// then what refers to the binary of the module too.
func (n *native) moduleOf(instance heap.Tagged, pc mem.Addr) (*module, *Code) {
	const depth, head, rest = 4, 64, 20 // words of the instance, and of other objects
	at, ok := instance.Object()
	if !ok {
		return nil, nil
	}
	seen, ring := map[mem.Addr]bool{at: true}, []mem.Addr{at}
	managed := map[uint64]bool{}
	var found *module
	var code *Code
	var scripts []mem.Addr
	for range depth {
		var next []mem.Addr
		for _, a := range ring {
			span := rest
			if a == at {
				span = head
			}
			words := n.words(a, span)
			if m, ok := n.managed(words); ok {
				if found == nil {
					if code, ok = n.codeAt(m.addr, pc); ok {
						found = m
					}
				}
				managed[uint64(heap.TagOf(a))] = found != nil && found.addr == m.addr
			}
			if typ, err := n.Type(a); err == nil && typ == n.Types.Script {
				scripts = append(scripts, a)
				continue
			}
			for _, w := range words {
				if t := mem.Addr(w - 1); heap.MayRefer(w) && !seen[t] && len(seen) < maxObjects {
					seen[t] = true
					next = append(next, t)
				}
			}
		}
		ring = next
	}
	for _, a := range scripts {
		if url, ok := n.scriptWith(a, managed); ok && found != nil {
			found.url = url
		}
	}
	return found, code
}

// managed is the module that an object refers to if it is a Managed.
func (n *native) managed(object []uint64) (*module, bool) {
	const address, pointer = 1, 3 // words of a Foreign, and of what it refers to
	if len(object) <= address || !isNative(object[address]) {
		return nil, false
	}
	destructor := n.words(mem.Addr(object[address]), pointer+1)
	if len(destructor) <= pointer || !isNative(destructor[pointer]) {
		return nil, false
	}
	shared := n.words(mem.Addr(destructor[pointer]), 1)
	if len(shared) == 0 || !isNative(shared[0]) {
		return nil, false
	}
	return n.nativeModule(mem.Addr(shared[0]))
}

// nativeModule reads the NativeModule at a, false if there is none: it refers to the binary of a module and to code
// that refers to it.
func (n *native) nativeModule(a mem.Addr) (*module, bool) {
	const most = 1 << 30
	var found *module
	code := false
	for _, w := range n.words(a, nativeSpan/wordSize) {
		if !isNative(w) {
			continue
		}
		p := n.words(mem.Addr(w), 2)
		if len(p) < 2 {
			continue
		}
		code = code || p[0] == uint64(a) && isHeapAligned(p[1])
		if found == nil && p[1] >= 8 && p[1] < most && n.isBinary(mem.Addr(p[0])) {
			found = &module{addr: a, wire: mem.Addr(p[0]), size: int(p[1])}
		}
	}
	return found, found != nil && code
}

// isHeapAligned reports whether w may be where instructions begin.
func isHeapAligned(w uint64) bool { return w != 0 && w%16 == 0 && w < heap.Space }

// isBinary reports whether the binary of a module is at a.
func (n *native) isBinary(a mem.Addr) bool {
	b, ok := n.Bytes(a, 4)
	return ok && string(b) == "\x00asm"
}

// scriptWith is the name of the script at a, if that refers to one of the Managed.
func (n *native) scriptWith(a mem.Addr, managed map[uint64]bool) (string, bool) {
	const span = 20
	for _, w := range n.words(a, span) {
		if managed[w] {
			p, ok, err := n.ScriptOf(heap.Shared{Script: heap.TagOf(a)})
			return p.Name, ok && err == nil
		}
	}
	return "", false
}

// code reads the WasmCode at a of the module.
func (n *native) code(a, module mem.Addr) (*Code, bool) {
	c := &Code{addr: a}
	if _, err := n.ReadMem(c.print[:], a); err != nil {
		return nil, false
	}
	f := n.fields()
	c.start = mem.Addr(order.Uint64(c.print[codeBegin:]))
	c.size = int(int32(order.Uint32(c.print[f.size:])))
	c.index = int32(order.Uint32(c.print[f.index:]))
	return c, mem.Addr(order.Uint64(c.print[codeModule:])) == module && c.size > 0 && c.size < maxCode &&
		c.index < maxFunctions
}

// codeAt finds the code of the module that holds pc: it keeps its code in a tree by address, and what is new in a list.
func (n *native) codeAt(module, pc mem.Addr) (*Code, bool) {
	words := n.words(module, nativeSpan/wordSize)
	for i := 0; i+2 < len(words); i++ {
		if isNative(words[i]) && i > 0 {
			header := module + mem.Addr((i-1)*wordSize)
			if c, ok := n.inTree(mem.Addr(words[i]), header, module, pc); ok {
				return c, true
			}
		}
		if c, ok := n.inList(words[i:i+3], module, pc); ok {
			return c, true
		}
		if isNative(words[i]) {
			if c, ok := n.code(mem.Addr(words[i]), module); ok && c.holds(pc) {
				return c, true
			}
		}
	}
	return nil, false
}

// inTree looks for pc in the map whose header is at header and whose root is at root, from the address of code to the
// WasmCode. Source: _Rb_tree_node_base in bits/stl_tree.h of libstdc++.
func (n *native) inTree(root, header, module, pc mem.Addr) (*Code, bool) {
	const parent, left, right, key, value, node = 1, 2, 3, 4, 5, 6 // words
	at, from := root, header
	var best mem.Addr
	for range maxTree {
		w := n.words(at, node)
		if len(w) < node || mem.Addr(w[parent]) != from {
			break
		}
		next := w[left]
		if mem.Addr(w[key]) <= pc {
			best, next = mem.Addr(w[value]), w[right]
		}
		if !isNative(next) {
			break
		}
		from, at = at, mem.Addr(next)
	}
	if best == 0 {
		return nil, false
	}
	c, ok := n.code(best, module)
	return c, ok && c.holds(pc)
}

// inList looks for pc in a vector of WasmCodes: where it begins and ends, and the end of its memory.
func (n *native) inList(vector []uint64, module, pc mem.Addr) (*Code, bool) {
	begin, end := vector[0], vector[1]
	if !isNative(begin) || !isNative(end) || end <= begin || end > vector[2] || vector[2]-begin > maxNew*wordSize {
		return nil, false
	}
	all := n.words(mem.Addr(begin), int(end-begin)/wordSize)
	for i, w := range all {
		if !isNative(w) {
			return nil, false
		}
		c, ok := n.code(mem.Addr(w), module)
		if !ok && i == 0 {
			return nil, false // of something else
		}
		if ok && c.holds(pc) {
			return c, true
		}
	}
	return nil, false
}
