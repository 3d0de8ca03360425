package v8

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// function is what is known of a JavaScript function.
type function struct {
	heap.Shared
	*label
	own    string  // name without the class
	start  int     // in its script, -1 if not known
	script *script // nil for a builtin

	checked time.Time // when it was last known to be what Shared refers to
}

// recheck is how long a function is believed by the words of its SharedFunctionInfo alone: where scripts come and go
// another function may be made of the same words.
const recheck = time.Second

// anonymous is what V8 calls a function without a name, and the text of a script outside of all functions.
const anonymous = "<anonymous>"

// function finds out about the JSFunction that t refers to, which was called on receiver; 0 where that is not known.
// It is sure if that was copied in the stop, with what it shares with others.
func (r *Runtime) function(t, receiver heap.Tagged, v *view.View) (f *function, sure bool, err error) {
	at, ok := t.Object()
	if !ok || !heap.MayRefer(uint64(t)) {
		return nil, false, errNoFunction
	}
	h := r.heap(v)
	if at, err = h.Follow(at); err != nil {
		return nil, false, err
	}
	sure = v.Held(at, functionHead)
	if f = r.known(at, v); f == nil {
		shared, err := h.FunctionAt(at)
		if err != nil {
			return nil, false, errors.Join(errNoFunction, err)
		}
		if shape, err := v.Word(at); err == nil {
			r.types.of(r.layout, shape, v) // what known asks for
		}
		if f, err = r.describe(shared, v); err != nil {
			return nil, false, err
		}
	}
	r.findClass(f, receiver, at, v)
	return f, sure && v.Held(f.Addr, sharedHead), nil
}

// known returns the function whose closure is at a, if it was met: what was copied of a suffices for that.
func (r *Runtime) known(a mem.Addr, v *view.View) *function {
	var head [sharedHead]byte
	closure, ok := v.Bytes(a, functionHead)
	if !ok {
		return nil
	}
	shape, shared := order.Uint64(closure[r.layout.Map.Of:]), order.Uint64(closure[r.layout.Function.Shared:])
	t, ok := r.types.known.Get(shape)
	if !ok || t < r.layout.Types.FirstFunction || t > r.layout.Types.LastFunction || !heap.MayRefer(shared) {
		return nil
	}
	if _, err := v.ReadMem(head[:], mem.Addr(shared-1)); err != nil {
		return nil
	}
	l := &r.layout.Shared
	f, ok := r.sites.functions.Get(heap.Shared{Addr: mem.Addr(shared - 1),
		NameOrScope: heap.Tagged(order.Uint64(head[l.NameOrScope:])),
		Script:      heap.Tagged(order.Uint64(head[l.Script:]))})
	if !ok || time.Since(f.checked) < recheck {
		return f
	}
	if own, start, err := r.heap(v).Describe(f.Shared); err != nil || own != f.own || start != f.start {
		return nil
	}
	f.checked = time.Now()
	return f
}

// describe finds out about a function, or remembers it. What it reads may move meanwhile: then the function itself
// refers to something else afterwards.
func (r *Runtime) describe(s heap.Shared, v *view.View) (*function, error) {
	if f, ok := r.sites.functions.Get(s); ok && time.Since(f.checked) < recheck {
		return f, nil
	}
	h := r.heap(v)
	name, start, err := h.Describe(s)
	if err != nil {
		return nil, err
	}
	f := &function{Shared: s, own: name, start: start, checked: time.Now()}
	p, ok, err := h.ScriptOf(s)
	if err != nil {
		return nil, err
	}
	if ok {
		f.script = r.script(p, v)
	}
	if r.live != nil {
		now, err := r.heap(r.late()).SharedAt(heap.TagOf(s.Addr))
		if err == nil && now != s {
			err = heap.ErrMoved
		}
		if err != nil {
			return nil, err
		}
	}
	if old, ok := r.sites.functions.Get(s); ok && old.own == f.own && old.start == f.start && old.script == f.script {
		old.checked = f.checked
		return old, nil
	}
	f.label = r.sites.labelOf(f)
	r.sites.functions.Keep(s, f, functionCost)
	return f, nil
}

// late is the memory of the process as it is now.
func (r *Runtime) late() *view.View {
	v := view.Over(nil, r.live, r.budget)
	return &v
}

// place is a place in a text; line 0 if that is not known.
type place struct {
	file         string
	line, column int
	note         string // what is not sure of it
	generated    bool   // see [profile.Frame.Generated]
}

// put makes p the place of f.
func (f *frame) put(p place) {
	f.File, f.Line, f.Column, f.Generated = p.file, p.line, p.column, p.generated
	if f.Note == "" {
		f.Note = p.note
	}
}

// where is the place of the text at offset.
func (r *Runtime) where(s *script, offset int, v *view.View) place {
	p := place{file: s.file}
	if offset < 0 {
		return p
	}
	lines := r.linesOf(s, v)
	if lines == nil {
		p.note = "its text cannot be read: the line is not known"
		return p
	}
	line, column, ok := lines.At(offset)
	if !ok {
		p.note = "it lies behind the end of its text: the line is not known"
		return p
	}
	r.meet(s, v)
	if s.from != nil {
		if from, ok := s.from.Find(line, column); ok {
			p = place{file: from.Source, line: from.Line, column: from.Column}
			if s.other == notComparedNote { // the map may be of another text
				p.note = s.other
			}
			return p
		}
	}
	p.line, p.column, p.note, p.generated = line, column, s.other, !s.own && s.from == nil
	return p
}

// position names f at an offset of its bytecode b. The same source makes the same bytecode each time, so that the
// offset is enough to remember it by. What was read of the bytecode is of f if that has been compiled to it still.
func (r *Runtime) position(f *function, b heap.Bytecode, offset int, t tier, v *view.View) (unwind.Site, error) {
	key := bytecodeKey{f, offset, t}
	unread := r.sites.unread
	p, known := r.lookup(b.Positions, offset, v)
	switch {
	case !known:
		return r.noted(f, t, firstLineNote, v)
	case !r.runs(f, b):
		return r.noted(f, t, movedNote, v)
	}
	s, err := r.at(f, p.Offset, t, "", v)
	if err == nil && unread == r.sites.unread {
		r.sites.byBytecode.Keep(key, s, placeCost)
	}
	return s, err
}

// runs reports whether the bytecode b is still that of f, or f has none any more: V8 drops what was not called for
// long, and keeps what a frame runs.
func (r *Runtime) runs(f *function, b heap.Bytecode) bool {
	if r.live == nil {
		return true
	}
	h := r.heap(r.late())
	same, err := h.Runs(f.Shared, b)
	if err != nil {
		_, _, same = h.Uncompiled(f.Shared)
	}
	return same
}

// lookup looks an offset up in a table of positions.
func (r *Runtime) lookup(table heap.Tagged, offset int, v *view.View) (heap.Position, bool) {
	b, err := r.heap(v).Table(table)
	if err != nil {
		return heap.Position{}, false
	}
	p, ok, err := r.layout.PositionAt(b, offset)
	return p, ok && err == nil
}
