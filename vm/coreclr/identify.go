package coreclr

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
)

// Identify implements [unwind.Identifier]: by the memory that the walk had.
func (r *Runtime) Identify(_ *snapshot.Thread, s *unwind.Stack, _ mem.Reader) {
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != nil || f.Site != 0 {
			continue
		}
		section, c, err := r.look(f.LookupPC())
		if err == nil && c != nil {
			err = r.identify(f, c)
		}
		if section == nil && f.Module == nil && r.jitMapping(f.LookupPC()) != nil {
			err = r.sections.Load().err // it may be in one that is missing
		}
		if err != nil {
			f.Note = joined(f.Note, "not named: "+r.String()+": "+err.Error())
		}
		if section != nil && i+1 < len(s.Frames) && s.Frames[i+1].Origin != unwind.ByRuntime {
			r.markGap(f)
		}
	}
}

// markGap marks a frame whose caller was found by other ways than its row, if that is not known: those lose callers.
func (r *Runtime) markGap(f *unwind.Frame) {
	if _, _, err := r.Row(unwind.Region{}, f.LookupPC(), f.Interrupted); err != nil {
		f.Gap = true
		f.Note = joined(f.Note, "callers may be missing: "+r.String()+": "+err.Error())
	}
}

// joined puts a note behind another.
func joined(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}

// place is a PC in code that stays.
type place struct {
	generation  uint64
	pc          mem.Addr
	interrupted bool
}

// execution is a method and where in it, told from all others: also from one that lies where this one lay before.
type execution struct {
	origin      uint64 // of the Method
	start, desc mem.Addr
	offset      uint64
	il          int
	hasIL       bool
}

// executed is a method and where in it: offset is that of the PC itself, bytes from its beginning.
type executed struct {
	*Method
	offset uint64
	shown  *profile.Frame // nil before it was named
}

const (
	placeSize  = 48
	methodSize = 1 << 10 // with its types
)

const lateNote = "named by what was read later: it was not copied while the thread was stopped"

// identify sets the Site of f, whose code is c.
func (r *Runtime) identify(f *unwind.Frame, c *code) error {
	key := place{c.generation, f.PC, f.Interrupted}
	if c.stays() && c.unnamed == nil {
		if n, ok := r.places.Get(key); ok {
			if _, ok = r.executed.Get(n); ok {
				f.Runtime, f.Site = r, n
				return nil
			}
		}
	}
	r.walk.TakeLate()
	method, err := r.methodOf(c, &r.walk)
	if err != nil {
		return err
	}
	method.NativeOffset = uint32(c.shift + f.LookupPC() - c.start)
	if c.cold {
		method.NativeOffset = uint32(c.shift + f.LookupPC() - c.base - mem.Addr(c.function.Begin))
	}
	r.ilOffset(method, c)
	n := r.site(method, f.PC-c.start)
	if n == 0 {
		return sites.ErrNoRoom
	}
	f.Runtime, f.Site = r, n
	switch late := r.walk.TakeLate(); {
	case c.stays():
		if c.unnamed == nil && method.fault() == nil && method.ILErr == nil {
			r.places.Keep(key, n, placeSize)
		}
	case c.late, late && c.kind != StubCode && !r.holds(c):
		f.Unsure, f.Note = true, joined(f.Note, lateNote)
	}
	return nil
}

// site is the number of a place in m.
func (r *Runtime) site(m *Method, offset mem.Addr) unwind.Site {
	key := execution{m.origin, m.Start, m.Desc, uint64(offset), m.IL, m.HasIL}
	n, ok := r.executed.Find(key)
	if !ok {
		n = r.executed.Add(key, &executed{Method: m, offset: uint64(offset)}, methodSize)
	}
	return n
}

// holds reports whether the process has c still, after all was read of it that was copied in part: then the rest that
// was read is of the same method.
func (r *Runtime) holds(c *code) bool {
	now := view.Lasting(r.live, r.budget)
	if same, err := c.section.stands(&now, r.layout); err != nil || !same {
		return false
	}
	header, err := now.Word(c.start - wordSize)
	if err != nil || mem.Addr(header) != c.header {
		return false
	}
	desc, err := now.Word(c.header + mem.Addr(r.layout.headerMethod))
	if err != nil || mem.Addr(desc) != c.desc {
		return false
	}
	had, ok := r.walk.Bytes(c.desc, descBytes)
	if !ok {
		return false
	}
	b, ok := now.Bytes(c.desc, descBytes)
	return ok && string(b) == string(had)
}
