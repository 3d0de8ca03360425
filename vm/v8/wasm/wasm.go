// Package wasm finds the code of WebAssembly that V8 runs, and what its functions are called.
//
// The caller gives the heap of the process as it is now, and the instance that a frame keeps. What is found is
// remembered, and compared each time. It knows no stack.
package wasm

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/work"
)

// ErrNone says that no code of WebAssembly is found.
var ErrNone = errors.New("the module of this WebAssembly is not found")

// Code is the code of one function, an object of class WasmCode of V8: C++, which does not move.
type Code struct {
	addr   mem.Addr
	start  mem.Addr
	size   int
	index  int32 // of the function, below 0 for a table of jumps and other code of no function
	module *module
	print  [codeSpan]byte
}

// codeSpan is how much of a WasmCode is read, bytes.
const codeSpan = 64

func (c *Code) holds(pc mem.Addr) bool {
	return pc >= c.start && uint64(pc-c.start) < uint64(c.size)
}

// module is a compiled module, an object of class NativeModule of V8.
type module struct {
	addr  mem.Addr
	wire  mem.Addr // its binary
	size  int
	url   string // of its script, "" if not known
	names map[uint32]string
	// missing says why names are less than there are, "" if they are not.
	missing string
}

// Codes is what is known of the WebAssembly of one V8. What has been made at the address of a module that is gone has
// other code. It is for one goroutine at a time.
type Codes struct {
	modules sites.Recent[mem.Addr, *module]
	of      sites.Recent[heap.Tagged, *module] // by instance
	codes   []*Code                            // ascending
}

// Bounds of what is remembered and searched.
const (
	maxModules = 32 << 20 // bytes, of the names of their functions
	maxCodes   = 1 << 14
	maxObjects = 1 << 11 // on the way from an instance to its module
	nativeSpan = 1 << 10 // of a NativeModule, bytes
	maxTree    = 64      // steps down a balanced tree
	maxNew     = 1 << 16
)

// New returns one that knows nothing yet, whose memory is b's.
func New(b *work.Budget) Codes {
	return Codes{modules: sites.NewRecent[mem.Addr, *module](b, maxModules),
		of: sites.NewRecent[heap.Tagged, *module](b, maxModules/64)}
}

// At returns the code that holds pc, nil if none does that was met.
func (c *Codes) At(pc mem.Addr) *Code {
	i := sort.Search(len(c.codes), func(i int) bool { return c.codes[i].start > pc }) - 1
	if i < 0 || !c.codes[i].holds(pc) {
		return nil
	}
	return c.codes[i]
}

// keep remembers x in place of what was there.
func (c *Codes) keep(x *Code) {
	if len(c.codes) >= maxCodes {
		c.codes = nil
	}
	c.codes = slices.DeleteFunc(c.codes, func(o *Code) bool {
		return o.start < x.start+mem.Addr(x.size) && x.start < o.start+mem.Addr(o.size)
	})
	i := sort.Search(len(c.codes), func(i int) bool { return c.codes[i].start > x.start })
	c.codes = slices.Insert(c.codes, i, x)
}

// Of finds the code at pc: what was met there before if it is the same, else by the instance of the frame, from which
// objects lead to the module, and this to all of its code. instance is false where the frame does not have it.
func (c *Codes) Of(h heap.Heap, pc mem.Addr, instance func() (heap.Tagged, bool)) (*Code, error) {
	n := native{h}
	if known := c.At(pc); known != nil {
		if now, ok := n.Bytes(known.addr, codeSpan); !ok {
			return nil, n.Fault()
		} else if string(now) == string(known.print[:]) {
			return known, nil
		}
	}
	from, ok := instance()
	if !ok {
		return nil, ErrNone
	}
	m, ok := c.of.Get(from)
	var found *Code
	if ok = ok && n.isBinary(m.wire); ok {
		found, ok = n.codeAt(m.addr, pc)
	}
	if !ok {
		var err error
		if m, found, err = c.moduleOf(from, pc, &n); err != nil {
			return nil, err
		}
	}
	found.module = m
	c.keep(found)
	return found, nil
}

const noteScript = "the script of its module is not found"

// Frame is the frame that executes c at pc, a return address unless it was interrupted; false if c is of no function.
func (c *Code) Frame(pc mem.Addr, interrupted bool) (profile.Frame, bool) {
	f := profile.Frame{Kind: profile.Wasm, Func: "wasm-function[" + strconv.Itoa(int(c.index)) + "]",
		File: c.module.url, Offset: uint64(pc - c.start)}
	if f.Note = c.module.missing; f.File == "" {
		f.Note = cmp.Or(f.Note, noteScript)
	}
	if !interrupted {
		f.Offset++ // pc is in the call
	}
	if name := c.module.names[uint32(c.index)]; name != "" {
		if f.Func = name; strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
			f.Func, f.Linkage = symbol.Demangle(name), name
		}
	}
	return f, c.index >= 0
}

// moduleOf is the module of an instance, and its code that holds pc.
func (c *Codes) moduleOf(instance heap.Tagged, pc mem.Addr, n *native) (*module, *Code, error) {
	found, code := n.moduleOf(instance, pc)
	if found == nil {
		return nil, nil, ErrNone
	}
	m, ok := c.modules.Get(found.addr)
	if ok && m.wire == found.wire && m.size == found.size && m.url == found.url {
		found = m
	} else {
		var err error
		if found.names, err = functionsOf(n.View, found.wire, found.size); err != nil {
			found.missing = "names of its module cannot be read: " + err.Error()
			return found, code, nil // with those that were read; it is tried again
		}
		c.modules.Keep(found.addr, found, found.cost())
	}
	if found.url != "" {
		c.of.Keep(instance, found, 0)
	}
	return found, code, nil
}

// cost is about how much memory m takes, bytes.
func (m *module) cost() int {
	n := len(m.url)
	for _, name := range m.names {
		n += len(name) + 32
	}
	return n
}
