package v8

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// wasmFrame is the type of frames of WebAssembly.
const wasmFrame = "WasmFrame"

// wasmInstance is where such a frame has the instance, or its data, from its frame pointer.
// Source: WasmFrameConstants in src/execution/frame-constants.h.
const wasmInstance = -16

var errNoWasm = errors.New("the module of this WebAssembly is not found")

// wasmCode is the code of one function, an object of class WasmCode of V8: C++, which does not move.
type wasmCode struct {
	addr   mem.Addr
	start  mem.Addr
	size   int
	index  int32 // of the function, below 0 for a table of jumps and other code of no function
	module *wasmModule
	print  [wasmCodeSpan]byte
}

// wasmCodeSpan is how much of a WasmCode is read, bytes.
const wasmCodeSpan = 64

func (c *wasmCode) holds(pc mem.Addr) bool {
	return pc >= c.start && uint64(pc-c.start) < uint64(c.size)
}

// wasmModule is a compiled module, an object of class NativeModule of V8.
type wasmModule struct {
	addr  mem.Addr
	wire  mem.Addr // its binary
	size  int
	url   string // of its script, "" if not known
	names map[uint32]string
}

// wasm is what is known of the WebAssembly of one V8. What has been made at the address of a module that is gone has
// other code.
type wasm struct {
	modules sites.Recent[mem.Addr, *wasmModule]
	of      sites.Recent[heap.Tagged, *wasmModule] // by instance
	codes   []*wasmCode                            // ascending
}

// Bounds of what is remembered and searched.
const (
	maxWasmModules = 32 << 20 // bytes, of the names of their functions
	maxWasmCodes   = 1 << 14
	maxWasmObjects = 1 << 11 // on the way from an instance to its module
	nativeSpan     = 1 << 10 // of a NativeModule, bytes
	maxWasmTree    = 64      // steps down a balanced tree
	maxWasmNew     = 1 << 16
)

func newWasm(b *work.Budget) wasm {
	return wasm{modules: sites.NewRecent[mem.Addr, *wasmModule](b, maxWasmModules),
		of: sites.NewRecent[heap.Tagged, *wasmModule](b, maxWasmModules/64)}
}

// at returns the code that holds pc, nil if none does that was met.
func (w *wasm) at(pc mem.Addr) *wasmCode {
	i := sort.Search(len(w.codes), func(i int) bool { return w.codes[i].start > pc }) - 1
	if i < 0 || !w.codes[i].holds(pc) {
		return nil
	}
	return w.codes[i]
}

// keep remembers c in place of what was there.
func (w *wasm) keep(c *wasmCode) {
	if len(w.codes) >= maxWasmCodes {
		w.codes = nil
	}
	w.codes = slices.DeleteFunc(w.codes, func(o *wasmCode) bool {
		return o.start < c.start+mem.Addr(c.size) && c.start < o.start+mem.Addr(o.size)
	})
	i := sort.Search(len(w.codes), func(i int) bool { return w.codes[i].start > c.start })
	w.codes = slices.Insert(w.codes, i, c)
}

// identifyWasm names a frame of WebAssembly.
func (r *Runtime) identifyWasm(a *activation, v *view.View) (unwind.Site, error) {
	c, err := r.wasmCodeOf(a, v)
	if err != nil {
		return 0, err
	}
	if c.index < 0 {
		return r.stub(wasmFrame)
	}
	f := profile.Frame{Kind: profile.Wasm, Func: "wasm-function[" + strconv.Itoa(int(c.index)) + "]",
		File: c.module.url, Offset: uint64(a.pc - c.start)}
	if a.regs == nil {
		f.Offset++ // of the return address
	}
	if name := c.module.names[uint32(c.index)]; name != "" {
		if f.Func = name; strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
			f.Func, f.Linkage = symbol.Demangle(name), name
		}
	}
	return r.sites.of([]frame{{Frame: f}})
}

// isWasm reports whether f is a frame of WebAssembly, whose code has no object of the heap: its type says so, and its
// module has code at its PC.
func (r *Runtime) isWasm(f *unwind.Frame, a *area, v *view.View) bool {
	act := activation{area: a, pc: f.LookupPC(), fp: f.CFA - 2*wordSize}
	marker, ok := act.slot(v, r.layout.Frame.Context)
	if name, _ := r.layout.FrameType(int32(marker >> 1)); f.CFA == 0 || !ok || marker&1 != 0 || name != wasmFrame {
		return false
	}
	if _, err := r.wasmCodeOf(&act, v); err != nil {
		return false
	}
	r.prove(a)
	return true
}

// wasmCodeOf finds the code that a executes: what was met there before if it is the same, else by the instance of the
// frame, from which objects lead to the module, and this to all of its code.
func (r *Runtime) wasmCodeOf(a *activation, v *view.View) (*wasmCode, error) {
	if r.live == nil {
		return nil, errNoWasm
	}
	n := native{r.heap(v)}
	if c := r.wasm.at(a.pc); c != nil {
		if now, ok := n.Bytes(c.addr, wasmCodeSpan); !ok {
			return nil, n.Fault()
		} else if string(now) == string(c.print[:]) {
			return c, nil
		}
	}
	instance, ok := a.slot(v, wasmInstance)
	if !ok {
		return nil, errNoWasm
	}
	module, ok := r.wasm.of.Get(instance)
	var c *wasmCode
	if ok = ok && n.isBinary(module.wire); ok {
		c, ok = n.codeAt(module.addr, a.pc)
	}
	if !ok {
		var err error
		if module, err = r.wasmModuleOf(instance, &n); err != nil {
			return nil, err
		}
		if c, ok = n.codeAt(module.addr, a.pc); !ok {
			return nil, errors.New("its code is not found in its module")
		}
	}
	c.module = module
	r.wasm.keep(c)
	return c, nil
}

// wasmModuleOf is the module of an instance.
func (r *Runtime) wasmModuleOf(instance heap.Tagged, n *native) (*wasmModule, error) {
	found, ok := n.moduleOf(instance)
	if !ok {
		return nil, errNoWasm
	}
	w := &r.wasm
	m, ok := w.modules.Get(found.addr)
	if ok && m.wire == found.wire && m.size == found.size && m.url == found.url {
		found = m
	} else {
		var err error
		if found.names, err = wasmNames(n.View, found.wire, found.size); err != nil {
			return found, nil // those that were read; it is tried again
		}
		w.modules.Keep(found.addr, found, found.cost())
	}
	w.of.Keep(instance, found, 0)
	return found, nil
}

// cost is about how much memory m takes, bytes.
func (m *wasmModule) cost() int {
	n := len(m.url)
	for _, name := range m.names {
		n += len(name) + 32
	}
	return n
}
