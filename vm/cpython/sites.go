package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// spot is what a frame of Python is shown as. A line that is not known is 0.
type spot struct {
	function, file string
	line, column   int
}

// position is an instruction of a code object, which is known by what it holds: no other has that address here.
type position struct {
	code   *code
	offset int
}

// Bounds of what is kept of the Sites of a process, bytes.
const (
	maxSiteBytes  = 64 << 20
	maxPlaceBytes = 8 << 20
)

// siteFor returns the Site of p, and a note if there is no room for more.
func (r *Runtime) siteFor(p spot) (unwind.Site, string) {
	if n, ok := r.sites.Find(p); ok {
		return n, ""
	}
	const fixed = 128 // bytes, besides the names
	if n := r.sites.Add(p, p, fixed+len(p.function)+len(p.file)); n != 0 {
		return n, ""
	}
	return 0, noteRoom
}

// siteOf returns the Site of f, which executes c, with a note if its line is not known.
func (r *Runtime) siteOf(c *code, m *view.View, f *object.Frame) (unwind.Site, string) {
	p, note := spot{function: c.function, file: c.file}, noteLine
	base, ok := r.layout.Bytecode(m, f)
	if offset, inside := r.layout.Offset(f, base, c.instructions()); ok && inside {
		if at, ok := r.placeOf(c, m, offset); ok {
			p.line, p.column, note = at.Line, at.Column, ""
		}
	}
	n, full := r.siteFor(p)
	if full != "" {
		note = full
	}
	return n, note
}

// placeOf is where the instruction of c at offset comes from; false if reading its line table takes too much.
func (r *Runtime) placeOf(c *code, m *view.View, offset int) (object.Place, bool) {
	at := position{c, offset}
	if place, ok := r.places.Get(at); ok {
		return place, true
	}
	if !m.Spend(int64(len(c.table))) {
		return object.Place{}, false
	}
	place := r.layout.PlaceAt(c.table, offset, int(c.firstLine))
	const size = 32 // bytes of a place and its position
	r.places.Keep(at, place, size)
	return place, true
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	p, ok := r.sites.Get(site)
	if !ok {
		return nil
	}
	return []profile.Frame{{Kind: profile.Python, Func: p.function, File: p.file, Line: p.line, Column: p.column}}
}

// Err says that there was no room for some names, nil if there was.
func (r *Runtime) Err() error { return r.sites.Err() }

// codeOf returns the code object at a by what was copied of it, or where it is a part of the interpreter's file, which
// stays where it is and whose page may not have been in memory, as that has it.
func (r *Runtime) codeOf(a mem.Addr, m *view.View) *code {
	c := r.codeAt(a, m)
	if c == nil && r.live != nil && r.m != nil && a >= r.m.Start() && a < r.m.End() {
		c = r.codeAt(a, r.lasting())
	}
	return c
}

// unnamed is shown for a frame of Python whose name is not known.
const unnamed = "<unknown>"

// pythonFrame is f as a stack has it, false if nobody wrote its code.
func (r *Runtime) pythonFrame(m *view.View, f *object.Frame) (unwind.Frame, bool) {
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r, Kept: f.Addr}
	switch c := r.codeOf(f.Code, m); {
	case c == nil:
		out.Site, out.Note = r.siteFor(spot{function: unnamed})
		if out.Note == "" {
			out.Note = noteCode
		}
	case c.internal():
		return out, false
	default:
		out.Site, out.Note = r.siteOf(c, m, f)
	}
	return out, true
}
