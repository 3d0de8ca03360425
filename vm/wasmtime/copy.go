package wasmtime

import (
	"bytes"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of what is copied of one thread.
const (
	maxOnStack  = 150      // functions
	parentDepth = 64 << 10 // bytes of the stack that a fiber was resumed from
)

// onStack is the functions that a stack may have: those that its words return to.
type onStack struct {
	n     int
	image [maxOnStack]*image
	fn    [maxOnStack]*function
}

func (s *onStack) add(k *known, pc mem.Addr) {
	im := k.find(pc)
	if im == nil || s.n == maxOnStack {
		return
	}
	f := im.functionAt(pc)
	if f == nil {
		return
	}
	for i := s.n - 1; i >= 0; i-- {
		if s.fn[i] == f {
			return
		}
	}
	s.image[s.n], s.fn[s.n] = im, f
	s.n++
}

// Copy implements [snapshot.Copier]: of a thread that has WebAssembly on its stack it copies what the names of those
// functions rest on, what leads over frames of the host, and of a fiber the stack that it was resumed from.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	k := r.known.Load()
	w, pc := stackOf(t)
	if len(k.images) == 0 || t.Arch != k.images[0].arch {
		return
	}
	var s onStack
	s.add(k, pc)
	if link, ok := linkOf(t); ok {
		s.add(k, link-1)
	}
	for i := range w.count() {
		if a := w.code(i); a >= k.low && a < k.high {
			s.add(k, a-1)
		}
	}
	if s.n > 0 {
		s.copyProof(f)
		copyStores(k, w, f)
	}
	copyParent(k, w, f)
}

// copyProof copies headers, symbols and names.
func (s *onStack) copyProof(f *snapshot.Fetcher) {
	var wants [5 * maxOnStack]snapshot.Want
	n := 0
	for i := range s.n {
		im, fn := s.image[i], s.fn[i]
		if s.first(i) {
			wants[n] = snapshot.Want{Addr: im.base, Len: headerSize}
			wants[n+1] = snapshot.Want{Addr: im.tableAt, Len: len(im.table)}
			n += 2
		}
		wants[n] = snapshot.Want{Addr: im.symbolAt(fn.symbol), Len: symbolSize}
		wants[n+1] = snapshot.Want{Addr: im.nameAt(fn.name), Len: len(im.nameOf(fn))}
		n += 2
		if at, name, ok := im.fullOf(fn); ok {
			wants[n] = snapshot.Want{Addr: at, Len: len(name)}
			n++
		}
	}
	f.Fetch(wants[:n]...)
}

// first reports whether i is the first function of its image.
func (s *onStack) first(i int) bool {
	for j := range i {
		if s.image[j] == s.image[i] {
			return false
		}
	}
	return true
}

// verdict is what copied bytes say of an image.
type verdict uint8

const (
	notCopied verdict = iota
	same
	otherName  // of the function alone
	otherImage // headers or symbol are others
)

// compare compares what the name of fn rests on with what was copied, and returns the name that was.
func (im *image) compare(v *view.View, fn *function) (out verdict, name []byte) {
	out = against(v, im.base, im.header)
	out = worse(out, against(v, im.tableAt, im.table))
	switch b, ok := v.Bytes(im.symbolAt(fn.symbol), symbolSize); {
	case !ok:
		out = worse(out, notCopied)
	case order.Uint32(b) != fn.name, order.Uint64(b[8:]) != uint64(fn.start),
		order.Uint64(b[16:]) != uint64(fn.end-fn.start):
		out = otherImage
	}
	if at, full, ok := im.fullOf(fn); ok {
		out = worse(out, against(v, at, full))
	}
	want := im.nameOf(fn)
	name, ok := v.Bytes(im.nameAt(fn.name), len(want))
	switch {
	case !ok:
		out = worse(out, notCopied)
	case out == same && !bytes.Equal(name, want):
		out = otherName
	}
	return out, name
}

// against compares bytes of an image with what was copied.
func against(v *view.View, at mem.Addr, want []byte) verdict {
	switch b, ok := v.Bytes(at, len(want)); {
	case !ok:
		return notCopied
	case !bytes.Equal(b, want):
		return otherImage
	}
	return same
}

// worse is what two parts of an image say together.
func worse(a, b verdict) verdict {
	switch {
	case a == otherImage || b == otherImage:
		return otherImage
	case a == notCopied || b == notCopied:
		return notCopied
	}
	return same
}

// copyStores copies the contexts of the stores that the stack leads to.
func copyStores(k *known, w words, f *snapshot.Fetcher) {
	var candidates [maxCandidates]mem.Addr
	var wants [maxCandidates]snapshot.Want
	n := k.candidates(w, &candidates)
	for i, a := range candidates[:n] {
		wants[i] = snapshot.Want{Addr: a, Len: coreSize}
	}
	f.Fetch(wants[:n]...)
	stores := 0
	for _, a := range candidates[:n] {
		core, _ := f.Bytes(a, coreSize)
		if store, ok := storeOf(core); ok && stores < maxStores && !has(wants[:stores], store) {
			wants[stores] = snapshot.Want{Addr: store, Len: storeSize}
			stores++
		}
	}
	f.Fetch(wants[:stores]...)
}

func has(wants []snapshot.Want, a mem.Addr) bool {
	for i := range wants {
		if wants[i].Addr == a {
			return true
		}
	}
	return false
}

// copyParent copies the stack that a fiber was resumed from. Two words below the end of the fiber's own stack, which is
// that of a page, is where the stack pointer of the other was saved, at which registers and the return address are. The
// mapping of the stack may be too young to be known, or go on behind its end, as the kernel joins neighbours.
func copyParent(k *known, w words, f *snapshot.Fetcher) {
	const page, tries = 4096, 4
	tried, saved := 0, k.images[0].saved*8
	for end := w.start&^(page-1) + page; tried < tries; end += page {
		i, ok := w.index(end - 16)
		if !ok && end-16 >= w.start {
			return
		}
		if ok && saved > 0 && k.mayBeParent(w, w.at(i), saved) {
			tried++
			if k.copyFrom(w, w.at(i), saved, f) {
				return
			}
		}
	}
}

// mayBeParent reports whether sp can be the stack pointer of another stack than w, with that many bytes saved at it.
func (k *known) mayBeParent(w words, sp mem.Addr, saved int) bool {
	const rw = maps.Read | maps.Write
	m := k.table.Find(sp)
	_, own := w.index(sp)
	return sp%8 == 0 && m != nil && !own && m.Perm&rw == rw && m.End-sp > mem.Addr(saved)
}

// copyFrom copies the stack that was left at sp, if there is one.
func (k *known) copyFrom(w words, sp mem.Addr, saved int, f *snapshot.Fetcher) bool {
	if !f.Fetch(snapshot.Want{Addr: sp, Len: saved}) {
		return false
	}
	above := sp + mem.Addr(saved)
	link, _ := f.Word(above - 8)
	ra := mem.Addr(regs.StripPAC(link, w.signature))
	if m := k.table.Find(ra); m == nil || m.Perm&maps.Exec == 0 {
		return false
	}
	end := k.table.Find(sp).End
	f.Fetch(snapshot.Want{Addr: above, Len: int(min(end-above, parentDepth))})
	return true
}
