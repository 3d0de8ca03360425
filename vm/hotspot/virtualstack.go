package hotspot

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/view"
)

// heapFrames walks the frames of a chunk. They lie there as on a stack, but what a frame of the interpreter has of
// addresses in it is how many words they are away, as the chunk may be moved.
// Source: src/hotspot/share/runtime/stackChunkFrameStream.inline.hpp, stackChunkFrameStream_x86.inline.hpp.
type heapFrames struct {
	r   *Runtime
	j   *jvm
	v   *view.View // what was copied, over what runs
	end mem.Addr   // of the chunk
}

var errChunk = errors.New("what is in the heap is no stack of a virtual thread")

// maxHeapFrames bounds the frames of one virtual thread.
const maxHeapFrames = 1 << 14

// walk gives yield the frames of c, innermost first, until it returns false.
func (h *heapFrames) walk(c *chunk, yield func(a *activation) bool) error {
	h.end = c.stack.End()
	sp, real := c.sp, c.sp // real is the stack pointer that the caller of adapters had
	for range maxHeapFrames {
		pc, err := h.v.Word(sp - wordSize)
		if err != nil {
			return err
		}
		a := activation{pc: h.r.unsigned(pc), at: h.r.unsigned(pc), sp: sp}
		from := sp
		if h.j.interprets(a.pc) {
			sp, real, err = h.interpreted(&a, sp)
		} else {
			real, err = h.compiled(&a, real)
			sp = real
		}
		switch {
		case err != nil:
			return err
		case sp <= from:
			return errChunk
		case !yield(&a) || sp >= h.end:
			return nil
		}
	}
	return errChunk
}

// interpreted leaves a frame of the interpreter.
func (h *heapFrames) interpreted(a *activation, sp mem.Addr) (next, real mem.Addr, err error) {
	link := sp - 2*wordSize
	fp, err := h.relative(link, link)
	if err != nil {
		return 0, 0, err
	}
	if fp >= h.end {
		return 0, 0, errChunk
	}
	f := h.v.Fields(fp)
	a.method, a.bcp = f.Addr(methodSlot), f.Addr(-int64(h.j.bcpSlot))
	if f.Err != nil {
		return 0, 0, f.Err
	}
	locals, err := h.relative(fp-(h.j.bcpSlot-wordSize), fp)
	if err != nil {
		return 0, 0, err
	}
	if locals+wordSize >= h.end { // the outermost
		return h.end, h.end, nil
	}
	real, err = h.relative(fp-wordSize, fp)
	return fp + 2*wordSize, real, err
}

// relative is the address as many words above from as the word at an address says.
func (h *heapFrames) relative(at, from mem.Addr) (mem.Addr, error) {
	w, err := h.v.Word(at)
	if err != nil {
		return 0, err
	}
	a := from + mem.Addr(w*wordSize)
	if n := int64(w); n <= 0 || n > maxFrame/wordSize {
		return 0, errChunk
	}
	return a, nil
}

// compiled leaves a frame of a compiled method, or of a stub that has a size.
func (h *heapFrames) compiled(a *activation, sp mem.Addr) (mem.Addr, error) {
	b, err := h.r.blobAt(h.v, h.j, a.pc)
	if err != nil {
		return 0, err
	}
	if a.blob = b; b.FrameSize < wordSize {
		return 0, errChunk
	}
	if b.Kind == codecache.Compiled && (a.pc == b.Code.Deopt[0] || a.pc == b.Code.Deopt[1]) {
		at, err := h.v.Word(sp + mem.Addr(b.Code.OrigPC))
		if err != nil || mem.Addr(at) < b.Begin || mem.Addr(at) >= b.End {
			return 0, errors.Join(err, errChunk)
		}
		a.at = mem.Addr(at)
	}
	return sp + mem.Addr(b.FrameSize), nil
}

// stackOf makes the stack of t.
func (r *Runtime) stackOf(j *jvm, v *view.View, t *virtualThread, to *unwind.Stack) {
	h := heapFrames{r: r, j: j, v: v}
	to.Stop = unwind.Root
	for i := range t.chunks {
		err := h.walk(&t.chunks[i], func(a *activation) bool {
			f := unwind.Frame{PC: a.pc, Origin: unwind.ByRuntime}
			p, unsure, err := r.identify(j, a, &f, v)
			if f.Runtime, f.Site, f.Note = r, p.site, p.note; err != nil {
				f.Runtime, f.Note = nil, "not named: "+r.String()+": "+err.Error()
			} else if all := r.list(p.site); len(all) > 0 {
				f.Stub = all[0].Stub
			}
			if unsure && p.site != 0 {
				f.Unsure, f.Note = true, joined(f.Note, lateNote)
			}
			to.Frames = append(to.Frames, f)
			return len(to.Frames) < maxHeapFrames
		})
		if len(to.Frames) >= maxHeapFrames {
			to.Stop, to.Err = unwind.DepthLimit, fmt.Errorf("limit of %d frames", maxHeapFrames)
			return
		}
		if err != nil && !t.chunks[i].cut {
			to.Stop, to.Err = unwind.NoRule, err
			return
		}
	}
	if t.cut {
		to.Stop, to.Err = unwind.ReadFault, errors.New("older frames of the virtual thread were not copied")
	}
}
