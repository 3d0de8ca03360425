package hotspot

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// Bounds of what is copied of one thread.
const (
	maxCopied = 192 // blobs, and methods
	maxAsked  = 3 * maxCopied / 2
	// atOnce is how much of a stack is searched before it is asked whether there is time for more, bytes.
	atOnce = 16 << 10
	// callBytes is what is copied before a return address, to see what it has called.
	callBytes = 16
)

// Copy implements [snapshot.Copier]: it copies the heads of the blobs that words on the stack lead to, which say what
// code it is and how large its frames are; the begin of the methods of interpreted frames; and the code at PC.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	j := r.jvm.Load()
	if t.Arch != r.port.arch || j == nil {
		return
	}
	r.signs(t)
	w := wanted{r: r, j: j, thread: r.roster.Load().byID[t.InnerTID()].at}
	pc, sp := mem.Addr(0), t.Stack.Start
	if t.Registers != nil {
		pc, _ = t.Registers.PC()
		sp, _ = t.Registers.SP()
	}
	if j.made(pc) {
		w.innermost(t, pc, sp)
	}
	w.stack(f, t.Stack, sp)
	w.copy(f)
}

// wanted is what one thread needs.
type wanted struct {
	r       *Runtime
	j       *jvm
	thread  mem.Addr // its JavaThread, which functions of the JVM have where a method may be; 0 if it is not known
	places  [maxCopied]mem.Addr
	n       int
	methods [maxCopied]mem.Addr
	m       int
	asked   [maxAsked]snapshot.Want
	k       int
}

func (w *wanted) ask(a mem.Addr, n int) {
	if w.k < len(w.asked) {
		w.asked[w.k] = snapshot.Want{Addr: a, Len: n}
		w.k++
	}
}

// innermost wants what tells how far a frame is built: code, and where assembly runs the calls that may have led there.
func (w *wanted) innermost(t *snapshot.Thread, pc, sp mem.Addr) {
	w.place(pc)
	if w.j.interprets(pc) { // that never changes
		called, _ := t.Registers.Get(w.r.port.method)
		w.method(mem.Addr(called))
		return
	}
	p := w.r.port
	w.ask(pc-mem.Addr(p.before), p.before+p.behind)
	if !w.j.stubs(pc) {
		return
	}
	for i := range scanned {
		b, ok := t.Stack.Bytes(sp+mem.Addr(i*wordSize), wordSize)
		if !ok {
			return
		}
		if ra := w.r.unsigned(binary.LittleEndian.Uint64(b)); w.j.made(ra) {
			w.ask(ra-callBytes, callBytes)
		}
	}
}

// stack wants what the words of a stack from sp on may return to, until there is no room for more or no time.
func (w *wanted) stack(f *snapshot.Fetcher, stack mem.Range, sp mem.Addr) {
	data, at, low, high, mask := stack.Data, stack.Start, w.j.low, w.j.high, w.r.pac.Load()
	if skip := sp - at; sp > at && uint64(skip) < uint64(len(data)) {
		data, at = data[skip:], sp // what is below is left over
	}
	for i := 0; i+wordSize <= len(data); i += wordSize {
		if i%atOnce == 0 && f.Late() {
			return
		}
		a := mem.Addr(regs.StripPAC(binary.LittleEndian.Uint64(data[i:i+wordSize]), mask))
		if a-low >= high-low {
			continue
		}
		if !w.j.interprets(a) {
			w.place(a - 1)
		}
		if i >= 4*wordSize {
			w.frame(data[i-4*wordSize:], at+mem.Addr(i-wordSize))
		}
	}
}

// frame wants the method of the interpreted frame with that frame pointer, if it may be one: before it on the stack are
// the method, a word, and the stack pointer of its caller. words begin with the method.
func (w *wanted) frame(words []byte, fp mem.Addr) {
	method := mem.Addr(binary.LittleEndian.Uint64(words))
	sender := mem.Addr(binary.LittleEndian.Uint64(words[2*wordSize:]))
	if w.r.port.resetsSP { // it may have been below
		sender = max(sender, fp+wordSize)
	}
	if sender > fp && sender-fp < maxFrame && sender%wordSize == 0 {
		w.method(method)
	}
}

// method wants the method at a, once.
func (w *wanted) method(a mem.Addr) {
	const lowest = 1 << 16
	if a < lowest || a%wordSize != 0 || a == w.thread || w.m == len(w.methods) {
		return
	}
	for i := w.m - 1; i >= 0; i-- {
		if w.methods[i] == a {
			return
		}
	}
	w.methods[w.m] = a
	w.m++
}

// place wants the blob that a is in, once.
func (w *wanted) place(a mem.Addr) {
	if w.n == len(w.places) || w.j.interprets(a) {
		return
	}
	for i := w.n - 1; i >= 0; i-- {
		if w.places[i] == a {
			return
		}
	}
	w.places[w.n] = a
	w.n++
}

// copy copies, by one read where all is known: the heads of blobs, and the methods. Where a blob is not known its begin
// is looked up first.
func (w *wanted) copy(f *snapshot.Fetcher) {
	var starts [maxCopied]mem.Addr
	unknown := 0
	for i, pc := range w.places[:w.n] {
		if starts[i] = w.r.known.start(w.j, pc); starts[i] == w.j.nowhere() {
			starts[i] = 0
		} else if starts[i] == 0 {
			unknown++
			if h := w.j.heapOf(pc); h != nil {
				at, back := h.Segments(pc)
				w.ask(at-mem.Addr(back), back+1)
			}
		}
	}
	if unknown > 0 {
		f.Fetch(w.asked[:w.k]...)
		w.k = 0
		for i, pc := range w.places[:w.n] {
			if starts[i] == 0 {
				starts[i] = w.find(f, pc)
			}
		}
	}
	for i, a := range starts[:w.n] {
		if a != 0 && !in(starts[:i], a) {
			w.ask(a, w.j.code.HeadSize)
		}
	}
	for _, a := range w.methods[:w.m] {
		w.ask(a, w.j.meta.MethodHead())
	}
	f.Fetch(w.asked[:w.k]...)
}

// find is where the blob begins that pc is in, by what was copied; 0 if that does not say. It is remembered.
func (w *wanted) find(f *snapshot.Fetcher, pc mem.Addr) mem.Addr {
	h := w.j.heapOf(pc)
	if h == nil {
		return 0
	}
	start, ok := w.j.code.BlobBy(h, pc, func(a mem.Addr) (byte, bool) {
		b, ok := f.Bytes(a, 1)
		if !ok {
			return 0, false
		}
		return b[0], true
	})
	if !ok {
		start = w.j.nowhere() // what is left over on the stack leads to code that is gone
	}
	w.r.known.add(w.j, pc, start)
	if !ok {
		return 0
	}
	return start
}

func in(list []mem.Addr, a mem.Addr) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == a {
			return true
		}
	}
	return false
}
