package wasmtime

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// ThreadFacts implements vm.ThreadDescriber: of which store the WebAssembly on a stack is, where the context of that
// store says so. It has where WebAssembly was entered last: a stack pointer or frame pointer of the glue through which
// an activation was. When that ends what was there before is put back. Of an activation that another one of the same
// store lies upon nothing is said: what was known of it is among the words of the host.
//
// Which instance a frame is of cannot be told from outside. A function may keep its vmctx in any register or slot, or
// drop it after its last use, as most do before a call in their tail, and nothing in the compiled module says where; a
// vmctx beside it may be that of what it calls.
//
// Source: last_wasm_entry_sp and last_wasm_entry_fp of VMStoreContext (VMRuntimeLimits up to release 30) in
// crates/wasmtime/src/runtime/vm/vmcontext.rs, CallThreadState in traphandlers.rs.
func (r *Runtime) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	k, out := r.known.Load(), map[int]profile.RuntimeThread{}
	if len(k.images) == 0 {
		return out
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Arch != k.images[0].arch {
			continue
		}
		var facts []string
		for _, store := range r.entered(k, t) {
			facts = append(facts, fmt.Sprintf("WebAssembly of store %#x", uint64(store)))
		}
		if len(facts) > 0 {
			out[t.TID] = profile.RuntimeThread{Language: "WebAssembly", Facts: facts}
		}
	}
	return out
}

// entered are the stores whose contexts, as they were copied, have where an activation on the stack of t was entered.
func (r *Runtime) entered(k *known, t *snapshot.Thread) (stores []mem.Addr) {
	w, pc := stackOf(t)
	v := view.Copied(r.budget, t.Copied...)
	var candidates [maxCandidates]mem.Addr
	for _, a := range candidates[:k.candidates(w, &candidates)] {
		core, _ := v.Bytes(a, coreSize)
		store, ok := storeOf(core)
		if !ok || slices.Contains(stores, store) {
			continue
		}
		context, _ := v.Bytes(store, storeSize)
		from := k.exits(w, context, nil)
		if fp, ok := framePointer(t); ok && len(from) == 0 && k.find(pc) != nil {
			from = append(from, passage{pc: pc + 1, fp: fp})
		}
		for _, p := range from {
			if end, ok := k.end(w, p.pc, p.fp); ok && names(context, w.addr(end-1)) {
				stores = append(stores, store)
				break
			}
		}
	}
	return stores
}

func framePointer(t *snapshot.Thread) (mem.Addr, bool) {
	if t.Registers == nil {
		return 0, false
	}
	return t.Registers.FP()
}

// glueFrame bounds the frame of the glue through which WebAssembly is entered, below its frame pointer, bytes.
const glueFrame = 256

// names reports whether the context of a store has an address in the frame of glue whose frame pointer is fp.
func names(context []byte, fp mem.Addr) bool {
	for ; len(context) >= 8; context = context[8:] {
		if a := mem.Addr(order.Uint64(context)); a <= fp && fp-a < glueFrame {
			return true
		}
	}
	return false
}
