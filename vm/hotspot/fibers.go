package hotspot

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// virtualKind is what Java calls them.
const virtualKind = "virtual thread"

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return virtualKind }

// virtualSteps bounds what is read for all virtual threads.
const virtualSteps = 1 << 30

// OpenFibers implements vm.FiberLister: it learns where virtual threads are listed.
func (r *Runtime) OpenFibers() (present bool, err error) {
	j, known := r.jvm.Load(), r.roster.Load()
	if j == nil || j.version < firstVirtual || known.fields == nil {
		return false, nil
	}
	if r.virtual == nil {
		v := view.Lasting(r.live, r.budget) // not in blocks: what is read is kept with a snapshot
		v.Within(virtualSteps)
		l, err := r.readVirtual(&v, j)
		switch {
		case errors.Is(err, errNoVirtual):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("virtual threads cannot be listed: %w", err)
		}
		r.virtual = l
	}
	return true, nil
}

// Room implements [snapshot.ProcessCopier].
func (r *Runtime) Room() int { return r.virtualRoom }

// CopyProcess implements [snapshot.ProcessCopier]: the lists of virtual threads, their objects, and the chunks of the
// heap that have their stacks; with them the heads of the code and of the methods that these lead to.
func (r *Runtime) CopyProcess(g *snapshot.Gatherer) {
	j, known := r.jvm.Load(), r.roster.Load()
	if j == nil || r.virtual == nil || known.fields == nil {
		return
	}
	c := codeCopier{r: r, j: j, g: g, asked: map[mem.Addr]bool{}}
	reader := virtualReader{j: j, l: r.virtual, text: known.fields, left: maxVirtual, fetch: g.Gather,
		yield: func(block []virtualThread) {
			for i := range block {
				for k := range block[i].chunks {
					c.look(&block[i].chunks[k])
				}
			}
			c.copy()
		}}
	reader.read()
}

// codeCopier copies the heads of code and methods that words of stacks lead to, each once.
type codeCopier struct {
	r       *Runtime
	j       *jvm
	g       *snapshot.Gatherer
	asked   map[mem.Addr]bool // words that were seen
	places  []mem.Addr
	methods []mem.Addr
}

// maxAskedWords bounds the words that are remembered.
const maxAskedWords = 1 << 16

// look finds the words of c that may lead to code, and methods of frames of the interpreter: behind one are a word and
// how many words away its caller's stack pointer is.
func (c *codeCopier) look(k *chunk) {
	data := k.stack.Data
	for i := 0; i+wordSize <= len(data) && len(c.asked) < maxAskedWords; i += wordSize {
		a := mem.Addr(binary.LittleEndian.Uint64(data[i:]))
		if ra := c.r.unsigned(uint64(a)); c.j.made(ra) {
			if !c.j.interprets(ra) && !c.asked[ra] {
				c.asked[ra] = true
				c.places = append(c.places, ra-1)
			}
			continue
		}
		if i+3*wordSize > len(data) || a < 1<<16 || a%wordSize != 0 || c.asked[a] {
			continue
		}
		if sender := binary.LittleEndian.Uint64(data[i+2*wordSize:]); sender > 1 && sender < maxFrame/wordSize {
			c.asked[a] = true
			c.methods = append(c.methods, a)
		}
	}
}

// copy copies what was found.
func (c *codeCopier) copy() {
	var wants []snapshot.Want
	for _, pc := range c.places {
		if h := c.j.heapOf(pc); h != nil && c.r.known.start(c.j, pc) == 0 {
			at, back := h.Segments(pc)
			wants = append(wants, snapshot.Want{Addr: at - mem.Addr(back), Len: back + 1})
		}
	}
	got, _ := c.g.Gather(wants)
	segments := view.Copied(nil, rangesOf(wants, got)...)
	wants = wants[:0]
	for _, pc := range c.places {
		start := c.r.known.start(c.j, pc)
		if h := c.j.heapOf(pc); start == 0 && h != nil {
			at, ok := c.j.code.BlobBy(h, pc, func(a mem.Addr) (byte, bool) {
				n, err := segments.Uint(a, 1)
				return byte(n), err == nil
			})
			if start = at; !ok {
				start = 0
			}
		}
		if start != 0 && start != c.j.nowhere() {
			wants = append(wants, snapshot.Want{Addr: start, Len: c.j.code.HeadSize})
		}
	}
	for _, m := range c.methods {
		wants = append(wants, snapshot.Want{Addr: m, Len: c.j.meta.MethodHead()})
	}
	c.g.Gather(wants)
	c.places, c.methods = c.places[:0], c.methods[:0]
}

// rangesOf are the ranges that were got of those that were wanted.
func rangesOf(wants []snapshot.Want, got [][]byte) (all []mem.Range) {
	for i, b := range got {
		if b != nil {
			all = append(all, mem.Range{Start: wants[i].Addr, Data: b})
		}
	}
	return all
}

// Fibers implements vm.FiberLister: virtual threads that no thread runs, in the order in which they were made.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	j, known := r.jvm.Load(), r.roster.Load()
	if j == nil || r.virtual == nil || known.fields == nil {
		return nil, nil
	}
	whole := view.Copied(r.budget, s.Whole...)
	whole.Within(virtualSteps)
	r.parked = map[uint64]*virtualThread{}
	r.whole = mem.NewOverlay(nil, s.Whole...)
	var fibers []snapshot.Fiber
	of := virtualLocks{g: r.waiters(j, s), virtual: map[mem.Addr]*virtualThread{}}
	reader := virtualReader{j: j, l: r.virtual, text: known.fields, left: maxVirtual,
		fetch: func(wants []snapshot.Want) ([][]byte, bool) {
			out := make([][]byte, len(wants))
			for i, w := range wants {
				if w.Len > 0 {
					if b, ok := whole.Bytes(w.Addr, w.Len); ok {
						out[i] = append([]byte(nil), b...)
					}
				}
			}
			return out, whole.Refused() == nil
		},
		yield: func(block []virtualThread) {
			for i := range block {
				t := &block[i]
				of.virtual[t.at] = t
				if f, ok := fiberOf(t); ok {
					r.parked[f.ID] = t
					fibers = append(fibers, f)
				}
			}
		}}
	reader.read()
	for i := range fibers {
		of.say(&fibers[i], r.parked[fibers[i].ID])
	}
	r.virtualRoom = len(fibers) * usualVirtual
	slicesByID(fibers)
	if reader.lost > 0 {
		return fibers, fmt.Errorf("some virtual threads are left out: they were not copied within the time and the " +
			"memory for it")
	}
	return fibers, nil
}

// slicesByID puts fibers into the order of their numbers, in which they were made.
func slicesByID(fibers []snapshot.Fiber) {
	slices.SortFunc(fibers, func(a, b snapshot.Fiber) int { return cmp.Compare(a.ID, b.ID) })
}

// States of virtual threads while no thread runs them, as Java's own dumps call them, and what they wait for then.
// Source: java/lang/VirtualThread.java.
var virtualStates = map[int]struct {
	text string
	wait snapshot.FiberWait
}{
	1: {"started", snapshot.FiberRuns}, 4: {"parked", ""}, 7: {"parked with a time limit", ""},
	9: {"runnable", snapshot.FiberRuns}, 11: {"runnable", snapshot.FiberRuns}, 13: {"blocked", snapshot.FiberLock},
	14: {"runnable", snapshot.FiberRuns}, 16: {"waiting", snapshot.FiberCond},
	18: {"waiting with a time limit", snapshot.FiberCond},
}

const suspended = 1 << 8 // a bit of the state

// fiberOf is t as a fiber, false if a thread runs it, or it has ended.
func fiberOf(t *virtualThread) (f snapshot.Fiber, ok bool) {
	state, ok := virtualStates[t.state&^suspended]
	if !ok {
		return f, false
	}
	f = snapshot.Fiber{Kind: virtualKind, ID: t.id, Name: t.name, State: state.text, Wait: state.wait}
	if len(t.chunks) == 0 {
		f.Missing = "it has not begun"
		if t.cut {
			f.Missing = "its stack was not copied"
		}
	}
	return f, true
}

// usualVirtual is about what is copied of a virtual thread, bytes.
const usualVirtual = 1 << 10

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) {
	j, t := r.jvm.Load(), r.parked[id]
	if j == nil || t == nil {
		to.Stop = unwind.NoContext
		return
	}
	v := view.Over(r.whole, r.live, r.budget)
	v.Within(stackSteps)
	r.stackOf(j, &v, t, to)
}
