package cpython

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// Identify implements [unwind.Identifier]. It puts the frames of Python into s, those of one call of the eval loop in
// front of its native frame, and marks the interpreter's own frames.
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, _ mem.Reader) {
	if t.Arch != regs.AMD64 || len(s.Frames) == 0 {
		return
	}
	chains := r.chainsOf(t)
	p := placing{r: r, native: s.Frames, memory: copiedMemory{t}, whole: s.Stop == unwind.Root,
		left: maxLineSteps}
	for i := range chains {
		p.place(&chains[i])
	}
	if len(p.inserts) == 0 {
		switch {
		case slices.ContainsFunc(chains, func(c chain) bool { return c.unset }):
			r.noteMissing(s, noteUnset)
		case len(t.Copied) == 0, len(chains) > 0:
			r.noteMissing(s, noteMissed)
		}
		return
	}
	r.markPlumbing(s.Frames, &p)
	s.Frames = p.merge()
}

// noteMissing says at the innermost call of the eval loop why its frames of Python are missing; where most of that has
// no symbol, as where a compiler has split it, at the innermost frame of the interpreter without one.
func (r *Runtime) noteMissing(s *unwind.Stack, why string) {
	if len(r.roster.Load().interps) == 0 {
		return
	}
	code := r.functions()
	for _, k := range []kind{evalLoop, nameless} {
		for i := range s.Frames {
			if code.kindAt(r.m, &s.Frames[i]) == k {
				note(&s.Frames[i], why)
				return
			}
		}
	}
}

// chainsOf reads the chains of the states of t that were copied, as far as frames of Python are on them: of no more
// states than are copied of a thread.
func (r *Runtime) chainsOf(t *snapshot.Thread) []chain {
	var out []chain
	m := &chainMemory{copiedMemory: copiedMemory{t}}
	for i := range t.Copied {
		c := &t.Copied[i]
		if len(out) > maxStates {
			break
		}
		if len(c.Data) != r.layout.Thread.Size || slices.ContainsFunc(out, func(o chain) bool {
			return o.state.Addr == c.Start
		}) {
			continue
		}
		state := r.layout.ThreadOf(c.Start, c.Data)
		if !r.isThread(t, &state) {
			if _, on := t.Stack.Bytes(state.CFrame, wordSize); !on || r.layout.Thread.CFrame == 0 {
				continue
			}
		}
		var ch chain
		ch.walkOn(r.layout, m, state, t.Stack)
		if len(ch.frames) > 0 || ch.cut || ch.unset {
			out = append(out, ch)
		}
	}
	return out
}

// isThread reports whether a state is that of t.
func (r *Runtime) isThread(t *snapshot.Thread, state *object.Thread) bool {
	if t.HasTP {
		return state.ThreadID == t.TP
	}
	return state.Addr == r.roster.Load().of(t)
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
	memory  copiedMemory
	whole   bool // the walk reached the root
	inserts []insert
	left    int // steps of reading line tables
}

// maxLineSteps bounds the reading of line tables for one stack: 16 MB of them.
const maxLineSteps = 1 << 18

// Notes of frames.
const (
	noteMissed = "frames of Python are missing: what they need was not copied while the thread was stopped"
	noteUnset  = "frames of Python are missing: this call of the eval loop has just begun"
	noteCut    = "callers may be missing: not all of the chain of frames was copied"
	noteCode   = "not named: CPython: its code object was not copied whole while the thread was stopped"
	noteLost   = "the native frame that runs it was not found"
	noteCount  = "placed by the number of calls of the eval loop, which does not fit the frames"
	noteParent = "frames of Python are not known here: a parent greenlet, or an interpreter that is left"
)

// place places the frames of one chain.
func (p *placing) place(c *chain) {
	if c.groups != nil && c.groups[0].anchor == 0 && c.state.CFrame == 0 && p.r.layout.Thread.Chunk == 0 {
		p.placeByCount(c)
	} else {
		p.placeByAnchor(c)
	}
	if n := len(p.inserts); c.cut && n > 0 {
		last := p.inserts[n-1].frames
		note(&last[len(last)-1], noteCut)
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

// placeByCount pairs frames with the native frames of the eval loop (3.8, 3.9), the oldest first: a call that has just
// begun has none yet.
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
		f := &c.frames[i]
		u := unwind.Frame{Origin: unwind.ByRuntime, Runtime: p.r, Kept: f.Addr}
		code := p.r.codeAt(f.Code, p.memory)
		if code == nil && p.r.static(f.Code) {
			code = p.r.codeAt(f.Code, liveMemory{p.r.live})
		}
		switch {
		case code == nil:
			u.Site, u.Note = p.r.sites.of(spot{function: unnamed}), noteCode
		case code.internal():
			continue
		default:
			u.Site = p.r.siteOf(code, p.r.offsetOf(code, i == 0, f), &p.left)
		}
		out = append(out, u)
	}
	return out
}

// static reports whether the object at a is part of the interpreter's file: it stays where it is, and its page may not
// have been in memory.
func (r *Runtime) static(a mem.Addr) bool {
	return r.live != nil && r.m != nil && a >= r.m.Start() && a < r.m.End()
}

// unnamed is shown for a frame of Python whose name is not known.
const unnamed = "<unknown>"

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
