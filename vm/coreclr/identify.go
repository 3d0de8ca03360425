package coreclr

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Identify implements [unwind.Identifier].
func (r *Runtime) Identify(_ *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	v := &view{m, r.memory}
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != nil || f.Site != 0 {
			continue
		}
		section, c, err := r.look(f.LookupPC())
		switch {
		case err != nil:
			f.Note = joined(f.Note, "not named: "+r.String()+": "+err.Error())
		case c != nil && section != nil:
			r.identify(f, c, v)
		}
	}
}

// joined puts a note behind another.
func joined(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}

// identify sets the Site of f, whose code is c.
func (r *Runtime) identify(f *unwind.Frame, c *code, v *view) {
	key := place{c.generation, f.PC, f.Interrupted}
	if c.stays() {
		if n, ok := r.sites.byPlace[key]; ok {
			f.Runtime, f.Site = r, n
			return
		}
	} else if c.desc != 0 && !v.holds(c.desc, wordSize) {
		f.Note = joined(f.Note, "named by what was read later: it was not copied while the thread was stopped")
	}
	method, err := r.methodOf(c, v)
	if err != nil {
		f.Note = joined(f.Note, "not named: "+r.String()+": "+err.Error())
		return
	}
	method.NativeOffset = uint32(f.LookupPC() - c.start)
	r.ilOffset(method, c, v)
	if n := r.sites.add(method, f.PC-c.start); n != 0 {
		f.Runtime, f.Site = r, n
		if c.stays() {
			r.sites.keep(key, n)
		}
		return
	}
	f.Note = joined(f.Note, "not named: "+r.String()+": too many places were met")
}
