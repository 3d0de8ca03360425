package cpython

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// maxLocalFrames bounds the frames of one thread whose local variables are read: the innermost.
const maxLocalFrames = 256

// frameList is addresses of frames that no thread runs. One may be in it twice.
type frameList []mem.Addr

// maxWaiting bounds the frames of tasks and greenlets whose local variables are read.
const maxWaiting = 1 << 13

func (l *frameList) add(a mem.Addr) {
	if a != 0 && len(*l) < maxWaiting {
		*l = append(*l, a)
	}
}

// LocalsCopier implements vm.LocalsReader.
func (r *Runtime) LocalsCopier() snapshot.ProcessCopier { return localsCopier{r} }

type localsCopier struct{ r *Runtime }

func (c localsCopier) String() string { return c.r.String() + " (local variables)" }

// Room implements [snapshot.ProcessCopier].
func (c localsCopier) Room() int { return 1 << 20 }

// CopyProcess implements [snapshot.ProcessCopier]: it copies what the local variables of the frames of all threads
// hold, as far as they are shown, and of tasks and greenlets that were copied before.
func (c localsCopier) CopyProcess(g *snapshot.Gatherer) {
	r := c.r
	m := newRounds(g.Gather)
	var frames []mem.Addr
	m.once = true
	for _, at := range r.roster.Load().states() {
		b, ok := m.Bytes(at, r.layout.Thread.Size)
		if !ok {
			continue
		}
		var ch chain
		ch.walk(r.layout, &m.view, r.layout.ThreadOf(at, b), maxLocalFrames)
		for i := range ch.frames {
			frames = append(frames, ch.frames[i].Addr)
		}
	}
	m.once = false
	for _, list := range []frameList{r.copied, r.green.copied} {
		slices.Sort(list)
		frames = append(frames, slices.Compact(list)...)
	}
	inRounds(m, frames, func(at mem.Addr) { r.variables(&m.view, at) })
}

// variables are the local variables of the frame at a, as m shows them.
func (r *Runtime) variables(m *view.View, a mem.Addr) (all []profile.Variable) {
	f, ok := r.layout.FrameAt(m, a)
	if !ok {
		return []profile.Variable{{Value: "could not be read"}}
	}
	whole := r.layout.Variables(m, &f, func(name string, value mem.Addr) bool {
		text, _ := r.layout.Repr(m, value)
		all = append(all, profile.Variable{Name: name, Value: text})
		return true
	})
	if !whole {
		all = append(all, profile.Variable{Value: "others could not be read"})
	}
	return all
}

// shownLocals is what is left for the local variables of one dump.
type shownLocals struct {
	of    *mem.Overlay // what was copied for that dump
	m     *view.View
	bytes int // of text
}

// maxLocalBytes bounds the text of all local variables of a dump.
const maxLocalBytes = 64 << 20

// Locals implements vm.LocalsReader.
func (r *Runtime) Locals(whole *mem.Overlay, s *unwind.Stack) map[int][]profile.Variable {
	left := &r.locals
	if left.of != whole {
		*left = shownLocals{whole, r.reading(whole, nil, maxCopiedSteps), maxLocalBytes}
	}
	var out map[int][]profile.Variable
	n := 0
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != unwind.Runtime(r) || f.Kept == 0 {
			continue
		}
		if n++; n > maxLocalFrames {
			break
		}
		var all []profile.Variable
		if left.bytes <= 0 || left.m.Refused() != nil {
			all = []profile.Variable{{Value: "left out: there are too many in all"}}
		} else {
			all = r.variables(left.m, f.Kept)
		}
		for i := range all {
			left.bytes -= len(all[i].Name) + len(all[i].Value)
		}
		if len(all) > 0 {
			if out == nil {
				out = map[int][]profile.Variable{}
			}
			out[i] = all
		}
	}
	return out
}
