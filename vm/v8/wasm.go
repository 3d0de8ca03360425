package v8

import (
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/v8/wasm"
	"github.com/fpstack/fpstack/vm/view"
)

// wasmFrame is the type of frames of WebAssembly.
const wasmFrame = "WasmFrame"

// wasmInstance is where such a frame has the instance, or its data, from its frame pointer.
// Source: WasmFrameConstants in src/execution/frame-constants.h.
const wasmInstance = -16

// identifyWasm names a frame of WebAssembly.
func (r *Runtime) identifyWasm(a *activation, v *view.View) (unwind.Site, error) {
	c, err := r.wasmCodeOf(a, v)
	if err != nil {
		return 0, err
	}
	f, ok := c.Frame(a.pc, a.regs != nil)
	if !ok {
		return r.stub(wasmFrame)
	}
	return r.sites.of([]frame{{Frame: f}})
}

// isWasm reports whether f is a frame of WebAssembly, whose code has no object of the heap: its type says so, and its
// module has code at its PC. An error says that this is not known.
func (r *Runtime) isWasm(f *unwind.Frame, a *area, v *view.View) (bool, error) {
	act := activation{area: a, pc: f.LookupPC(), fp: f.CFA - 2*wordSize}
	before := v.Fault()
	marker, ok := act.slot(v, r.layout.Frame.Context)
	name, _ := r.layout.FrameType(int32(marker >> 1))
	if is := f.CFA != 0 && ok && marker&1 == 0 && name == wasmFrame; is {
		if _, err := r.wasmCodeOf(&act, v); err == nil {
			r.prove(a)
			return true, nil
		}
	}
	if fault := v.Fault(); fault != before && f.CFA != 0 && (!ok || name == wasmFrame) {
		return false, fault
	}
	return false, nil
}

// wasmCodeOf finds the code that a executes.
func (r *Runtime) wasmCodeOf(a *activation, v *view.View) (*wasm.Code, error) {
	if r.live == nil {
		return nil, wasm.ErrNone
	}
	return r.wasm.Of(r.heap(v), a.pc, func() (heap.Tagged, bool) { return a.slot(v, wasmInstance) })
}
