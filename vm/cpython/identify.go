package cpython

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// Identify implements [unwind.Identifier]. It puts the frames of Python into s, those of one call of the eval loop in
// front of its native frame, and marks the interpreter's own frames.
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, memory mem.Reader) {
	if !r.reads(t) || len(s.Frames) == 0 {
		return
	}
	m := r.stopped(t, memory)
	chains, known := r.chainsOf(t, m)
	p := placing{r: r, native: s.Frames, memory: m, whole: s.Stop == unwind.Root}
	for i := range chains {
		p.place(&chains[i])
	}
	p.noteBegun(chains)
	switch {
	case len(p.inserts) > 0:
		r.markPlumbing(s.Frames, &p)
		s.Frames = p.merge()
	case slices.ContainsFunc(chains, func(c chain) bool { return c.unset }):
		r.noteMissing(s, noteUnset, true)
	case !known:
		o := r.roster.Load()
		r.noteMissing(s, noteMissed, len(t.Copied) == 0 || o.partial || o.of(t) != 0)
	case len(chains) > 0:
		r.noteMissing(s, noteMissed, true)
	default: // of a thread that has just begun the state may be read where that of another was
		r.noteMissing(s, noteMissed, false)
	}
}

// stopped is what was copied of t, out of the memory that it is walked in.
func (r *Runtime) stopped(t *snapshot.Thread, memory mem.Reader) *view.View {
	o, ok := memory.(*mem.Overlay)
	if !ok {
		o = mem.NewOverlay(nil, slices.Concat([]mem.Range{t.Stack}, t.Copied)...)
	}
	return r.reading(o, nil, maxCopiedSteps)
}

// noteMissing says at the innermost call of the eval loop why its frames of Python are missing. Where most of that has
// no symbol, as where a compiler has split it, it is said at the innermost frame of the interpreter without one, if
// there must be frames of Python.
func (r *Runtime) noteMissing(s *unwind.Stack, why string, must bool) {
	if len(r.roster.Load().interps) == 0 {
		return
	}
	code := r.functions()
	for _, k := range []kind{evalLoop, nameless} {
		for i := range s.Frames {
			if code.kindAt(r.m, &s.Frames[i]) == k {
				note(&s.Frames[i], why)
				s.Frames[i].Gap = true
				return
			}
		}
		if !must {
			return
		}
	}
}

// chainsOf reads the chains of the states of t that were copied, as far as frames of Python are on them: of no more
// states than are copied of a thread. known says whether there was a state of t.
func (r *Runtime) chainsOf(t *snapshot.Thread, m *view.View) (out []chain, known bool) {
	stack := ownStack(t)
	var seen []mem.Addr
	for i := range t.Copied {
		c := &t.Copied[i]
		if len(seen) > maxStates || !m.Spend(1) {
			break
		}
		if len(c.Data) != r.layout.Thread.Size || slices.Contains(seen, c.Start) {
			continue
		}
		state := r.layout.ThreadOf(c.Start, c.Data)
		if !r.runsState(t, m, &state, stack) {
			continue
		}
		known = true
		seen = append(seen, c.Start)
		var ch chain
		ch.walkOn(r.layout, m, state, stack)
		if len(ch.frames) > 0 || ch.cut || ch.unset {
			out = append(out, ch)
		}
	}
	return out, known
}

// insert is frames of Python that come in front of native frame number at.
type insert struct {
	at     int
	anchor mem.Addr
	frames []unwind.Frame
	eval   bool // that frame is the call of the eval loop that runs them
}

// placing finds out where frames of Python belong among the native ones.
type placing struct {
	r       *Runtime
	native  []unwind.Frame
	memory  *view.View // what was copied
	whole   bool       // the walk reached the root
	inserts []insert
}

// Notes of frames.
const (
	noteMissed = "frames of Python are missing: what they need was not copied while the thread was stopped"
	noteUnset  = "frames of Python are missing: this call of the eval loop has just begun, or they were not copied"
	noteCut    = "callers may be missing: not all of the chain of frames was copied"
	noteLine   = "not known: CPython: the line, as what says where it executes is none of its code, or was not copied"
	noteRoom   = "not named: CPython: no room for more names"
	noteCode   = "not named: CPython: its code object was not copied whole while the thread was stopped"
	noteLost   = "the native frame that runs it was not found"
	noteCount  = "placed by the number of calls of the eval loop, which does not fit the frames"
	noteParent = "frames of Python are not known here: a parent greenlet, or an interpreter that is left"
)

// place places the frames of one chain.
func (p *placing) place(c *chain) {
	if c.bare {
		p.placeByCount(c)
	} else {
		p.placeByAnchor(c)
	}
	if n := len(p.inserts); c.cut && n > 0 {
		last := p.inserts[n-1].frames
		note(&last[len(last)-1], noteCut)
		last[len(last)-1].Gap = true
	}
}

// placeByAnchor puts each group in front of the native frame that its anchor lies in.
func (p *placing) placeByAnchor(c *chain) {
	from := 0
	for i := range c.groups {
		g := &c.groups[i]
		at, eval := p.holding(g.anchor, from)
		if g.anchor == 0 {
			at, eval = p.ending(from)
		}
		frames := p.frames(c, g)
		switch {
		case eval && p.whole && g.anchor != 0:
			p.r.learn(&p.native[at], g.anchor)
		case !eval && len(frames) > 0:
			note(&frames[0], noteLost)
		}
		p.add(insert{at, g.anchor, frames, eval})
		from = at
	}
}

// noteBegun says at calls of the eval loop that have just begun that their frames are missing.
func (p *placing) noteBegun(chains []chain) {
	for i := range chains {
		if a := chains[i].begun; a != 0 {
			if at, ok := p.holding(a, 0); ok {
				note(&p.native[at], noteUnset)
				p.native[at].Gap = true
			}
		}
	}
}

func (p *placing) add(i insert) {
	if len(i.frames) > 0 {
		p.inserts = append(p.inserts, i)
	}
}

// holding returns the native frame, number from or above, that holds the address a of the stack; false if there is
// none: then it is that before which such a frame would be.
func (p *placing) holding(a mem.Addr, from int) (at int, ok bool) {
	for i := from; i < len(p.native); i++ {
		f := &p.native[i]
		if f.SP <= a && a < f.CFA {
			return i, true
		}
	}
	at = len(p.native)
	for i := len(p.native) - 1; i >= from && p.native[i].SP > a; i-- {
		at = i
	}
	return at, false
}

// ending returns the next native frame of the eval loop, number from or above: a call that ends gives up its CFrame
// (3.10) before its frame.
func (p *placing) ending(from int) (at int, ok bool) {
	code := p.r.functions()
	for i := from; i < len(p.native); i++ {
		if code.kindAt(p.r.m, &p.native[i]) == evalLoop {
			return i, true
		}
	}
	return from, false
}

// placeByCount pairs frames with the native frames of the eval loop (3.8, 3.9; 3.10 where a call has just begun), the
// oldest first: such a call may have none yet.
func (p *placing) placeByCount(c *chain) {
	var evals []int
	code := p.r.functions()
	for i := range p.native {
		if code.kindAt(p.r.m, &p.native[i]) == evalLoop {
			evals = append(evals, i)
		}
	}
	// Where frames of either are missing at the old end the newest are paired.
	extra := len(evals) - len(c.groups)
	uneven := c.cut || extra < 0 || extra > 1
	for i := range c.groups {
		frames := p.frames(c, &c.groups[i])
		if len(frames) == 0 {
			continue
		}
		k := i + extra
		if uneven {
			k = i
			note(&frames[0], noteCount)
		}
		if k < 0 || k >= len(evals) {
			p.add(insert{len(p.native), 0, frames, false})
			continue
		}
		p.add(insert{evals[k], 0, frames, true})
	}
}

// frames are the frames of g as a walk has them.
func (p *placing) frames(c *chain, g *group) []unwind.Frame {
	out := make([]unwind.Frame, 0, g.to-g.from)
	for i := g.from; i < g.to; i++ {
		if f, ok := p.r.pythonFrame(p.memory, &c.frames[i]); ok {
			out = append(out, f)
		}
	}
	return out
}

func note(f *unwind.Frame, text string) {
	if f.Note != "" {
		text = f.Note + "; " + text
	}
	f.Note = text
}

// merge is the native frames with those of Python in front of theirs.
func (p *placing) merge() []unwind.Frame {
	// Several chains on one stack do not overlap, and the stack grows down.
	slices.SortStableFunc(p.inserts, func(a, b insert) int { return a.at - b.at })
	n := len(p.native)
	for i := range p.inserts {
		n += len(p.inserts[i].frames)
	}
	out, from := make([]unwind.Frame, 0, n), 0
	for i := range p.inserts {
		in := &p.inserts[i]
		out = append(out, p.native[from:in.at]...)
		from = in.at
		for k := range in.frames {
			f := in.frames[k]
			if in.at < len(p.native) {
				f.SP, f.CFA = p.native[in.at].SP, p.native[in.at].CFA
			}
			out = append(out, f)
		}
	}
	return append(out, p.native[from:]...)
}
