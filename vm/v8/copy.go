package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

const (
	// maxCopied bounds the functions, and the bytecode arrays, of one thread that are copied. A deep recursion has few
	// different ones.
	maxCopied = 128
	// functionHead, sharedHead and bytecodeHead are how much of each object is copied, bytes: up to the last field
	// that is read of it.
	functionHead = 48
	sharedHead   = 64
	bytecodeHead = 40
	// codeAround is how much is copied of the code around PC, bytes.
	codeAround = before + behind
)

// Copy implements [snapshot.Copier]: it copies the functions that the thread's frames belong to, what is common to all
// closures of each (SharedFunctionInfo), the heads of the bytecode arrays that are executed, and the code at PC.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	areas := r.areas.Load()
	if t.Arch != regs.AMD64 || len(areas.list) == 0 {
		return
	}
	var w wanted
	w.walk(areas, r, t)
	pc, fp, ok := innermost(t)
	if ok && areas.find(pc) != nil {
		w.add(pc-before, codeAround)
		w.frame(r, t, fp)
		if reg := numbered[r.layout.Registers.Function&15]; t.Registers != nil {
			function, _ := t.Registers.Get(reg)
			w.object(function, functionHead) // its frame may not be built yet
		}
	}
	if w.n == 0 {
		return
	}
	f.Fetch(w.list[:w.n]...)
	w.follow(f, r)
}

func innermost(t *snapshot.Thread) (pc, fp mem.Addr, ok bool) {
	if t.Registers == nil {
		return 0, 0, false
	}
	pc, _ = t.Registers.PC()
	fp, ok = t.Registers.FP()
	return pc, fp, ok
}

// wanted is what one thread needs.
type wanted struct {
	list [3 * maxCopied]snapshot.Want
	n    int
}

// add wants n bytes at a, once.
func (w *wanted) add(a mem.Addr, n int) {
	for i := w.n - 1; i >= 0; i-- {
		if w.list[i].Addr == a {
			return
		}
	}
	if w.n < 2*maxCopied {
		w.list[w.n] = snapshot.Want{Addr: a, Len: n}
		w.n++
	}
}

// object wants the head of the object that a tagged pointer leads to.
func (w *wanted) object(tagged uint64, head int) {
	if isHeapPointer(tagged) {
		w.add(mem.Addr(tagged-1), head)
	}
}

// walk looks on the stack for frame records that return into V8's code, and wants what the frames around them hold:
// those are chained, but for what C++ code between them has.
func (w *wanted) walk(areas *areas, r *Runtime, t *snapshot.Thread) {
	data, start := t.Stack.Data, t.Stack.Start
	for at := 0; at+2*wordSize <= len(data); {
		fp := mem.Addr(order.Uint64(data[at:]))
		here := start + mem.Addr(at)
		ra := mem.Addr(order.Uint64(data[at+wordSize:]))
		if ra < areas.low || ra >= areas.high || fp <= here || fp-here > maxFrame || fp%wordSize != 0 ||
			areas.find(ra-1) == nil {
			at += wordSize
			continue
		}
		w.frame(r, t, here)
		w.frame(r, t, fp)
		if next := fp - start; uint64(next) < uint64(len(data)) {
			at = int(next)
		} else {
			return
		}
	}
}

// frame wants what the slots of the frame at fp lead to.
func (w *wanted) frame(r *Runtime, t *snapshot.Thread, fp mem.Addr) {
	s := &r.layout.Frame
	marker, ok := stackWord(t, fp, s.Context)
	switch {
	case !ok:
		return
	case marker&1 == 0:
		if name, _ := r.layout.FrameType(int32(marker >> 1)); name == builtinExit {
			function, _ := stackWord(t, fp, exitTarget)
			w.object(function, functionHead)
		}
		return
	}
	function, _ := stackWord(t, fp, s.Function)
	w.object(function, functionHead)
	bytecode, _ := stackWord(t, fp, s.BytecodeArray)
	w.object(bytecode, bytecodeHead)
}

const (
	builtinExit = "BuiltinExitFrame"
	// exitTarget is where a BuiltinExitFrame has the JSFunction that was called, from its frame pointer.
	// Source: BuiltinExitFrameConstants in src/execution/frame-constants.h.
	exitTarget = 24
)

// stackWord is the word of the copied stack at offset from fp.
func stackWord(t *snapshot.Thread, fp mem.Addr, offset int32) (uint64, bool) {
	b, ok := t.Stack.Bytes(fp+mem.Addr(offset), wordSize)
	if !ok {
		return 0, false
	}
	return order.Uint64(b), true
}

// follow copies what the functions refer to: where one was moved by a garbage collection, its map word has the new
// address.
func (w *wanted) follow(f *snapshot.Fetcher, r *Runtime) {
	functions := w.n
	for i := range functions {
		if w.list[i].Len != functionHead {
			continue
		}
		if map_, ok := f.Word(w.list[i].Addr); ok && map_&3 == 0 && map_ != 0 {
			w.add(mem.Addr(map_), functionHead)
		}
	}
	if w.n > functions {
		f.Fetch(w.list[functions:w.n]...)
	}
	moved := w.n
	for i := range moved {
		if w.list[i].Len != functionHead {
			continue
		}
		if shared, ok := f.Word(w.list[i].Addr + mem.Addr(r.layout.Function.Shared)); ok && isHeapPointer(shared) {
			w.shared(mem.Addr(shared-1), moved)
		}
	}
	if w.n > moved {
		f.Fetch(w.list[moved:w.n]...)
	}
}

// shared wants a SharedFunctionInfo, once behind those from number first on.
func (w *wanted) shared(a mem.Addr, first int) {
	for i := first; i < w.n; i++ {
		if w.list[i].Addr == a {
			return
		}
	}
	if w.n < len(w.list) {
		w.list[w.n] = snapshot.Want{Addr: a, Len: sharedHead}
		w.n++
	}
}
